// Stage 6 for a consumer that is used up: when would a retry be admitted, by its own rules and by those of its targets?
import type { HeldBody } from '../body-budget.ts';
import { readCall } from '../call/call.ts';
import type { Exchange } from '../connection/exchange.ts';
import { Refusal, refusal } from '../errors.ts';
import type { Gateway } from '../gateway.ts';
import { explain } from '../limits/rejection.ts';
import type { Route, Snapshot } from '../snapshot/snapshot.ts';
import { limitRefusal, type Rejected, targetRules } from './admit.ts';
import type { Principal } from './authenticate.ts';
import { received } from './receive.ts';
import { resolve } from './resolve.ts';

/** The body, which names the targets, is read up to this many bytes: a refused request must cost little. */
const shortBytes = 16 * 1024;
/** How long it is waited for, in milliseconds: nearly all clients send it with the head. */
const patienceMs = 200;

/** After these nothing more can be read of the connection. */
const unreadable: ReadonlySet<string | null> = new Set(['malformed_request', 'request_timeout', 'client_left']);

/** The request that is refused. */
export interface Asked extends Pick<Principal, 'allowedModels' | 'userPath'> {
  readonly exchange: Exchange;
  readonly snapshot: Snapshot;
  readonly held: HeldBody;
}

/**
 * The 429 `rate_limit_exceeded` of a rejected request (design section 4, Retry-After). Its wait suits the consumer and some target, if rules
 * limit targets and the body is short, comes at once and names a model; else the consumer alone.
 */
export async function foresee(
  { rejection, matches, told }: Rejected,
  asked: Asked,
  { limiter, metrics, nowMs }: Pick<Gateway, 'limiter' | 'metrics' | 'nowMs'>,
): Promise<Refusal> {
  const route = limiter.limitsTargets && isShort(asked.exchange) ? await routeOf(asked) : undefined;
  if (route === undefined) return limitRefusal(rejection, told, metrics);
  const rules = targetRules(route, limiter);
  return limitRefusal(explain(rules, matches, Math.floor(nowMs()), rejection), told, metrics);
}

function isShort({ head }: Exchange): boolean {
  return !head.chunked && !head.expectsContinue && (head.contentLength ?? 0) <= shortBytes;
}

/** Where the request would lead. Undefined when it would be refused for another reason, too: its limits answer first. */
async function routeOf({ exchange, snapshot, allowedModels, userPath, held }: Asked): Promise<Route | undefined> {
  const late = refusal('request_timeout');
  const timer = setTimeout(() => exchange.waiting?.broken?.(late), patienceMs);
  try {
    const body = await received(exchange, snapshot.bodyLimitBytes, held);
    return resolve(readCall(body), snapshot, allowedModels, userPath);
  } catch (error) {
    // Who has left, or sent what is no HTTP, gets no such answer.
    const isOver = exchange.gone || (error !== late && error instanceof Refusal && unreadable.has(error.code));
    if (isOver || !(error instanceof Refusal)) throw error;
    return undefined;
  } finally {
    clearTimeout(timer);
  }
}
