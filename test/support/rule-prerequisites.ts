// The conditions for enforcing rules, for tests: all are fulfilled unless a test says otherwise.
import type { SharedLimits } from '../../control-plane/admin/rate-limits/store-figures.ts';
import { knownModels } from '../../domain/rules/known-models.ts';
import type { RulePrerequisites } from '../../domain/rules/obstacle.ts';

/** A provider `openai` with the models `gpt-4o` and `m`, an alias `chat`, and every switch on. */
export function rulePrerequisites(more: Partial<RulePrerequisites> = {}): RulePrerequisites {
  const known = knownModels({ providers: { openai: { models: ['gpt-4o', 'm'] } }, aliases: [{ source: 'Chat' }] });
  return { enabled: true, hasTemplates: true, usageEnabled: true, known, ...more };
}

/** The part of a control plane that knows of shared caps, where each proxy counts alone. */
export const countedAlone: SharedLimits = {
  look: async () => [],
  scope: () => 'replica',
  onStoreLoss: () => 'share',
};
