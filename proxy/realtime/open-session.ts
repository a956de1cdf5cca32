// The line of a session, in order: checks of its head, caller, model, allowance, provider, and only then 101. Everything before that is
// answered as for any other request. A session is one request, and holds its slots to its end (spec, Limits 10).

import { checkPath } from '../call/head.ts';
import { redact } from '../dialects/redact.ts';
import { mayNameError } from '../dialects/stream-secrets.ts';
import { Refusal, refusal } from '../errors.ts';
import type { Gateway } from '../gateway.ts';
import { acceptWebSocket, checkHandshake } from '../http/accept-web-socket.ts';
import { fixedHeaderList } from '../http/answer-headers.ts';
import { answerRefusal } from '../http/answer-refusal.ts';
import type { HeldBody } from '../http/body-budget.ts';
import { type Exchange, openExchange } from '../http/exchange.ts';
import type { WebSocketConnection } from '../http/web-socket.ts';
import { rateLimitHeaders } from '../limits/headers.ts';
import { providerHeaders } from '../providers/upstream-id.ts';
import type { Snapshot, Target } from '../snapshot/snapshot.ts';
import { authenticate } from '../stages/authenticate.ts';
import type { ApiKey } from '../upstream/api-keys.ts';
import { askTargets, type Granted } from './ask-targets.ts';
import { type Closing, keyRevoked, shuttingDown } from './closing.ts';
import { dialTarget } from './dial-target.ts';
import { usageOfEvent } from './event-usage.ts';
import type { Handshake } from './handshake.ts';
import { furtherQuery, queryOf } from './query.ts';
import { RealtimeTrip } from './realtime-trip.ts';
import { Session } from './session.ts';
import { modelIn } from './session-model.ts';
import type { SessionSlots } from './session-slots.ts';
import { UnfinishedResponses } from './unfinished-responses.ts';

export const sessionPath = '/v1/realtime';

/** Who keeps all sessions. */
export interface SessionKeeper {
  readonly slots: SessionSlots;
  /** It is over; undefined: it was never open. */
  over(closing: Closing | undefined): void;
}

/** An upgrade from its head to the end of its session. */
export class OpenSession {
  readonly #handshake: Handshake;
  readonly #exchange: Exchange;
  readonly #gateway: Gateway;
  readonly #snapshot: Snapshot;
  readonly #trip: RealtimeTrip;
  readonly #keeper: SessionKeeper;
  /** It is one of transcripts alone. */
  #isTranscribing = false;
  readonly #unfinished = new UnfinishedResponses();
  #session: Session | undefined;
  #unwatch: (() => void) | undefined;
  #giveSlot: (() => void) | undefined;

  constructor(handshake: Handshake, gateway: Gateway, keeper: SessionKeeper) {
    this.#handshake = handshake;
    this.#gateway = gateway;
    this.#keeper = keeper;
    this.#snapshot = gateway.current();
    this.#exchange = openExchange(handshake.request, handshake.response, this.#snapshot, gateway.nowMs());
    this.#trip = new RealtimeTrip(sessionPath, 'GET', this.#exchange, this.#snapshot);
    handshake.watch(this.#exchange);
  }

  /** Never rejects. `check` throws what stands against any upgrade at this moment. */
  async open(check: (exchange: Exchange) => void): Promise<void> {
    this.#gateway.metrics.requests.begin();
    try {
      check(this.#exchange);
      await this.#open();
    } catch (error) {
      this.#refuse(error);
    }
  }

  /** The process is about to end: a session is closed, an upgrade refused. */
  end(): void {
    if (this.#session !== undefined) this.#session.end(shuttingDown);
    else this.#handshake.socket.destroy();
  }

  async #open(): Promise<void> {
    const { request } = this.#handshake;
    checkPath(request);
    const principal = authenticate(this.#exchange, this.#snapshot.credentials, this.#gateway);
    this.#trip.takeCaller(principal, this.#gateway);
    checkHandshake(request);
    this.#giveSlot = this.#keeper.slots.take(principal, this.#snapshot.realtime.mostSessions);
    const query = queryOf(request.url ?? '');
    this.#isTranscribing = query.get('intent') === 'transcription';
    const { route, consumer } = this.#trip.admit(modelIn(query), this.#gateway, query);
    const { frameLimitBytes } = this.#snapshot.realtime;
    const wish = { exchange: this.#exchange, query: furtherQuery(query), frameLimitBytes };
    const ask = (target: Target, key: ApiKey, gone: AbortSignal) =>
      dialTarget(target, key, { ...wish, gone }, this.#parts());
    const question = { route, consumer, exchange: this.#exchange, ask };
    const granted = await askTargets(question, this.#trip.failed, this.#gateway);
    this.#trip.accepted = granted;
    this.#accept(granted);
  }

  #accept(granted: Granted<WebSocketConnection>): void {
    const provider = granted.value;
    const { request, socket } = this.#handshake;
    const { frameLimitBytes } = this.#snapshot.realtime;
    const isThere = !this.#exchange.gone && !socket.destroyed;
    const headers = isThere ? this.#answerHeaders(granted) : [];
    const early = isThere ? this.#handshake.release() : Buffer.alloc(0);
    this.#trip.answerHeaders = headers;
    const client = isThere ? acceptWebSocket({ request, socket, early, frameLimitBytes, headers }) : undefined;
    if (client === undefined) {
      this.#exchange.gone = true;
      provider.end.on('error', () => undefined);
      provider.end.close(1001, '');
      provider.end.resume();
      throw refusal('client_left');
    }
    const ends = { client: { end: client, socket }, provider };
    this.#session = new Session(ends, this.#snapshot.realtime, this.#heldMessages(), {
      said: (text) => this.#said(text, granted),
      closedWith: (reason) => redact(reason, granted.target.upstream.secrets),
      over: (closing) => this.#end(closing),
    });
    this.#watchKey();
  }

  /** The session ends with the authority that opened it. */
  #watchKey(): void {
    const { keyId, kind } = this.#trip.principal ?? {};
    const { keyStreams } = this.#gateway;
    const { masterKeyDigest } = this.#snapshot.credentials;
    const end = (): void => this.#session?.end(keyRevoked);
    if (keyId !== undefined) this.#unwatch = keyStreams.watch(keyId, end, true);
    else if (kind === 'master_key' && masterKeyDigest !== undefined)
      this.#unwatch = keyStreams.watchMaster(masterKeyDigest, end);
  }

  /** Where the budget is less than one body, messages may still take as much as the longest message, and bodies the rest. */
  #heldMessages(): HeldBody {
    const { keyId, userPath } = this.#trip.principal ?? { userPath: '/' };
    const { bodyBudgetBytes, realtime } = this.#snapshot;
    return this.#gateway.bodies.open(keyId ?? userPath, { bodyLimitBytes: realtime.frameLimitBytes, bodyBudgetBytes });
  }

  /** Charges what the event says of tokens. Errors are told without the provider's secrets. */
  #said(text: Buffer, { target }: Granted<WebSocketConnection>): Buffer {
    try {
      if (this.#gateway.usageEnabled) this.#count(text);
      if (text.length > longestError || !mayNameError(text)) return text;
      const said = text.toString();
      const clean = redact(said, target.upstream.secrets);
      return clean === said ? text : Buffer.from(clean);
    } catch (error) {
      this.#gateway.reportFailure(error, this.#exchange.id);
      return text;
    }
  }

  #count(text: Buffer): void {
    this.#unfinished.see(text);
    const usage = usageOfEvent(text, this.#isTranscribing);
    if (usage !== undefined) this.#trip.charge(usage, this.#gateway);
  }

  #answerHeaders({ allowance, head, target }: Granted<WebSocketConnection>): string[] {
    const { matches, told } = this.#trip.consumer ?? { matches: allowance.matches, told: this.#snapshot.toldLimits };
    const headers = ['x-request-id', this.#exchange.id, ...fixedHeaderList];
    headers.push(...rateLimitHeaders(allowance.matches, matches, Math.floor(this.#gateway.nowMs()), told));
    headers.push(...Object.entries(providerHeaders(head, target.upstream.secrets)).flat());
    return headers;
  }

  #refuse(error: unknown): void {
    const { id } = this.#exchange;
    if (!(error instanceof Refusal)) this.#gateway.reportFailure(error, id);
    try {
      const refused = answerRefusal(error, this.#exchange, this.#gateway.nowMs());
      this.#trip.end(refused.status, refused, this.#gateway);
    } catch (further) {
      this.#gateway.reportFailure(further, id);
      this.#handshake.socket.destroy();
      this.#trip.end(500, undefined, this.#gateway);
    }
    this.#giveSlot?.();
    this.#keeper.over(undefined);
  }

  #end(closing: Closing): void {
    this.#unwatch?.();
    const provider = this.#trip.accepted?.target.upstream.name;
    const isOfProvider = closing.error?.startsWith('upstream_') === true && provider !== undefined;
    const details = { ...(isOfProvider ? { provider } : {}), fill: { reason: closing.toClient.reason } };
    const refused = closing.error === undefined ? undefined : refusal(closing.error, details);
    const unfinished = this.#unfinished.usage();
    if (unfinished !== undefined) this.#trip.charge(unfinished, this.#gateway);
    this.#trip.end(refused?.status ?? 101, refused, this.#gateway);
    this.#giveSlot?.();
    this.#keeper.over(closing);
  }

  #parts(): Parameters<typeof dialTarget>[3] {
    const { pools, telemetry } = this.#gateway;
    return { pools, telemetry, nowMs: () => this.#gateway.nowMs() };
  }
}

/** Errors of providers are short. Bytes. */
const longestError = 64 * 1024;
