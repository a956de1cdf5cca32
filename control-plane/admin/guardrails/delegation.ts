// Decides which guardrails an operator may write whose own key is limited to some models: those that are about nothing but these models, and
// ask no other one. Pure.
import type { Guardrail } from '../../../schemas/types.ts';
import type { Operator } from '../../authenticate.ts';
import type { KnownEntries } from '../../managed/entries.ts';
import { beyondModels, isRestricted, reaches } from '../../managed/reach.ts';

/**
 * Throws 403 `admin_scope_denied` when the guardrail of this name is, or would be, about more than the operator's own key may use. `next`:
 * what is to stand there; undefined: that of the configuration, or none.
 */
export function delegateGuardrail(
  known: KnownEntries<Guardrail>,
  [name, next]: readonly [name: string, next: Guardrail | undefined],
  operator: Operator,
): void {
  if (!isRestricted(operator)) return;
  const { names } = known;
  const declared = known.config.get(name);
  const before = known.manual.get(name)?.value ?? declared;
  for (const guardrail of [before, next ?? declared]) {
    if (guardrail === undefined) continue;
    const { models, llm } = guardrail;
    const foreign = models?.find((model) => !reaches(operator, model, names));
    if (models === undefined) throw beyondModels('write a guardrail of every model: list models', 'models');
    if (foreign !== undefined)
      throw beyondModels(`write a guardrail of the model ${JSON.stringify(foreign)}`, 'models');
    if (llm !== undefined && !reaches(operator, llm.model, names))
      throw beyondModels(`write a guardrail that asks the model ${JSON.stringify(llm.model)}`, 'llm.model');
  }
  // An unreadable guardrail may concern anything.
  if (known.isUnreadable(name)) throw beyondModels('replace a guardrail that cannot be read', 'name');
}
