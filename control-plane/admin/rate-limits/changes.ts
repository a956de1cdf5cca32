// Decides what a write changes in the store: documents of rules and epochs of counters. Pure.
import { manualRules, resets } from '../../../domain/documents/kinds.ts';
import { removed, written } from '../../../domain/documents/managed-kind.ts';
import { expiryMs } from '../../../domain/rules/authorship.ts';
import type { ManualRule } from '../../../domain/rules/manual-rule.ts';
import { effectiveCaps } from '../../../domain/rules/merge.ts';
import { everyRule, type ResetEpoch } from '../../../domain/rules/reset-epochs.ts';
import { periodOf, type Rule } from '../../../domain/rules/rule.ts';
import { type Change, forgottenAfterMs } from '../../../store/state/state-store.ts';
import { type Refusal, refusal } from '../../errors.ts';
import { byKey, type Known, perChildOf, readKnown, refuseFull, refuseUnset, signature } from '../../managed/known.ts';
import { invalid } from '../../managed/read-body.ts';
import { type KindState, type StoredKind, storedKind } from '../../managed/stored-kind.ts';
import type { RuleName, RuleWrite } from './read-write.ts';

/** The limit of the configuration holds here, too: with more rules, listing and metrics become slow; matching does not. */
const mostRules = 100_000;

/** All rules at one moment, by rule key. */
export interface KnownRules extends Known<Rule, ManualRule> {
  readonly epochs: StoredKind<ResetEpoch>;
}

export function knownRules(
  state: KindState,
  config: readonly Rule[],
  nowMs: number,
  places: ReadonlyMap<string, string> = new Map(),
): KnownRules {
  const declaration = { config: byKey(config, ({ key }) => key), places };
  return { ...readKnown(manualRules, state, declaration, nowMs), epochs: storedKind(resets, state) };
}

/**
 * Creates or replaces a manual rule. Caps and `per_child` that the write leaves out come from the rule of the configuration with the
 * same key, never from the replaced manual rule. Counters are kept, unless the rule changes between shared and template (spec, Limits
 * 12; design section 4). `by` names the operator.
 */
export function putRule(known: KnownRules, write: RuleWrite, by: string, hasTemplates: boolean): Change[] {
  const { key } = write;
  const declared = known.config.get(key);
  const perChild = perChildOf(write.perChild, declared?.perChild, hasTemplates);
  const { maxRequests, maxTokens } = effectiveCaps(write, declared);
  if (maxRequests === undefined && maxTokens === undefined) {
    throw invalid(
      write.maxRequests === null ? 'max_requests' : 'max_tokens',
      'is null, so the rule would have no cap; send a number',
    );
  }
  const before = known.manual.get(key);
  const replaced = before ?? declared;
  if (replaced === undefined) refuseFull(known, mostRules, (count) => tooMany(count, mostRules, 'in all'));
  const isToggled = replaced !== undefined && replaced.perChild !== perChild;
  // Replacing an expired document also removes it, and a removal raises the epoch.
  const raise = (known.isExpired(key) ? 1 : 0) + (isToggled ? 1 : 0);
  const { expiresAtMs, ...said } = write;
  const rule: ManualRule = { ...said, perChild, ...signature(before, expiresAtMs, by, known.nowMs) };
  const changes: Change[] = [written(manualRules, key, rule)];
  return raise === 0 ? changes : [...changes, raisedEpoch(known, key, raise)];
}

/** Removes a manual rule and its counters; a rule of the configuration with the same key is in force again. */
export function deleteRule(known: KnownRules, { key }: RuleName): Change[] {
  refuseUnset(known, key, { configOwned: 'rate_limit_config_owned', notFound: 'rate_limit_not_found' });
  return removal(known, key);
}

/** Clears the counters of one rule, for a template those of all its children. */
export function resetRule(known: KnownRules, { key }: RuleName): Change[] {
  if (known.manual.get(key) === undefined && !known.config.has(key)) throw refusal('rate_limit_not_found');
  return [raisedEpoch(known, key, 1)];
}

/** Clears the counters of all rules. */
export function resetEveryRule(known: KnownRules): Change[] {
  return [raisedEpoch(known, everyRule, 1)];
}

/** Removes the documents of expired rules. It stores the same epochs that `mergeRules` has used since the rules expired. */
export function removeExpiredRules(known: KnownRules): Change[] {
  return known.expired().flatMap((key) => removal(known, key));
}

/** Since when an epoch has no rule, by document id, in Unix milliseconds. Kept between calls of `tidyExpired`. */
export type UnneededEpochs = Map<string, number>;

/** Brings `unneeded` up to date. */
export function noteUnneeded(known: KnownRules, unneeded: UnneededEpochs): void {
  const { config, epochs, nowMs } = known;
  const stored = new Set(epochs.ids());
  for (const id of unneeded.keys()) if (!stored.has(id)) unneeded.delete(id);
  for (const id of stored) {
    const isNeeded = id === everyRule || config.has(id) || known.isStored(id);
    if (isNeeded) unneeded.delete(id);
    else if (!unneeded.has(id)) unneeded.set(id, nowMs);
  }
}

/**
 * Removes the epochs of rules that were deleted long ago. No counter of such an epoch exists any more, so a new rule with the same key
 * may begin at 0 again. Otherwise the store would keep an epoch for every deleted rule.
 */
export function forgetEpochs(known: KnownRules, unneeded: UnneededEpochs): Change[] {
  const due = [...forgettableFromMs(known, unneeded)].filter(([, fromMs]) => fromMs <= known.nowMs);
  return due.map(([id]) => removed(resets, id));
}

/** The next Unix millisecond at which `removeExpiredRules` or `forgetEpochs` changes something; Infinity when never. */
export function nextTidyMs(known: KnownRules, unneeded: UnneededEpochs): number {
  let next = Number.POSITIVE_INFINITY;
  for (const rule of known.manual.all().values()) next = Math.min(next, expiryMs(rule));
  for (const fromMs of forgettableFromMs(known, unneeded).values()) next = Math.min(next, fromMs);
  return next;
}

/** From when on each unneeded epoch may be forgotten, in Unix milliseconds. */
function forgettableFromMs({ epochs }: KnownRules, unneeded: UnneededEpochs): Map<string, number> {
  const found = new Map<string, number>();
  for (const [id, sinceMs] of unneeded) {
    const seconds = periodOf(id);
    const raisedAtMs = epochs.get(id)?.raisedAtMs ?? Number.POSITIVE_INFINITY;
    // Counters stay in the store for their period plus a slice, and longer for proxies that stopped or missed the deletion.
    if (seconds !== undefined) found.set(id, Math.max(raisedAtMs, sinceMs) + 2 * 1000 * seconds + forgottenAfterMs);
  }
  return found;
}

function removal(known: KnownRules, key: string): Change[] {
  return [removed(manualRules, key), raisedEpoch(known, key, 1)];
}

function raisedEpoch({ epochs, nowMs }: KnownRules, id: string, by: number): Change {
  return written(resets, id, { id, epoch: (epochs.get(id)?.epoch ?? 0) + by, raisedAtMs: nowMs });
}

/** Throws 409 `too_many_rate_limits` when there are as many as the limit already. */
export function refuseBeyond(count: number, limit: number, where: string): void {
  if (count >= limit) throw tooMany(count, limit, where);
}

function tooMany(count: number, limit: number, where: string): Refusal {
  return refusal('too_many_rate_limits', { fill: { count, limit, where } });
}
