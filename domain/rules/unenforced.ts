// The sentences about rules that are not enforced, for the listing and the log of both planes.
import type { MergedRule } from './merge.ts';
import type { RulePrerequisites } from './obstacle.ts';
import { ruleTitle } from './rule.ts';

/** A log line about rules that are not enforced. */
export interface RuleProblem {
  readonly level: 'warn' | 'error';
  readonly text: string;
}

/** The most lines in the log; the listing shows every rule. */
const mostSaid = 20;

/** Which part of a rule is not enforced and why, without a full stop; undefined when the whole rule is enforced. */
export function explainUnenforced(
  rule: MergedRule,
  { enabled, usageEnabled, known }: RulePrerequisites,
): string | undefined {
  const { obstacle, scope, matchSubject, maxTokens } = rule;
  if (obstacle === 'unknown_subject') {
    const name = JSON.stringify(rule.subject);
    if (scope === 'provider') return `there is no provider ${name}`;
    if (known.aliases.has(matchSubject)) return `${name} is an alias; limit the models it leads to`;
    return `no provider lists the model ${name}`;
  }
  if (obstacle !== undefined) return sentences[obstacle];
  if (!enabled) return 'rate limits are switched off';
  if (maxTokens === undefined || usageEnabled) return undefined;
  return `max_tokens is not enforced: ${sentences.no_usage}`;
}

const sentences = {
  not_entitled: 'per_child needs the entitlement quota_templates',
  no_cap: 'it has no cap: the configuration does not limit this subject and period any more',
  no_usage: 'tokens are not counted, because USAGE_ENABLED is false',
} as const;

/**
 * One log line for each manual rule that is not enforced, and one line for all token caps without usage tracking. None while rate limits
 * are switched off. Rules of the configuration are reported when it is loaded.
 */
export function unenforcedProblems(rules: readonly MergedRule[], prerequisites: RulePrerequisites): RuleProblem[] {
  if (!prerequisites.enabled) return [];
  const manual = rules.filter(({ manual: set }) => set !== undefined);
  const problems = manual.flatMap((rule): RuleProblem[] => {
    const { obstacle, perChild } = rule;
    if (obstacle === undefined || obstacle === 'no_usage') return [];
    const text = `the manual ${perChild ? 'per-child ' : ''}rule ${ruleTitle(rule)} is not enforced: ${explainUnenforced(rule, prerequisites)}`;
    return [{ level: obstacle === 'not_entitled' ? 'error' : 'warn', text }];
  });
  const said = problems.slice(0, mostSaid);
  const more = problems.length - said.length;
  if (more > 0) said.push({ level: 'warn', text: `${more} more manual rules are not enforced; the listing says why` });
  if (!prerequisites.usageEnabled && manual.some(({ maxTokens }) => maxTokens !== undefined)) {
    const text = 'manual rules cap tokens, which are not counted: USAGE_ENABLED is false, so no max_tokens is enforced';
    said.push({ level: 'warn', text });
  }
  return said;
}
