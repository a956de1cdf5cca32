// Which target of an opaque call is asked: the first whose provider and model rules have room.
import type { Gateway } from '../gateway.ts';
import { rulesOfTarget } from '../limits/counted-rules.ts';
import { rejectTargets } from '../limits/rejection.ts';
import { type Allowance, type ConsumerAllowance, limitRefusal } from '../stages/admit.ts';
import type { OpaqueDoor, OpaqueTarget } from './door.ts';

/** Takes one request from the rules of the target. Throws 429 `rate_limit_exceeded` when none has room; the consumer is given back what it paid. */
export function admitTarget(
  targets: readonly OpaqueTarget[],
  consumer: ConsumerAllowance,
  { counts }: Pick<OpaqueDoor, 'counts'>,
  { limiter, metrics, nowMs }: Pick<Gateway, 'limiter' | 'metrics' | 'nowMs'>,
): { readonly target: OpaqueTarget; readonly allowance: Allowance } {
  const now = Math.floor(nowMs());
  const rejectedAs = targets.length === 1 ? 'reject' : 'skip_target';
  const matchesOf = (target: OpaqueTarget) => rulesOfTarget(counts, target, limiter);
  for (const target of targets) {
    const matches = matchesOf(target);
    const { lease } = limiter.admit(matches, now, rejectedAs);
    if (lease !== undefined) return { target, allowance: { lease, matches } };
  }
  consumer.lease.refund(now);
  throw limitRefusal(rejectTargets(targets.map(matchesOf), consumer.matches, now), consumer.told, metrics);
}
