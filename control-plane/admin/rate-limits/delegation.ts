// What an operator who is confined to a part of the user paths may do to rules. Below its own path, what it likes; at that path itself
// it may only tighten, for the caps there were set for it by others. Pure.
import { effectiveCaps } from '../../../schemas/rules/merge.ts';
import { isInScope, isScoped, type Operator } from '../../authenticate.ts';
import { type Refusal, refusal } from '../../errors.ts';
import type { KnownRules } from './changes.ts';
import type { RuleName, RuleWrite } from './read-write.ts';

/**
 * The write as this operator may do it: at its own path marked `tightens`, so that it never loosens a rule that the configuration has
 * later either. Throws 403 `admin_scope_denied` naming the member that would loosen a rule of others, and 409 `too_many_rate_limits`
 * when there are `mostRules` manual rules in its scope.
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
    if (most !== undefined && (cap === undefined || cap > most)) throw denied('A cap above the one of git', name);
  }
  if (declared.mode === 'enforce' && write.mode === 'shadow') throw denied('Not enforcing a limit', 'mode');
  if ((write.perChild ?? declared.perChild) !== declared.perChild) throw denied('Another way of counting', 'per_child');
  // Its end would bring the configuration's rule back with empty counters.
  if (write.expiresAtMs !== undefined) throw denied('An end, which clears the counters,', 'expires_at');
  return { ...write, tightens: true };
}

/**
 * The rule, when this operator may delete it. Throws 403 `admin_scope_denied` at its own path for a rule of others, and for its own over
 * one of the configuration, which would come back with empty counters.
 */
export function delegatedRemoval(known: KnownRules, name: RuleName, operator: Operator): RuleName {
  if (!isOwnPath(name, operator)) return name;
  refuseOthers(known, name);
  if (known.manual.has(name.key) && known.config.has(name.key)) {
    throw denied('Deleting a limit of your own path that git has too clears its counters, which');
  }
  return name;
}

/** The rule, when this operator may clear its counters. Throws 403 `admin_scope_denied` at its own path: that would lift the cap. */
export function delegatedReset(name: RuleName, operator: Operator): RuleName {
  if (isOwnPath(name, operator)) throw denied('Clearing the counters of your own path');
  return name;
}

function isOwnPath({ scope, matchSubject }: RuleName, operator: Operator): boolean {
  return isScoped(operator) && scope === 'user_path' && matchSubject === operator.userPath;
}

/** What lies at the own path without the mark was set by an operator with more rights, or cannot be read. */
function refuseOthers({ manual, unreadable }: KnownRules, { key }: RuleName): void {
  const standing = manual.get(key);
  const isOfOthers = standing === undefined ? unreadable.has(key) : standing.tightens !== true;
  if (isOfOthers) throw denied('Changing a limit that an operator with more rights has set for your own path');
}

function refuseOneMore({ manual }: KnownRules, operator: Operator, mostRules: number): void {
  let count = 0;
  for (const { scope, matchSubject } of manual.values()) {
    if (isInScope(operator, scope === 'user_path' ? matchSubject : undefined)) count += 1;
  }
  if (count >= mostRules) throw refusal('too_many_rate_limits', { fill: { count, limit: mostRules } });
}

function denied(what: string, param?: string): Refusal {
  return refusal('admin_scope_denied', { ...(param === undefined ? {} : { param }), fill: { what } });
}
