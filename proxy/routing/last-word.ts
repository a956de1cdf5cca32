// The answer to a client when no target gave one: one refusal, and the wait after which a retry can succeed (spec: Errors, saturation).
import { expiryMs } from '../../domain/rules/authorship.ts';
import type { FailureKind } from '../../domain/targets/failure-kind.ts';
import { Refusal } from '../errors.ts';
import type { Limiter } from '../limits/limiter.ts';
import { explain, waitOf } from '../limits/rejection.ts';
import type { Route, Target } from '../snapshot/snapshot.ts';
import type { TargetStates } from '../targets/target-states.ts';
import { type ConsumerAllowance, limitRefusal, type WaitTally } from './limit-refusal.ts';

interface LastWordParts {
  readonly limiter: Limiter;
  readonly metrics: WaitTally;
  readonly targets: Pick<TargetStates, 'of' | 'drainOf'>;
}

interface RefusedTarget {
  readonly target: unknown;
  readonly refused: Refusal;
}

interface RoutedRequest {
  readonly route: Route;
  readonly consumer: ConsumerAllowance;
  /** The tokens that it sets aside at a target; 0: none. */
  readonly wanted: number;
}

/**
 * The answer when all targets that were asked have failed. `failed`: at least one, in the order in which they were asked. `nowMs`: whole
 * milliseconds of the gateway's clock.
 */
export function lastWord(
  failed: readonly RefusedTarget[],
  routed: RoutedRequest,
  parts: LastWordParts,
  nowMs: number,
): Refusal {
  const refused = decisive(failed.map((attempt) => attempt.refused));
  if (refused === undefined) throw new Error('no target has failed');
  return refused.status === 429 ? honest(refused, failed, { routed, parts, nowMs }) : refused;
}

/**
 * The refusal that tells the client most: the last one. Where a target has found the request too long, or its content not fit, while another
 * one failed for a reason that may pass, the client shall come back for the other one; where the others only lack a key, money or the model,
 * it shall ask for less.
 */
function decisive(refusals: readonly Refusal[]): Refusal | undefined {
  const of = (kind: FailureKind): Refusal | undefined => refusals.findLast(({ diagnosis }) => diagnosis?.kind === kind);
  const ofRequest = of('context_length') ?? of('content_filter');
  return (ofRequest && (refusals.findLast(mayPass) ?? ofRequest)) ?? refusals.at(-1);
}

const lasting: ReadonlySet<FailureKind | undefined> = new Set([
  'context_length',
  'content_filter',
  'account',
  'model_gone',
]);

function mayPass({ diagnosis }: Refusal): boolean {
  return !lasting.has(diagnosis?.kind);
}

/** For how long a target has no room: because of our rules, or because of what its provider said or did. Whole seconds. */
interface Wait {
  readonly ruleSeconds: number;
  readonly ownSeconds: number;
  /** The provider's refusal; undefined: it was not asked this time. */
  readonly refused: Refusal | undefined;
  readonly target: Target;
}

interface LastWordInput {
  readonly routed: RoutedRequest;
  readonly parts: LastWordParts;
  readonly nowMs: number;
}

/**
 * The provider whose word counts has too much to do: of all targets the one that has room first decides, and the consumer's rules when they take longer.
 * The words, the headers and the wait are of the same one.
 */
function honest(last: Refusal, failed: readonly RefusedTarget[], asked: LastWordInput): Refusal {
  const { routed, parts, nowMs } = asked;
  const { route, consumer, wanted } = routed;
  const soonest = route.targets.map((target) => waitFor(target, failed, asked)).reduce(sooner);
  const { ruleSeconds, ownSeconds, refused = last, target } = soonest;
  // At least 1, which is the wait for what open requests of the consumer hold: this one still does, and must not stand in its own way.
  const seconds = Math.max(ruleSeconds, ownSeconds, 1);
  const { limiter, metrics } = parts;
  if (waitOf(consumer.matches, nowMs) > seconds) {
    return limitRefusal(explain([], consumer.matches, nowMs), consumer.told, metrics);
  }
  if (ruleSeconds > ownSeconds) {
    const rules = limiter.forTarget(target.upstream.name, target.model);
    return limitRefusal(explain([rules], undefined, nowMs, { wanted }), consumer.told, metrics);
  }
  return withRetryAfter(refused, seconds);
}

function waitFor(target: Target, failed: readonly RefusedTarget[], { routed, parts, nowMs }: LastWordInput): Wait {
  const refused = failed.findLast((attempt) => attempt.target === target)?.refused;
  const told = refused?.status === 429 ? (toldSeconds(refused) ?? 1) : undefined;
  // One that was not asked because it is left alone, or taken out, is asked when that ends.
  const drain = parts.targets.drainOf(target);
  const outUntilMs = drain === undefined ? nowMs : expiryMs(drain);
  const aloneSeconds = Math.ceil((Math.max(parts.targets.of(target).usableAtMs(nowMs), outUntilMs) - nowMs) / 1000);
  const ruleSeconds = waitOf(parts.limiter.forTarget(target.upstream.name, target.model), nowMs, routed.wanted);
  // One that failed in another way gives no hope for a date.
  const isLost = refused !== undefined && refused.status !== 429;
  const ownSeconds = isLost ? Number.POSITIVE_INFINITY : (told ?? aloneSeconds);
  return { ruleSeconds, ownSeconds, refused, target };
}

function sooner(a: Wait, b: Wait): Wait {
  return Math.max(b.ruleSeconds, b.ownSeconds) < Math.max(a.ruleSeconds, a.ownSeconds) ? b : a;
}

/** The wait in seconds that a provider's refusal names; undefined: none. */
function toldSeconds({ headers }: Refusal): number | undefined {
  const { 'retry-after': seconds, 'retry-after-ms': ms } = headers;
  if (seconds !== undefined) return Number(seconds);
  return ms === undefined ? undefined : Math.ceil(Number(ms) / 1000);
}

/** The refusal with this wait; a wait in milliseconds stays only beside the provider's own seconds. */
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
