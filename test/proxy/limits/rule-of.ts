// Makes rules for tests of the limiter in one short line each.
import { type Rule, ruleKey } from '../../../domain/rules/rule.ts';
import { ruleId } from '../../../domain/rules/rule-id.ts';
import { normaliseSubject, type Scope } from '../../../domain/rules/scope.ts';

type Options = Partial<
  Pick<
    Rule,
    'name' | 'perChild' | 'mode' | 'epoch' | 'source' | 'maxRequests' | 'maxTokens' | 'blockedUntilMs' | 'bareId'
  >
>;

/** A rule as the loader would make it; `periodSeconds` 0 is concurrency. */
export function ruleOf(scope: Scope, subject: string, periodSeconds: number, options: Options): Rule {
  const { subject: matchSubject, shown } = normaliseSubject(scope, subject);
  if (matchSubject === undefined) throw new Error(`not a subject: ${subject}`);
  const key = ruleKey(scope, matchSubject, periodSeconds);
  return {
    key,
    id: ruleId(key),
    scope,
    subject: shown,
    matchSubject,
    perChild: false,
    periodSeconds,
    mode: 'enforce',
    source: 'config',
    epoch: 0,
    ...options,
  };
}
