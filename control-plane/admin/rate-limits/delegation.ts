// Decides which writes to rules a scoped operator may make: any write below its own path, only tightening writes at the path itself,
// because other operators limit it there. Pure.
import type { EntryNames } from '../../../domain/keys/model-access.ts';
import { effectiveCaps } from '../../../domain/rules/merge.ts';
import { userPathOfKey } from '../../../domain/rules/rule.ts';
import { isSamePath, isWithin } from '../../../domain/user-path.ts';
import { isScoped, type Operator } from '../../authenticate.ts';
import { type Refusal, refusal } from '../../errors.ts';
import { beyondModels, isRestricted, reaches } from '../../managed/reach.ts';
import { scopesOf } from '../../managed/scopes.ts';
import { type KnownRules, refuseBeyond } from './changes.ts';
import type { RuleName, RuleWrite } from './read-write.ts';

/**
 * The write that this operator may make. At its own path it is marked `tightens`, so that it cannot loosen a rule that the configuration
 * declares later. Throws 403 `admin_scope_denied` naming the member that would loosen a rule of others, and 409 `too_many_rate_limits`
 * when a scope of its own holds `mostRules` manual rules.
 */
export function delegatedWrite(known: KnownRules, write: RuleWrite, operator: Operator, mostRules: number): RuleWrite {
  if (!isScoped(operator)) return write;
  if (!known.manual.has(write.key)) refuseOneMore(known, operator, mostRules);
  if (!isOwnPath(write, operator)) return write;
  refuseOthers(known, write);
  const declared = known.config.get(write.key);
  if (declared === undefined) return { ...write, tightens: true };
  const caps = effectiveCaps(write, declared);
  for (const [name, cap, most] of [
    ['max_requests', caps.maxRequests, declared.maxRequests],
    ['max_tokens', caps.maxTokens, declared.maxTokens],
  ] as const) {
    if (most !== undefined && (cap === undefined || cap > most))
      throw denied('send a cap above the one of the configuration', name);
  }
  if (declared.mode === 'enforce' && write.mode === 'shadow')
    throw denied('send mode "shadow" for a rule that the configuration enforces', 'mode');
  if ((write.perChild ?? declared.perChild) !== declared.perChild)
    throw denied('change per_child of a rule of the configuration', 'per_child');
  // When the rule expires, the rule of the configuration would be in force again with empty counters.
  if (write.expiresAtMs !== undefined)
    throw denied(
      'send expires_at or expires_in for its own path, because the end of a rule clears its counters',
      'expires_at',
    );
  return { ...write, tightens: true };
}

/**
 * Throws 403 `admin_scope_denied` for a rule of a model or provider that the operator's own key may not use, or not all of it; undefined: for
 * all rules.
 */
export function refuseForeignModel(
  rule: Pick<RuleName, 'scope' | 'matchSubject'> | undefined,
  operator: Operator,
  names: EntryNames,
): void {
  if (!isRestricted(operator) || rule?.scope === 'user_path') return;
  if (rule === undefined) throw beyondModels('clear the counters of every rule');
  const { scope, matchSubject } = rule;
  if (!reaches(operator, scope === 'provider' ? `${matchSubject}/*` : matchSubject, names))
    throw beyondModels(`change a rule of the ${scope} ${JSON.stringify(matchSubject)}`, 'subject');
}

/**
 * The rule, when this operator may delete it. At its own path throws 403 `admin_scope_denied` for a rule of others, and for a rule that
 * the configuration also declares: the latter would be in force again with empty counters.
 */
export function delegatedRemoval(known: KnownRules, name: RuleName, operator: Operator): RuleName {
  if (!isOwnPath(name, operator)) return name;
  refuseOthers(known, name);
  if (known.manual.has(name.key) && known.config.has(name.key)) {
    throw denied(
      'delete a rule of its own path that the configuration also declares, because that clears the counters',
    );
  }
  return name;
}

/** The rule, when this operator may clear its counters. Throws 403 `admin_scope_denied` at its own path, where that lifts the cap. */
export function delegatedReset(name: RuleName, operator: Operator): RuleName {
  if (isOwnPath(name, operator)) throw denied('clear the counters of its own path');
  return name;
}

function isOwnPath({ scope, matchSubject }: RuleName, operator: Operator): boolean {
  return isScoped(operator) && scope === 'user_path' && isSamePath(matchSubject, operator.userPath);
}

/** A rule at the own path without `tightens` was set by an operator with more rights; an unreadable one may have been. */
function refuseOthers({ manual, unreadable }: KnownRules, { key }: RuleName): void {
  const standing = manual.get(key);
  const isOfOthers = standing === undefined ? unreadable.has(key) : standing.tightens !== true;
  if (isOfOthers) throw denied('change a rule of its own path that an operator with more rights has set');
}

/** For each rule that a scope may hold, so many deleted ones whose epochs are still kept. */
const deletedPerRule = 10;

/** Throws 409 when some scope of the operator is full of rules, or of what rules leave behind. */
function refuseOneMore(known: KnownRules, operator: Operator, mostRules: number): void {
  const { manual, config, epochs } = known;
  const deleted = [...epochs.raisedAtMs.keys()].filter((key) => !manual.has(key) && !config.has(key));
  const deletedPaths = deleted.map(userPathOfKey);
  const paths = [...manual.values()].map(({ scope, matchSubject }) =>
    scope === 'user_path' ? matchSubject : undefined,
  );
  const countIn = (where: string, all: readonly (string | undefined)[]): number =>
    all.filter((path) => path !== undefined && isWithin(path, where)).length;
  for (const scope of scopesOf(operator, known.keys())) {
    const where = `at and below ${scope}`;
    refuseBeyond(countIn(scope, paths), mostRules, where);
    refuseBeyond(
      countIn(scope, deletedPaths),
      mostRules * deletedPerRule,
      `${where} that were deleted in the last days`,
    );
  }
}

function denied(what: string, param?: string): Refusal {
  return refusal('admin_scope_denied', { ...(param === undefined ? {} : { param }), fill: { what } });
}
