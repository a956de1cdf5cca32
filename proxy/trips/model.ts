// Trips to model endpoints: what each stage of the line does for a call of a model.

import type { KeyUses } from '../../plane/access/key-uses.ts';
import { type Caching, openCaching } from '../cache/caching.ts';
import type { Embedder } from '../cache/embedding.ts';
import { type Call, readAnyCall, readCall } from '../call/call.ts';
import { RequestFacts } from '../call/request-facts.ts';
import type { ModelEndpoint, ModelRow } from '../endpoints/model-endpoints.ts';
import { rowOf } from '../endpoints/row-of.ts';
import { type ExplainedRequest, explainOnItsWay } from '../explain/explained-request.ts';
import type { Guarding } from '../guardrails/guarding.ts';
import type { Outside } from '../guardrails/outside.ts';
import type { BodyBudget } from '../http/body-budget.ts';
import type { Exchange } from '../http/exchange.ts';
import { followed } from '../pacing/slices.ts';
import type { Records } from '../records/records.ts';
import type { Snapshot, Target } from '../snapshot/snapshot.ts';
import { renew } from '../stages/admit.ts';
import { attempt } from '../stages/attempt.ts';
import type { Accepted, FailedAttempt } from '../stages/attempts.ts';
import { type AuthenticateParts, authenticate, type Principal } from '../stages/authenticate.ts';
import { settleCache, takeForCache } from '../stages/cache/keep-cached.ts';
import { lookUp } from '../stages/cache/look-up.ts';
import { candidates, payable } from '../stages/candidates.ts';
import { clientPart } from '../stages/client-part.ts';
import { deliver, ownDelivery } from '../stages/deliver.ts';
import { type ExpectedOf, expectedOf } from '../stages/expect.ts';
import { neededRoom } from '../stages/fitting.ts';
import { foreseen, isShort } from '../stages/foresee.ts';
import { type Guarded, guard, guardAnswer, guarding, putBack } from '../stages/guard.ts';
import { keep } from '../stages/keep.ts';
import { recall, routeHome } from '../stages/recall.ts';
import { expectJson, received } from '../stages/receive.ts';
import { type Delivery, type Ending, relay } from '../stages/relay.ts';
import { type RescueParts, rescuable } from '../stages/rescue.ts';
import { asksForAlias, resolve } from '../stages/resolve.ts';
import { setAsideMoney } from '../stages/set-aside-money.ts';
import { isFree, isToldLater } from '../tokens/measure.ts';
import type { TripKind } from './kind.ts';
import type { AnswerText } from './mirror/answer-text.ts';
import type { MirrorParts, Mirrors } from './mirror/mirrors.ts';
import type { PipelineParts } from './pipeline.ts';
import { embedderOf } from './question/embedder-of.ts';
import { outsideOf } from './question/outside-of.ts';
import type { ServedRequest } from './question/question.ts';
import { refuseClient } from './refuse-client.ts';
import { Trip } from './trip.ts';

/** The parts that the stages need, and those that count a call when its caller is known. */
export type ModelParts = AuthenticateParts &
  RescueParts &
  PipelineParts &
  Parameters<typeof recall>[2] &
  Parameters<typeof lookUp>[2] &
  Parameters<typeof settleCache>[2] &
  Parameters<typeof deliver>[2] &
  Parameters<typeof guardAnswer>[2] &
  Parameters<typeof keep>[2] &
  Parameters<typeof relay>[2] &
  Parameters<typeof explainOnItsWay>[1] &
  Parameters<typeof outsideOf>[1] &
  MirrorParts & {
    readonly bodies: BodyBudget;
    readonly keyUses: KeyUses;
    readonly mirrors: Mirrors;
    readonly records: Records;
  };

export class ModelTrip extends Trip<Exchange, Accepted, FailedAttempt, Guarding> {
  readonly endpoint: ModelEndpoint;
  /** How it is served: before the call is known, as the endpoint says. */
  row: ModelRow;
  /** Stage 1. Undefined: the cache is off for it. */
  caching: Caching | undefined;
  /** Of a request that asked for an explanation. */
  explained: ExplainedRequest | undefined;
  /** Stage 3. */
  call: Call | undefined;
  /** Stage 8: the text of its answer, where that is compared with what a mirror says. */
  text: AnswerText | undefined;
  /** Stages 4 and 5: the call with what it refers to, as the guardrails leave it, and where it leads. */
  guarded: Guarded | undefined;
  readonly #parts: ModelParts;

  constructor(endpoint: ModelEndpoint, exchange: Exchange, snapshot: Snapshot, parts: ModelParts) {
    super(exchange, snapshot);
    this.endpoint = endpoint;
    this.row = endpoint;
    this.#parts = parts;
  }

  get path(): string {
    return this.endpoint.path;
  }

  get isFree(): boolean {
    return isFree(this.row.operation);
  }

  get costsLater(): boolean {
    const { call, row } = this;
    return call !== undefined && isToldLater({ operation: row.operation, call });
  }

  get isAlias(): boolean | undefined {
    return this.route?.isAlias ?? asksForAlias(this.call, this.snapshot, this.principal?.userPath);
  }

  get remembered(): Target | undefined {
    return this.accepted?.target;
  }

  /** The models and services that guardrails may ask for this request. */
  get outside(): Outside {
    return outsideOf(this.#served, this.#parts);
  }

  /** Asks a model for embeddings for this request. */
  embedder(model: string): Embedder {
    return embedderOf(model, this.#served, this.#parts);
  }

  get #served(): ServedRequest & { readonly exchange: Exchange } {
    const { exchange, caller: principal, snapshot, call } = this;
    return { exchange, principal, snapshot, call };
  }

  /** The delivery, and what is recorded of it: with or without what guardrails have masked, as the audit wants it. */
  watched(delivery: Delivery, words: 'masked' | 'original'): Delivery {
    const { capture, row } = this;
    const isWanted = this.snapshot.audit.hasOriginals === (words === 'original');
    if (capture === undefined || !isWanted) return delivery;
    return { ...delivery, taps: [...delivery.taps, capture.tapOf(delivery.answer, row.operation)] };
  }
}

/** The spec of calls of models. Its functions throw, or reject with, a Refusal. */
export function modelKind(parts: ModelParts): TripKind<ModelTrip, Delivery> {
  const readBody = (trip: ModelTrip): Promise<Buffer> =>
    received(trip.exchange, trip.snapshot.bodyLimitBytes, memoryOf(trip));
  const recorded = (trip: ModelTrip, body: Buffer): Buffer => {
    trip.capture?.takeRequest(body);
    return body;
  };
  return {
    isOfClient: true,
    isSession: false,
    checkHead: ({ exchange, snapshot }) => expectJson(exchange, snapshot.bodyLimitBytes),
    identify: (trip) => identify(trip, parts),
    admission: ({ endpoint: { isCounted } }) => ({ rules: isCounted ? 'everything' : 'nothing', hasBudget: isCounted }),
    entersLate: ({ caching }) => caching !== undefined,
    async foresee(trip) {
      if (trip.call !== undefined || !isShort(trip.exchange)) return trip.call;
      trip.call = await foreseen(trip.exchange, async () => readCall(recorded(trip, await readBody(trip))));
      return trip.call;
    },
    // These wait for nothing as a rule, and make no promise then; but the body.
    receive: (trip) =>
      readBody(trip).then((body) =>
        followed(readAnyCall(recorded(trip, body)), (call) => {
          trip.call = call;
        }),
      ),
    resolve: (trip) => findRoute(trip, parts),
    guard(trip) {
      const asked = guardedOf(trip);
      trip.guarding = guarding(asked.call, asked.named, trip);
      return followed(guard(asked, trip.guarding), (guarded) => {
        trip.guarded = guarded;
        trip.capture?.takeGuarded(guarded.call.body);
      });
    },
    lookUp: (trip) =>
      followed(lookUp(guardedOf(trip), trip, parts), ({ kept }) => kept && guardAnswer(kept, trip, parts)),
    attempt: (trip) => askTargets(trip, parts),
    relay: (trip, delivery) => relayAnswer(trip, delivery, parts),
    refuse: ({ exchange }, error) => refuseClient(exchange, error, parts),
    close(trip, end) {
      // Requests that wait for this one's answer are told of its end, whatever fails.
      settleCache(trip, end, parts);
      parts.mirrors.over(trip, end, parts);
      if (end !== undefined) trip.explained?.ended(trip);
    },
  };
}

/** The memory for the body of a request whose caller is known. */
function memoryOf({ held }: ModelTrip): NonNullable<ModelTrip['held']> {
  if (held === undefined) throw new Error('a body was read before its caller was known');
  return held;
}

function guardedOf({ guarded }: ModelTrip): Guarded {
  if (guarded === undefined) throw new Error('a call was used before it was read');
  return guarded;
}

function identify(trip: ModelTrip, parts: ModelParts): void | Promise<void> {
  const { exchange, snapshot } = trip;
  return followed(authenticate(exchange, snapshot.credentials, parts), (principal) => begin(trip, principal, parts));
}

function begin(trip: ModelTrip, principal: Principal, parts: ModelParts): void {
  const { endpoint, exchange, snapshot, path } = trip;
  trip.principal = principal;
  parts.keyUses.note(principal.keyId, exchange.startedAtMs);
  trip.capture = parts.records.capture(snapshot, principal.userPath);
  trip.caching = openCaching(endpoint, principal, snapshot.cache);
  if (exchange.head.wantsExplanation) trip.explained = explainOnItsWay({ exchange, principal, snapshot, path }, parts);
  trip.held = parts.bodies.open(principal.keyId ?? principal.userPath, snapshot);
}

function findRoute(trip: ModelTrip, parts: ModelParts): void | Promise<void> {
  const { endpoint, exchange, snapshot, caller } = trip;
  if (trip.call === undefined) throw new Error('a call was resolved before it was read');
  return followed(recall(trip.call, trip, parts), ({ call, home }) => {
    trip.call = call;
    trip.row = rowOf(endpoint, call);
    trip.explained?.called(call, neededRoom(call, trip.row.operation));
    const facts = new RequestFacts({
      caller,
      endpoint: endpoint.path,
      stream: call.stream,
      rawHeaders: exchange.request.rawHeaders,
      said: call,
      localTime: snapshot.localTime,
      startedAtMs: exchange.startedAtMs,
    });
    const named = routeHome(resolve(call, snapshot, caller.allowedModels, facts), call, home);
    trip.guarded = { call, home, named: clientPart(named, trip) };
  });
}

/** Throws 429 `rate_limit_exceeded` when the body took so long that the windows of its consumer have no room for it any more. */
function askTargets(trip: ModelTrip, parts: ModelParts): Delivery | Promise<Delivery> {
  const { admitted: consumer, exchange, failed, guarding: rails, row, snapshot } = trip;
  return followed(candidates(payable(guardedOf(trip), trip), row, snapshot.storedResponses), (asked) => {
    const { call, keyMark, route, translated, rescue, own } = asked;
    trip.route = route;
    trip.isAsked = true;
    const priced = own === undefined ? askedOfCall(trip, call) : undefined;
    trip.expected = priced && expectedOf(priced, parts.limiter);
    const renewed = renew(consumer, { route, expected: trip.expected }, parts);
    const paid = followed(renewed, () => setAsideMoney(trip, { targets: route.targets, asked: priced }, parts));
    return followed(paid, () => {
      if (own !== undefined) return ownDelivery(own, row.surface, exchange.id);
      const { expected, caller } = trip;
      const { labels } = caller;
      const routed = { ...row, call, keyMark, route, translated, rescue, consumer, labels, guarding: rails, expected };
      return attempt(routed, { exchange, failed }, parts, (accepted) => {
        trip.accepted = accepted;
        const { delivery, usage } = deliver(rescuable(accepted, trip, parts), trip, parts);
        trip.usage = usage;
        return guardAnswer(takeForCache(delivery, trip, parts), trip, parts);
      });
    });
  });
}

/** What decides what a call will take. Undefined: it costs nothing, or what it costs is told later. */
function askedOfCall({ caller, isFree: costsNothing, costsLater, row }: ModelTrip, call: Call): ExpectedOf | undefined {
  return costsNothing || costsLater ? undefined : { operation: row.operation, body: call, consumer: caller.userPath };
}

function relayAnswer(trip: ModelTrip, delivery: Delivery, parts: ModelParts): Ending | Promise<Ending> {
  const compared = parts.mirrors.watch(trip, trip.watched(delivery, 'masked'));
  return followed(putBack(compared, trip, parts), (told) =>
    relay(trip.watched(keep(told, trip, parts), 'original'), trip.exchange, parts),
  );
}
