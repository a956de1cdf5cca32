// Stages 5 and 6 for a caller who may not ask now: what it asked for, and when a retry would be admitted, by its own rules and by those of its
// targets.

import { type Call, readCall } from '../call/call.ts';
import { Refusal, refusal } from '../errors.ts';
import type { Gateway } from '../gateway.ts';
import type { HeldBody } from '../http/body-budget.ts';
import type { Exchange } from '../http/exchange.ts';
import { explain } from '../limits/rejection.ts';
import { limitRefusal, targetRules } from '../routing/limit-refusal.ts';
import type { Route, Snapshot } from '../snapshot/snapshot.ts';
import type { Rejected } from './admit.ts';
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
interface Asked {
  readonly exchange: Exchange;
  readonly snapshot: Snapshot;
  readonly principal: Pick<Principal, 'allowedModels' | 'userPath'> | undefined;
  noteAsked(call: Call): void;
  noteBody(body: Buffer): void;
}

/**
 * The refusal of a request that is refused before its body: a short one that comes at once is read all the same, so that its record says
 * what it asked for. The wait of a 429 `rate_limit_exceeded` (design section 4, Retry-After) suits the consumer and some target, if rules
 * limit targets and the body names a model; else the consumer alone.
 */
export async function foresee(
  refused: Rejected | Refusal,
  asked: Asked,
  held: HeldBody,
  { limiter, metrics, nowMs }: Pick<Gateway, 'limiter' | 'metrics' | 'nowMs'>,
): Promise<Refusal> {
  const call = isShort(asked.exchange) ? await readAsked(asked, held) : undefined;
  if (refused instanceof Refusal) return refused;
  const { rejection, matches, told } = refused;
  const route = call === undefined || !limiter.limitsTargets ? undefined : routeOf(call, asked);
  if (route === undefined) return limitRefusal(rejection, told, metrics);
  return limitRefusal(explain(targetRules(route, limiter), matches, Math.floor(nowMs()), rejection), told, metrics);
}

/** Whether a body that is refused is read all the same. */
export function isShort({ head }: Exchange): boolean {
  return !head.chunked && !head.expectsContinue && (head.contentLength ?? 0) <= shortBytes;
}

/** What it asks for. Undefined when that cannot be read: its limits answer first. */
async function readAsked(asked: Asked, held: HeldBody): Promise<Call | undefined> {
  const { exchange, snapshot } = asked;
  const late = refusal('request_timeout');
  const timer = setTimeout(() => exchange.waiting?.broken?.(late), patienceMs);
  try {
    const body = await received(exchange, snapshot.bodyLimitBytes, held);
    asked.noteBody(body);
    const call = readCall(body);
    asked.noteAsked(call);
    return call;
  } catch (error) {
    // Who has left, or sent what is no HTTP, gets no such answer.
    const isOver = exchange.gone || (error !== late && error instanceof Refusal && unreadable.has(error.code));
    if (isOver || !(error instanceof Refusal)) throw error;
    return undefined;
  } finally {
    clearTimeout(timer);
  }
}

/** Where the request would lead. Undefined when it would be refused for another reason, too. */
function routeOf(call: Call, { snapshot, principal }: Asked): Route | undefined {
  try {
    return resolve(call, snapshot, principal?.allowedModels, principal?.userPath);
  } catch (error) {
    if (error instanceof Refusal) return undefined;
    throw error;
  }
}
