// The answer to a client when no target gave one: one refusal, and the wait after which a retry can succeed (spec: Errors, saturation).
import { Refusal } from '../errors.ts';
import type { Gateway } from '../gateway.ts';
import { explain, rejectTargets, waitOf } from '../limits/rejection.ts';
import type { Target } from '../snapshot/snapshot.ts';
import { limitRefusal, targetRules } from './admit.ts';
import type * as attempts from './attempts.ts';

type Parts = Pick<Gateway, 'limiter' | 'metrics' | 'targets'>;
type FailedAttempt = Pick<attempts.FailedAttempt, 'target' | 'refused'>;
type RoutedCall = Pick<attempts.RoutedCall, 'route' | 'consumer'>;

/** Throws or gives the answer. `failed`: what was asked in vain, in this order; the consumer holds nothing any more of a call that was not made. */
export function lastWord(failed: readonly FailedAttempt[], routed: RoutedCall, parts: Parts, nowMs: number): Refusal {
  const last = failed.at(-1);
  if (last === undefined) return saturated(routed, parts, nowMs);
  return last.refused.status === 429 ? honest(last.refused, failed, { routed, parts, nowMs }) : last.refused;
}

/**
 * Every target is used up: the wait is the first second at which a retry would be admitted by the consumer's rules and by all rules
 * of some target; the answer speaks of the rule that decides it. The consumer gets back what it paid first, else its own request
 * would stand in its way.
 */
function saturated({ route, consumer }: RoutedCall, { limiter, metrics }: Parts, nowMs: number): Refusal {
  consumer.lease.refund(nowMs);
  return limitRefusal(rejectTargets(targetRules(route, limiter), consumer.matches, nowMs), consumer.told, metrics);
}

/** For how long a target has no room: because of our rules, or because of what its provider said or did. Whole seconds. */
interface Wait {
  readonly ruleSeconds: number;
  readonly ownSeconds: number;
  /** The provider's refusal; undefined: it was not asked this time. */
  readonly refused: Refusal | undefined;
  readonly target: Target;
}

interface Asked {
  readonly routed: RoutedCall;
  readonly parts: Parts;
  readonly nowMs: number;
}

/**
 * The provider asked last has too much to do: of all targets the one that has room first decides, and the consumer's rules when they take longer.
 * The words, the headers and the wait are of the same one.
 */
function honest(last: Refusal, failed: readonly FailedAttempt[], asked: Asked): Refusal {
  const { routed, parts, nowMs } = asked;
  const { route, consumer } = routed;
  const soonest = route.targets.map((target) => waitFor(target, failed, asked)).reduce(sooner);
  const { ruleSeconds, ownSeconds, refused = last, target } = soonest;
  // At least 1, which is the wait for a slot of the consumer: this request still holds one, and must not stand in its own way.
  const seconds = Math.max(ruleSeconds, ownSeconds, 1);
  const { limiter, metrics } = parts;
  if (waitOf(consumer.matches, nowMs) > seconds) {
    return limitRefusal(explain([], consumer.matches, nowMs), consumer.told, metrics);
  }
  if (ruleSeconds > ownSeconds) {
    const rules = limiter.forTarget(target.upstream.name, target.model);
    return limitRefusal(explain([rules], consumer.matches, nowMs), consumer.told, metrics);
  }
  return withRetryAfter(refused, seconds);
}

function waitFor(target: Target, failed: readonly FailedAttempt[], { parts, nowMs }: Asked): Wait {
  const refused = failed.findLast((attempt) => attempt.target === target)?.refused;
  const told = refused?.status === 429 ? (toldSeconds(refused) ?? 1) : undefined;
  // One that was not asked because it is left alone is asked when that ends.
  const aloneSeconds = Math.ceil((parts.targets.of(target).usableAtMs(nowMs) - nowMs) / 1000);
  const ruleSeconds = waitOf(parts.limiter.forTarget(target.upstream.name, target.model), nowMs);
  // One that failed in another way gives no hope for a date.
  const isLost = refused !== undefined && refused.status !== 429;
  const ownSeconds = isLost ? Number.POSITIVE_INFINITY : (told ?? aloneSeconds);
  return { ruleSeconds, ownSeconds, refused, target };
}

function sooner(a: Wait, b: Wait): Wait {
  return Math.max(b.ruleSeconds, b.ownSeconds) < Math.max(a.ruleSeconds, a.ownSeconds) ? b : a;
}

/** What a provider's refusal says about when to come again; undefined: nothing. */
function toldSeconds({ headers }: Refusal): number | undefined {
  const { 'retry-after': seconds, 'retry-after-ms': ms } = headers;
  if (seconds !== undefined) return Number(seconds);
  return ms === undefined ? undefined : Math.ceil(Number(ms) / 1000);
}

/** The same refusal with this wait; milliseconds of the provider stay only beside its own seconds. */
function withRetryAfter(refused: Refusal, seconds: number): Refusal {
  if (refused.headers['retry-after'] === String(seconds)) return refused;
  const { status, type, message, code, param, provider, further } = refused;
  const { 'retry-after-ms': ms, ...others } = refused.headers;
  const headers = ms !== undefined && toldSeconds(refused) === seconds ? { ...others, 'retry-after-ms': ms } : others;
  return new Refusal({ status, type, message }, code, {
    ...(param === null ? {} : { param }),
    ...(provider === undefined ? {} : { provider }),
    headers: { ...headers, 'retry-after': String(seconds) },
    further,
  });
}
