// Decides which writes to rules a scoped operator may make, and one whose own key is limited to some models. Pure.
import type { EntryNames } from '../../../domain/keys/model-access.ts';
import { effectiveCaps } from '../../../domain/rules/merge.ts';
import { isNoLooser } from '../../../domain/rules/on-store-loss.ts';
import { userPathOfKey } from '../../../domain/rules/rule.ts';
import { isScoped, type Operator } from '../../authenticate.ts';
import { countsInScopes, denied, isOwnPath, refuseOthers, tightened, userPathOf } from '../../managed/own-path.ts';
import { beyondModels, isRestricted, reaches } from '../../managed/reach.ts';
import { type KnownRules, refuseBeyond } from './changes.ts';
import type { RuleName, RuleWrite } from './read-write.ts';

const noun = 'rule';

/**
 * The write that this operator may make; at its own path as `tightened` says. Throws 403 `admin_scope_denied` naming the member that would
 * loosen a rule of others, and 409 `too_many_rate_limits` when a scope of its own holds `mostRules` manual rules.
 */
export function delegatedWrite(known: KnownRules, write: RuleWrite, operator: Operator, mostRules: number): RuleWrite {
  if (isScoped(operator) && known.manual.get(write.key) === undefined) refuseOneMore(known, operator, mostRules);
  const tighter = tightened({ known, noun }, write, operator, (declared) => {
    const caps = effectiveCaps(write, declared);
    for (const [name, cap, most] of [
      ['max_requests', caps.maxRequests, declared.maxRequests],
      ['max_tokens', caps.maxTokens, declared.maxTokens],
    ] as const) {
      if (most !== undefined && (cap === undefined || cap > most))
        throw denied('send a cap above the one of the configuration', name);
    }
    const { onStoreLoss } = write;
    if (onStoreLoss !== undefined && !isNoLooser(onStoreLoss, declared.onStoreLoss))
      throw denied('let a rule of the configuration admit more without the state store', 'on_store_loss');
  });
  // When the rule expires, the rule of the configuration would be in force again with empty counters.
  if (isOwnPath(write, operator) && known.config.has(write.key) && write.expiresAtMs !== undefined)
    throw denied(
      'send expires_at or expires_in for its own path, because the end of a rule clears its counters',
      'expires_at',
    );
  return tighter;
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
  refuseOthers({ known, noun }, name);
  if (known.manual.get(name.key) !== undefined && known.config.has(name.key)) {
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

/** For each rule that a scope may hold, so many deleted ones whose epochs are still kept. */
const deletedPerRule = 10;

/** Throws 409 when some scope of the operator is full of rules, or of what rules leave behind. */
function refuseOneMore(known: KnownRules, operator: Operator, mostRules: number): void {
  const { config, epochs } = known;
  const manual = known.manual.all();
  const deleted = epochs.ids().filter((key) => !manual.has(key) && !config.has(key));
  const standing = countsInScopes(operator, known, [...manual.values()].map(userPathOf));
  const left = countsInScopes(operator, known, deleted.map(userPathOfKey));
  for (const [index, { count, where }] of standing.entries()) {
    refuseBeyond(count, mostRules, where);
    const were = `${where} that were deleted in the last days`;
    refuseBeyond(left[index]?.count ?? 0, mostRules * deletedPerRule, were);
  }
}
