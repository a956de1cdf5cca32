// The line itself: what happens to a model request, in order; that is written down here alone. A part ends where it may wait for something.
import { type Call, readAnyCall } from '../call/call.ts';
import { refusal } from '../errors.ts';
import { renew } from '../stages/admit.ts';
import { attempt } from '../stages/attempt.ts';
import type { Accepted } from '../stages/attempts.ts';
import { authenticate } from '../stages/authenticate.ts';
import { takeForCache } from '../stages/cache/keep-cached.ts';
import { type Looked, lookUp } from '../stages/cache/look-up.ts';
import { type Candidates, candidates, payable } from '../stages/candidates.ts';
import { deliver, ownDelivery } from '../stages/deliver.ts';
import { enter, enterLate } from '../stages/enter.ts';
import { type Guarded, guard, guardAnswer, guarding, putBack } from '../stages/guard.ts';
import { keep } from '../stages/keep.ts';
import { type Recalled, recall, routeHome } from '../stages/recall.ts';
import { expectJson, receive } from '../stages/receive.ts';
import { type Delivery, relay } from '../stages/relay.ts';
import { resolve } from '../stages/resolve.ts';
import type { Line, OpenTrip } from './model-trip.ts';

function takeHead(trip: OpenTrip): void {
  const { exchange, gateway, snapshot } = trip;
  if (gateway.overload.isOverloaded()) throw refusal('overloaded', { headers: { 'retry-after': '1' } });
  const held = trip.takeCaller(authenticate(exchange, snapshot.credentials, gateway));
  expectJson(exchange, snapshot.bodyLimitBytes);
  if (trip.caching !== undefined || enter(trip, held, gateway)) receive(exchange, snapshot.bodyLimitBytes, held, trip);
}

function takeCall(trip: OpenTrip, call: Call): void {
  trip.call = call;
  trip.when(recall(call, trip, trip.gateway), takeWhole);
}

function takeWhole(trip: OpenTrip, { call, home }: Recalled): void {
  const { snapshot, principal } = trip;
  trip.takeCall(call);
  const named = routeHome(resolve(call, snapshot, principal?.allowedModels, principal?.userPath), call, home);
  trip.guarding = guarding(call, named, trip);
  trip.when(guard({ call, home, named }, trip.guarding), takeGuarded);
}

function takeGuarded(trip: OpenTrip, guarded: Guarded): void {
  trip.capture?.takeGuarded(guarded.call.body);
  trip.when(lookUp(guarded, trip, trip.gateway), takeLooked);
}

function takeLooked(trip: OpenTrip, looked: Looked): void {
  const { gateway, snapshot, row } = trip;
  if (looked.kept === undefined) trip.consumer ??= enterLate(trip, looked.named, gateway);
  if (looked.kept !== undefined) trip.when(guardAnswer(looked.kept, trip, gateway), takeDelivery);
  else trip.when(candidates(payable(looked, trip), row, snapshot.storedResponses), takeCandidates);
}

function takeCandidates(trip: OpenTrip, { call, keyMark, route, translated, own }: Candidates): void {
  const { admitted: consumer, exchange, gateway, guarding: rails, row } = trip;
  trip.route = route;
  renew(consumer, route, gateway);
  if (own !== undefined) {
    takeDelivery(trip, ownDelivery(own, row.surface, exchange.id));
    return;
  }
  const routed = { ...row, call, keyMark, route, translated, consumer, guarding: rails };
  trip.when(attempt(routed, exchange, gateway, trip.failed), takeAnswer);
}

function takeAnswer(trip: OpenTrip, accepted: Accepted): void {
  trip.accepted = accepted;
  const { delivery, usage } = deliver(accepted, trip, trip.gateway);
  trip.usage = usage;
  trip.when(guardAnswer(takeForCache(delivery, trip, trip.gateway), trip, trip.gateway), takeDelivery);
}

function takeDelivery(trip: OpenTrip, delivery: Delivery): void {
  const { exchange, gateway } = trip;
  trip.when(putBack(trip.watched(delivery, 'masked'), trip, gateway), (_, told) => {
    relay(trip.watched(keep(told, trip, gateway), 'original'), exchange, gateway, (ending) => trip.end(ending));
  });
}

export const line: Line = { head: takeHead, body: (trip, body) => trip.when(readAnyCall(body), takeCall) };
