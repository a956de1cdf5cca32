// The refusal of a request for targets that an operator has taken out, or that the proxy has no valid credential for.
import { expiryMs } from '../../domain/rules/authorship.ts';
import { type TargetDrain, targetName } from '../../domain/targets/target-drain.ts';
import { type Refusal, refusal } from '../errors.ts';
import { longestPoliteWaitSeconds } from '../limits/headers.ts';
import type { TargetStates } from '../targets/target-states.ts';

/**
 * 503 `target_drained`, or `provider_credential_missing`, when nothing else can be asked. `drains`: at least one. The first of them to end is named, and a retry then may
 * succeed. Why and by whom is for operators.
 */
export function drainedRefusal(drains: readonly TargetDrain[], nowMs: number): Refusal {
  const first = drains.reduce((one, other) => (expiryMs(other) < expiryMs(one) ? other : one));
  const seconds = drainSeconds(first, nowMs);
  const headers: Record<string, string> = { 'retry-after': String(seconds) };
  if (seconds > longestPoliteWaitSeconds) headers['x-should-retry'] = 'false';
  const { provider, isWithoutCredential } = first;
  if (isWithoutCredential) return refusal('provider_credential_missing', { fill: { provider, seconds }, headers });
  return refusal('target_drained', { fill: { target: targetName(first), until: first.expiresAt, seconds }, headers });
}

/** Whole seconds until the drain ends, at least 1. */
export function drainSeconds(drain: TargetDrain, nowMs: number): number {
  return Math.max(1, Math.ceil((expiryMs(drain) - nowMs) / 1000));
}

/** Throws 503 `target_drained` when the provider, or this model of it, is taken out. */
export function refuseDrained(
  target: Parameters<TargetStates['drainOf']>[0],
  { targets, nowMs }: { readonly targets: Pick<TargetStates, 'drainOf'>; readonly nowMs: () => number },
): void {
  const drain = targets.drainOf(target);
  if (drain !== undefined) throw drainedRefusal([drain], nowMs());
}
