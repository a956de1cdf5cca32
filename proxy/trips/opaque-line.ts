// The line of opaque calls: what happens, in order, to a request whose words are passed on as they are, while they still come. Its counterpart
// is pipeline.ts. Where it waits, for the beginning of a body, for what a door looks up and for an answer, a part of it ends.
import { checkPath } from '../call/head.ts';
import { type Refusal, refusal } from '../errors.ts';
import type { Gateway } from '../gateway.ts';
import type { Exchange } from '../http/exchange.ts';
import { expectLength } from '../http/read-body.ts';
import { rulesOfConsumer } from '../limits/counted-rules.ts';
import { type AskedTarget, attemptOpaque } from '../opaque/attempt-opaque.ts';
import { deliverOpaque } from '../opaque/deliver-opaque.ts';
import type { Aim, Knock, OpaqueDoor } from '../opaque/door.ts';
import { limitRefusal } from '../routing/limit-refusal.ts';
import { admit } from '../stages/admit.ts';
import { authenticate, type Principal } from '../stages/authenticate.ts';
import { spentBudget } from '../stages/budget.ts';
import { isShort } from '../stages/foresee.ts';
import { relay } from '../stages/relay.ts';
import { OpaqueTrip } from './opaque-trip.ts';
import type { Step } from './stepping.ts';

/** How long the beginning of a body is waited for, in milliseconds: nearly all clients send it with the head. */
const patienceMs = 200;

/** Serves one request at a door, whatever happens. */
export function serveOpaque(door: OpaqueDoor, exchange: Exchange, gateway: Gateway): void {
  gateway.metrics.requests.begin();
  new OpaqueTrip(door, exchange, gateway).step(takeHead, undefined);
}

function takeHead(trip: OpaqueTrip): void {
  const { door, exchange, gateway, snapshot, body, asked } = trip;
  if (gateway.overload.isOverloaded()) throw refusal('overloaded', { headers: { 'retry-after': '1' } });
  const principal = authenticate(exchange, snapshot.credentials, gateway);
  trip.takeCaller(principal);
  if (!door.isOpen(snapshot)) throw refusal('route_not_found', { fill: asked });
  checkPath(exchange.request);
  expectLength(exchange.head, body.limit);
  const { keyId, userPath } = principal;
  const refused = admitCaller(trip, principal);
  trip.held = gateway.bodies.open(keyId ?? userPath, snapshot);
  if (refused === undefined) trip.when(body.gather(door.shortBytes, patienceMs), takeShort);
  else trip.when(isShort(exchange) ? body.gather(door.shortBytes, patienceMs) : undefined, refuseShort(refused));
}

/** Undefined: it is admitted. */
function admitCaller(trip: OpaqueTrip, principal: Principal): Refusal | undefined {
  const { door, gateway, snapshot } = trip;
  const spent = door.counts === 'nothing' ? undefined : spentBudget(principal, gateway);
  if (spent !== undefined) return spent;
  const rules = rulesOfConsumer(door.counts, principal.userPath, gateway.limiter);
  const admission = admit(rules, snapshot.toldLimits, gateway);
  if (admission.lease === undefined) return limitRefusal(admission.rejection, admission.told, gateway.metrics);
  trip.consumer = admission;
  return undefined;
}

/** What a short body asks for is in the record of the refusal. */
function refuseShort(refused: Refusal): Step<OpaqueTrip, Buffer | undefined> {
  return (trip, short) => {
    trip.short = short;
    throw refused;
  };
}

function takeShort(trip: OpaqueTrip, short: Buffer | undefined): void {
  const { door, exchange, gateway, method, snapshot, principal, body, held } = trip;
  if (principal === undefined || held === undefined)
    throw new Error('a body was read before its consumer was admitted');
  if (short !== undefined) held.grow(short.length);
  trip.short = short;
  const { usageEnabled: readsUsage } = gateway;
  const noteAsked: Knock['noteAsked'] = (asks) => trip.noteAsked(asks);
  const { capture, outside } = trip;
  const noteGuarding: Knock['noteGuarding'] = (rails) => {
    trip.guarding = rails;
  };
  const asks = { method, exchange, snapshot, principal, body, short, held, readsUsage };
  const knock = { ...asks, capture, outside, noteAsked, noteGuarding };
  trip.when(door.aim(knock, gateway), takeAim);
}

function takeAim(trip: OpaqueTrip, aim: Aim): void {
  const { consumer, gateway } = trip;
  if (consumer === undefined) throw new Error('a call was aimed before its consumer was admitted');
  trip.aim = aim;
  trip.attempt = attemptOpaque(aim, consumer, trip, gateway);
  trip.when(trip.attempt.answered, takeAnswer);
}

function takeAnswer(trip: OpaqueTrip, { reply, ...asked }: AskedTarget): void {
  const { exchange, gateway } = trip;
  trip.accepted = { ...asked, refused: undefined, answer: reply.answer };
  const { delivery, usage } = deliverOpaque({ reply, ...asked }, trip, gateway);
  trip.usage = usage;
  relay(trip.watched(delivery), exchange, gateway, (ending) => trip.end(ending));
}
