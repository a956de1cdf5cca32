// Trips of sessions over WebSocket: everything before the 101 is answered as for any other request; then the session is relayed until it is over.
// A session is one request, and holds its slots to its end (spec, Limits 10).
import { checkPath } from '../call/head.ts';
import { redact } from '../dialects/redact.ts';
import { mayNameError } from '../dialects/stream-secrets.ts';
import { refusal } from '../errors.ts';
import { acceptWebSocket, checkHandshake } from '../http/accept-web-socket.ts';
import { fixedHeaderList } from '../http/answer-headers.ts';
import type { BodyBudget, HeldBody } from '../http/body-budget.ts';
import type { Exchange } from '../http/exchange.ts';
import type { WebSocketConnection } from '../http/web-socket.ts';
import type { KeyStreams } from '../kept/key-streams.ts';
import { rateLimitHeaders } from '../limits/headers.ts';
import { providerHeaders } from '../providers/upstream-id.ts';
import { askTargets, type Granted } from '../realtime/ask-targets.ts';
import { type Closing, keyRevoked, shuttingDown } from '../realtime/closing.ts';
import { dialTarget } from '../realtime/dial-target.ts';
import { sessionPath } from '../realtime/doors.ts';
import { usageOfEvent } from '../realtime/event-usage.ts';
import type { Handshake } from '../realtime/handshake.ts';
import { furtherQuery, queryOf } from '../realtime/query.ts';
import { Session } from '../realtime/session.ts';
import { modelIn } from '../realtime/session-model.ts';
import type { SessionSlots } from '../realtime/session-slots.ts';
import { UnfinishedResponses } from '../realtime/unfinished-responses.ts';
import type { Telemetry } from '../records/spans/telemetry.ts';
import type { Snapshot, Target } from '../snapshot/snapshot.ts';
import { foreseen } from '../stages/foresee.ts';
import type { Ending } from '../stages/relay.ts';
import { costOfUsage } from '../tokens/attempt-usage.ts';
import { sumUsage } from '../tokens/sum-usage.ts';
import type { TokenUsage } from '../tokens/token-usage.ts';
import type { ApiKey } from '../upstream/api-keys.ts';
import type { Pools } from '../upstream/pools.ts';
import type { TripKind } from './kind.ts';
import type { PipelineParts } from './pipeline.ts';
import { askedOf, findRealtimeRoute, identifyCaller, RealtimeTrip } from './realtime.ts';
import { refuseClient } from './refuse-client.ts';

/** Errors of providers are short. Bytes. */
const longestError = 64 * 1024;

/** The parts that the stages need, the counts of sessions, and the list that ends them. */
export type SessionParts = Parameters<typeof identifyCaller>[1] &
  Parameters<typeof askTargets>[2] &
  PipelineParts & {
    readonly bodies: BodyBudget;
    readonly keyStreams: KeyStreams;
    readonly pools: Pools;
    readonly telemetry?: Telemetry | undefined;
  };

/** The parts that all sessions have in common. */
export interface SessionKeeper {
  readonly slots: SessionSlots;
  /** Throws what stands against any upgrade at this moment. */
  readonly check: (exchange: Exchange) => void;
  /** A session is over; undefined: it was never open. */
  readonly over: (trip: SessionTrip, closing: Closing | undefined) => void;
}

export class SessionTrip extends RealtimeTrip<WebSocketConnection> {
  readonly handshake: Handshake;
  readonly unfinished = new UnfinishedResponses();
  /** Stage 8. */
  session: Session | undefined;
  closing: Closing | undefined;
  /** Tokens of the responses so far. */
  used: TokenUsage | undefined;
  /** What they have cost, in nano-dollars. */
  charged = 0;
  /** Gives the place among the sessions of its caller back; undefined: it has none. */
  giveSlot: (() => void) | undefined;

  constructor(handshake: Handshake, exchange: Exchange, snapshot: Snapshot) {
    super(sessionPath, 'GET', exchange, snapshot);
    this.handshake = handshake;
    this.usage = { usage: () => this.used };
    handshake.watch(exchange);
  }

  /** It is one of transcripts alone. */
  get isTranscribing(): boolean {
    return this.query.get('intent') === 'transcription';
  }

  /** The process is about to end: a session is closed, an upgrade refused. */
  end(): void {
    if (this.session !== undefined) this.session.end(shuttingDown);
    else this.handshake.socket.destroy();
  }
}

type Opened = Granted<WebSocketConnection>;

/** The spec of sessions over WebSocket. Its functions throw, or reject with, a Refusal. */
export function sessionKind(keeper: SessionKeeper, parts: SessionParts): TripKind<SessionTrip, Opened> {
  return {
    isOfClient: true,
    isSession: true,
    checkHead({ exchange }) {
      keeper.check(exchange);
      checkPath(exchange.request);
      checkHandshake(exchange.request);
    },
    identify: (trip) => identifyCaller(trip, parts),
    admission: () => ({ rules: 'everything', hasBudget: true }),
    entersLate: () => false,
    async foresee(trip) {
      await foreseen(trip.exchange, () => receive(trip));
      return trip.call && askedOf(trip.call.model, trip.query);
    },
    receive(trip) {
      trip.giveSlot = keeper.slots.take(trip.caller, trip.snapshot.realtime.mostSessions);
      receive(trip);
    },
    resolve: findRealtimeRoute,
    guard: () => undefined,
    lookUp: () => undefined,
    attempt: (trip) => ask(trip, parts),
    relay: (trip, opened) => relaySession(trip, opened, parts),
    refuse: ({ exchange }, error) => refuseClient(exchange, error, parts),
    close(trip) {
      trip.giveSlot?.();
      keeper.over(trip, trip.closing);
    },
  };
}

/** The model stands in the query. Throws 400 where it does not, and for members that are not taken. */
function receive(trip: SessionTrip): void {
  trip.query = queryOf(trip.exchange.request.url ?? '');
  trip.call = { model: modelIn(trip.query), stream: true };
}

async function ask(trip: SessionTrip, parts: SessionParts): Promise<Opened> {
  const { admitted: consumer, exchange, query, route, snapshot } = trip;
  if (route === undefined) throw new Error('targets were asked before they were known');
  trip.isAsked = true;
  const wish = { exchange, query: furtherQuery(query), frameLimitBytes: snapshot.realtime.frameLimitBytes };
  const dialParts = { pools: parts.pools, telemetry: parts.telemetry, nowMs: () => parts.nowMs() };
  const question = {
    route,
    consumer,
    exchange,
    ask: (target: Target, key: ApiKey, gone: AbortSignal) => dialTarget(target, key, { ...wish, gone }, dialParts),
  };
  const opened = await askTargets(question, trip.failed, parts);
  trip.accepted = opened;
  return opened;
}

/** Answers 101, and resolves when the session is over. Throws `client_left` where the client is not there any more. */
function relaySession(trip: SessionTrip, opened: Opened, parts: SessionParts): Promise<Ending> {
  const { exchange, handshake, snapshot } = trip;
  const { request, socket } = handshake;
  const { frameLimitBytes } = snapshot.realtime;
  const provider = opened.value;
  const isThere = !exchange.gone && !socket.destroyed;
  const headers = isThere ? answerHeaders(trip, opened, parts) : [];
  const early = isThere ? handshake.release() : Buffer.alloc(0);
  const client = isThere ? acceptWebSocket({ request, socket, early, frameLimitBytes, headers }) : undefined;
  if (client === undefined) {
    exchange.gone = true;
    provider.end.on('error', () => undefined);
    provider.end.close(1001, '');
    provider.end.resume();
    throw refusal('client_left');
  }
  return new Promise((resolve) => {
    const ends = { client: { end: client, socket }, provider };
    const { secrets } = opened.target.upstream;
    let unwatch: (() => void) | undefined;
    trip.session = new Session(ends, snapshot.realtime, heldMessages(trip, parts), {
      said: (text) => said(text, trip, secrets, parts),
      closedWith: (reason) => redact(reason, secrets),
      over: (closing) => {
        unwatch?.();
        trip.closing = closing;
        resolve(endingOf(trip, closing, headers, parts));
      },
    });
    unwatch = watchKey(trip, trip.session, parts);
  });
}

function endingOf(trip: SessionTrip, closing: Closing, headers: readonly string[], parts: SessionParts): Ending {
  const unfinished = trip.unfinished.usage();
  if (unfinished !== undefined) charge(unfinished, trip, parts);
  const { error, toClient } = closing;
  if (error === undefined) return { status: 101, headers, refused: undefined };
  const provider = trip.accepted?.target.upstream.name;
  const isOfProvider = error.startsWith('upstream_') && provider !== undefined;
  const refused = refusal(error, { ...(isOfProvider ? { provider } : {}), fill: { reason: toClient.reason } });
  return { status: refused.status, headers, refused };
}

/** The session ends with the authority that opened it. Gives what ends the watch. */
function watchKey(
  { caller, snapshot }: SessionTrip,
  session: Session,
  { keyStreams }: SessionParts,
): (() => void) | undefined {
  const { kind } = caller;
  const { masterKeyDigest } = snapshot.credentials;
  const end = (): void => session.end(keyRevoked);
  if (caller.keyId !== undefined) return keyStreams.watch(caller, end, true);
  return kind === 'master_key' && masterKeyDigest !== undefined
    ? keyStreams.watchMaster(masterKeyDigest, end)
    : undefined;
}

/** Where the budget is less than one body, messages may still take as much as the longest message, and bodies the rest. */
function heldMessages({ caller, snapshot }: SessionTrip, { bodies }: SessionParts): HeldBody {
  const { bodyBudgetBytes, realtime } = snapshot;
  return bodies.open(caller.keyId ?? caller.userPath, { bodyLimitBytes: realtime.frameLimitBytes, bodyBudgetBytes });
}

/** Charges what an event of the provider says of tokens. Errors are told without the provider's secrets. */
function said(text: Buffer, trip: SessionTrip, secrets: readonly string[], parts: SessionParts): Buffer {
  try {
    if (parts.usageEnabled) count(text, trip, parts);
    if (text.length > longestError || !mayNameError(text)) return text;
    const words = text.toString();
    const clean = redact(words, secrets);
    return clean === words ? text : Buffer.from(clean);
  } catch (error) {
    parts.reportFailure(error, trip.exchange.id);
    return text;
  }
}

function count(text: Buffer, trip: SessionTrip, parts: SessionParts): void {
  trip.unfinished.see(text);
  const usage = usageOfEvent(text, trip.isTranscribing);
  if (usage !== undefined) charge(usage, trip, parts);
}

/** Tokens count as soon as they are known. */
function charge(usage: TokenUsage, trip: SessionTrip, parts: SessionParts): void {
  const { limiter, metrics } = parts;
  const { accepted, consumer } = trip;
  const now = Math.floor(parts.nowMs());
  for (const allowance of [consumer, accepted?.allowance]) {
    if (allowance !== undefined) limiter.charge(allowance.matches, usage.totalTokens, now, allowance.lease);
  }
  metrics.tokens(usage.source, usage.totalTokens);
  if (accepted !== undefined) metrics.upstream.charged(accepted.target, usage.inputTokens, usage.outputTokens);
  // Each response is priced by itself: a session is no long context, and a transcript of another model hides no cost.
  const cost = costOfUsage(usage, accepted?.target.price);
  trip.used = sumUsage(trip.used, { ...usage, cost });
  if (cost === null) return;
  trip.charged += cost.total;
  parts.budgets.charge(
    { userPath: trip.caller.shownPath, labels: trip.caller.labels },
    () => [{ cost: cost.total, atMs: now }],
    now,
  );
}

function answerHeaders(
  { admitted, exchange }: SessionTrip,
  { allowance, head, target }: Opened,
  parts: SessionParts,
): string[] {
  const headers = ['x-request-id', exchange.id, ...fixedHeaderList];
  headers.push(...rateLimitHeaders(allowance, admitted, Math.floor(parts.nowMs()), admitted.told));
  headers.push(...Object.entries(providerHeaders(head, target.upstream)).flat());
  return headers;
}
