// Logs one line for each rule or drain of an operator that has ended: no write happens then, so no other line reports it.
import { type Authorship, authorFacts, expiryMs } from '../domain/rules/authorship.ts';
import type { ManualRule } from '../domain/rules/manual-rule.ts';
import type { RulePrerequisites } from '../domain/rules/obstacle.ts';
import { type Rule, ruleTitle } from '../domain/rules/rule.ts';
import { ruleFacts } from '../domain/rules/rule-facts.ts';
import { type TargetDrain, targetName } from '../domain/targets/target-drain.ts';

/** The stored rules and drains of operators, at least those that have ended, and the configuration. */
export interface StandingRules {
  readonly manual: readonly ManualRule[];
  readonly config: readonly Rule[];
  readonly prerequisites: RulePrerequisites;
  readonly drains: readonly TargetDrain[];
}

/** Tells of those that have ended since the last call, as of `nowMs` (Unix milliseconds). */
export function createExpiryLines(
  log: Record<'info', (fields: object, text: string) => void>,
): (rules: StandingRules, nowMs: number) => void {
  let toldMs = Number.NEGATIVE_INFINITY;
  return ({ manual, config, prerequisites, drains }, nowMs) => {
    const isNews = (ending: Pick<Authorship, 'expiresAt'>): boolean => {
      const endedMs = expiryMs(ending);
      return endedMs <= nowMs && endedMs > toldMs;
    };
    for (const rule of manual) {
      if (!isNews(rule)) continue;
      const declared = config.find(({ key }) => key === rule.key);
      const before = ruleFacts({ declared, manual: rule }, prerequisites);
      const after = ruleFacts({ declared, manual: undefined }, prerequisites);
      log.info({ about: `rule ${ruleTitle(rule)}`, before, after, ...authorFacts(rule) }, 'override expired');
    }
    for (const drain of drains)
      if (isNews(drain)) log.info({ about: `target ${targetName(drain)}`, ...authorFacts(drain) }, 'drain ended');
    toldMs = Math.max(toldMs, nowMs);
  };
}
