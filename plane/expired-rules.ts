// Logs one line for each manual rule that has expired: no write happens then, so no other line reports it.
import { authorFacts, expiryMs } from '../domain/rules/authorship.ts';
import type { ManualRule } from '../domain/rules/manual-rule.ts';
import type { RulePrerequisites } from '../domain/rules/obstacle.ts';
import { type Rule, ruleTitle } from '../domain/rules/rule.ts';
import { ruleFacts } from '../domain/rules/rule-facts.ts';

/** The stored manual rules, at least those that have ended, and the configuration. */
export interface StandingRules {
  readonly manual: readonly ManualRule[];
  readonly config: readonly Rule[];
  readonly prerequisites: RulePrerequisites;
}

/** Tells of the rules that have ended since the last call, as of `nowMs` (Unix milliseconds). */
export function createExpiryLines(
  log: Record<'info', (fields: object, text: string) => void>,
): (rules: StandingRules, nowMs: number) => void {
  let toldMs = Number.NEGATIVE_INFINITY;
  return ({ manual, config, prerequisites }, nowMs) => {
    for (const rule of manual) {
      const endedMs = expiryMs(rule);
      if (endedMs > nowMs || endedMs <= toldMs) continue;
      const declared = config.find(({ key }) => key === rule.key);
      const before = ruleFacts({ declared, manual: rule }, prerequisites);
      const after = ruleFacts({ declared, manual: undefined }, prerequisites);
      log.info({ about: `rule ${ruleTitle(rule)}`, before, after, ...authorFacts(rule) }, 'override expired');
    }
    toldMs = Math.max(toldMs, nowMs);
  };
}
