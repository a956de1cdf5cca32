// The abilities of models of Bedrock for which Converse has no common member, read from their ids.
import { type ClaudeTraits, claudeTraitsOf, claudeVersionOf, isClaude } from '../claude/claude-models.ts';

export interface ModelTraits extends ClaudeTraits {
  /** `opaque`: the ARN of something that may lead to any model, such as an application inference profile. */
  readonly family: 'claude' | 'nova' | 'other' | 'opaque';
  /** Marks of a cache are understood; others refuse them. */
  readonly hasCache: boolean;
  /** And in a list of tools, too. */
  readonly hasToolCache: boolean;
  /** And may ask for an hour. */
  readonly hasLongCache: boolean;
}

const opaque =
  /^arn:.*:(application-inference-profile|provisioned-model|imported-model|custom-model|custom-model-deployment|prompt)\//;

/** `model`: the id or ARN as it is configured. */
export function traitsOf(model: string): ModelTraits {
  const family = familyOf(model);
  const version = claudeVersionOf(model);
  return {
    ...claudeTraitsOf(model),
    family,
    hasCache: version >= 305 || family === 'nova',
    hasToolCache: version >= 305,
    hasLongCache: version >= 405,
  };
}

function familyOf(model: string): ModelTraits['family'] {
  if (isClaude(model)) return 'claude';
  if (/amazon\.nova/i.test(model)) return 'nova';
  return opaque.test(model) ? 'opaque' : 'other';
}
