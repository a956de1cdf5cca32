// Trips to what sessions begin with that are not held by the gateway: secrets for browsers, and calls over WebRTC. One request each, whose body
// and answer are read whole.
import { refusal } from '../errors.ts';
import { fixedHeaderList } from '../http/answer-headers.ts';
import type { BodyBudget } from '../http/body-budget.ts';
import type { Exchange } from '../http/exchange.ts';
import { expectLength, readBody } from '../http/read-body.ts';
import { referencesOfBody } from '../kept/objects/body-references.ts';
import { claim } from '../kept/objects/claim.ts';
import { checkBody } from '../kept/objects/gated-body.ts';
import type { KeptHomes } from '../kept/objects/kept-homes.ts';
import { ownerOf, seesAll } from '../kept/owner.ts';
import { rateLimitHeaders } from '../limits/headers.ts';
import { followed } from '../pacing/slices.ts';
import { failureRefusal, invalid, wholeRejection } from '../providers/provider-error.ts';
import { providerHeaders } from '../providers/upstream-id.ts';
import { askTargets, type Granted, type Reply } from '../realtime/ask-targets.ts';
import { realtimeHeaders, realtimePath, realtimeSpeech } from '../realtime/dial-target.ts';
import type { SignallingDoor } from '../realtime/doors.ts';
import { furtherQuery, queryOf } from '../realtime/query.ts';
import { type NamedModel, namedModel } from '../realtime/session-model.ts';
import type { Telemetry } from '../records/spans/telemetry.ts';
import type { Snapshot, Target } from '../snapshot/snapshot.ts';
import { foreseen, isShort } from '../stages/foresee.ts';
import type { Ending } from '../stages/relay.ts';
import { noHead } from '../upstream/answer-head.ts';
import type { ApiKey } from '../upstream/api-keys.ts';
import type { Deadlines } from '../upstream/deadlines.ts';
import type { Pools } from '../upstream/pools.ts';
import { readWhole, type WholeAnswer } from '../upstream/read-whole.ts';
import type { TripKind } from './kind.ts';
import type { PipelineParts } from './pipeline.ts';
import { askedOf, findRealtimeRoute, identifyCaller, RealtimeTrip } from './realtime.ts';
import { refuseClient } from './refuse-client.ts';

/** Of a body, and of its answer. Bytes. */
const mostBytes = 1024 * 1024;
const limit = { bytes: mostBytes, setting: '' };
const callId = /^[A-Za-z0-9_-]{1,128}$/;
const isJson = /\bjson\b/i;

/** The parts that the stages need, and those that reach the targets. */
export type SignallingParts = Parameters<typeof identifyCaller>[1] &
  Parameters<typeof askTargets>[2] &
  Parameters<typeof claim>[2] &
  PipelineParts & {
    readonly bodies: BodyBudget;
    readonly deadlines: Deadlines;
    readonly homes: KeptHomes;
    readonly pools: Pools;
    readonly telemetry?: Telemetry | undefined;
  };

export class SignallingTrip extends RealtimeTrip<WholeAnswer> {
  readonly door: SignallingDoor;
  /** Stage 3. */
  body: Buffer | undefined;
  named: NamedModel | undefined;

  constructor(door: SignallingDoor, exchange: Exchange, snapshot: Snapshot) {
    super(door.path, 'POST', exchange, snapshot);
    this.door = door;
  }

  /** It makes a secret for a browser, which asks no model. What a call over WebRTC costs is not seen here. */
  get isFree(): boolean {
    return this.path.endsWith('/client_secrets');
  }
}

type Answered = Granted<WholeAnswer>;

/** The spec of signalling. Its functions throw, or reject with, a Refusal. */
export function signallingKind(parts: SignallingParts): TripKind<SignallingTrip, Answered> {
  return {
    isOfClient: true,
    isSession: false,
    checkHead({ exchange: { head } }) {
      if (head.contentEncoding !== undefined) throw refusal('unsupported_encoding');
      expectLength(head, limit);
    },
    identify(trip) {
      return followed(identifyCaller(trip, parts), () => {
        trip.held = parts.bodies.open(trip.caller.keyId ?? trip.caller.userPath, trip.snapshot);
      });
    },
    admission: () => ({ rules: 'everything', hasBudget: true }),
    entersLate: () => false,
    async foresee(trip) {
      if (!isShort(trip.exchange)) return undefined;
      await foreseen(trip.exchange, () => receive(trip));
      return trip.call && askedOf(trip.call.model, trip.query);
    },
    receive,
    async resolve(trip) {
      await claimObjects(trip, parts);
      findRealtimeRoute(trip);
    },
    guard: () => undefined,
    lookUp: () => undefined,
    attempt: (trip) => ask(trip, parts),
    relay: async (trip, answered) => answer(trip, answered, parts),
    refuse: ({ exchange }, error) => refuseClient(exchange, error, parts),
    close: () => undefined,
  };
}

async function receive(trip: SignallingTrip): Promise<void> {
  const { door, exchange, held } = trip;
  if (held === undefined) throw new Error('a body was read before its caller was known');
  const body = await readBody(exchange, limit, held);
  const contentType = exchange.head.contentType ?? '';
  const query = queryOf(exchange.request.url ?? '');
  const named = namedModel({ contentType, body, query }, door.takesSdp);
  trip.query = query;
  trip.body = body;
  trip.named = named;
  trip.call = { model: named.model, stream: false };
}

/** Rejects with 404 `kept_not_found` for a voice, a file or another object that is not the caller's. */
async function claimObjects(
  { body, caller: principal, exchange, snapshot }: SignallingTrip,
  parts: SignallingParts,
): Promise<void> {
  if (seesAll(principal) || body === undefined) return;
  await checkBody(body, {
    reader: referencesOfBody(exchange.head.contentType ?? ''),
    encoding: undefined,
    mostBytes,
    check: (references) => claim(references, { principal, snapshot, provider: undefined }, parts),
  });
}

async function ask(trip: SignallingTrip, parts: SignallingParts): Promise<Answered> {
  const { admitted: consumer, exchange, route } = trip;
  if (route === undefined) throw new Error('targets were asked before they were known');
  trip.isAsked = true;
  const question = {
    route,
    consumer,
    exchange,
    ask: (target: Target, key: ApiKey, gone: AbortSignal) => askTarget(target, key, { trip, gone }, parts),
  };
  const granted = await askTargets(question, trip.failed, parts);
  trip.accepted = granted;
  if (exchange.gone) throw refusal('client_left');
  return granted;
}

async function askTarget(
  target: Target,
  key: ApiKey,
  { trip, gone: signal }: { readonly trip: SignallingTrip; readonly gone: AbortSignal },
  parts: SignallingParts,
): Promise<Reply<WholeAnswer>> {
  const { upstream, model } = target;
  const { door, exchange, named, query } = trip;
  if (named === undefined) throw new Error('targets were asked before the model was known');
  const speech = realtimeSpeech(target);
  const further = furtherQuery(query);
  const members = named.isInQuery ? [['model', model], ...further] : [...further];
  const headers = realtimeHeaders(target, key, exchange);
  headers.push('content-type', exchange.head.contentType ?? '', 'accept-encoding', 'identity');
  const spanId = parts.telemetry?.propagate(exchange, headers);
  const path = realtimePath(speech, door.below, members);
  const question = { method: 'POST', path, headers, body: named.bodyFor(model), mostBytes, signal } as const;
  const come = await readWhole(parts.pools.get(upstream), question, upstream.patience, parts.deadlines);
  if (come.failure !== undefined) {
    const failure = { failure: come.failure, sent: come.sent, isStale: false };
    return { status: 0, head: noHead, spanId, refused: failureRefusal(failure, upstream, noHead), failure };
  }
  const { status, head } = come;
  const isFine = status >= 200 && status < 300;
  if (isFine && (door.takesSdp || isJson.test(head.contentType ?? ''))) return { status, head, spanId, value: come };
  const nowMs = (): number => parts.nowMs();
  const refused = wholeRejection(come, speech.speaker, nowMs) ?? invalid(come, upstream, `its status is ${status}`);
  return { status, head, spanId, refused, failure: undefined };
}

function answer(
  trip: SignallingTrip,
  { value: { status, head, body }, allowance, target }: Answered,
  parts: SignallingParts,
): Ending {
  const { admitted, caller, door, exchange } = trip;
  const headers = ['x-request-id', exchange.id, ...fixedHeaderList];
  headers.push(...rateLimitHeaders(allowance, admitted, Math.floor(parts.nowMs()), admitted.told));
  if (head.contentType !== undefined) headers.push('content-type', head.contentType);
  headers.push('content-length', String(body.length));
  const id = head.location?.split('?', 1)[0]?.split('/').at(-1) ?? '';
  if (callId.test(id)) {
    headers.push('location', `${door.path}/${id}`);
    // Later it is controlled at the provider, through /p.
    const home = { provider: target.upstream.name, key: '', isBatchInput: false };
    parts.homes.remember('call', id, ownerOf(caller), home);
  }
  headers.push(...Object.entries(providerHeaders(head, target.upstream)).flat());
  exchange.response.writeHead(status, headers);
  exchange.response.end(body);
  return { status, headers: [], refused: undefined };
}
