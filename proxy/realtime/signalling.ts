// What sessions begin with that are not held by the gateway: secrets for browsers, and calls over WebRTC. One request each, asked whole.

import { Refusal, refusal } from '../errors.ts';
import type { Gateway } from '../gateway.ts';
import { fixedHeaderList } from '../http/answer-headers.ts';
import { answerRefusal } from '../http/answer-refusal.ts';
import type { Exchange } from '../http/exchange.ts';
import { expectLength, readBody } from '../http/read-body.ts';
import { referencesOfBody } from '../kept/objects/body-references.ts';
import { claim } from '../kept/objects/claim.ts';
import { checkBody } from '../kept/objects/gated-body.ts';
import { ownerOf, seesAll } from '../kept/owner.ts';
import { rateLimitHeaders } from '../limits/headers.ts';
import { failureRefusal, invalid, wholeRejection } from '../providers/provider-error.ts';
import { providerHeaders } from '../providers/upstream-id.ts';
import type { Target } from '../snapshot/snapshot.ts';
import { authenticate, type Principal } from '../stages/authenticate.ts';
import { noHead } from '../upstream/answer-head.ts';
import type { ApiKey } from '../upstream/api-keys.ts';
import { readWhole, type WholeAnswer } from '../upstream/read-whole.ts';
import { askTargets, type Granted, type Reply } from './ask-targets.ts';
import { realtimeHeaders, realtimePath, realtimeSpeech } from './dial-target.ts';
import { furtherQuery, queryOf } from './query.ts';
import { RealtimeTrip } from './realtime-trip.ts';
import { type NamedModel, namedModel } from './session-model.ts';

export interface SignallingDoor {
  readonly path: string;
  /** Below the path of realtime at a provider. */
  readonly below: string;
  /** It takes and gives descriptions of calls (SDP) besides JSON. */
  readonly takesSdp: boolean;
}

/** All are asked with POST. */
export const signallingDoors: readonly SignallingDoor[] = [
  { path: '/v1/realtime/client_secrets', below: '/client_secrets', takesSdp: false },
  { path: '/v1/realtime/calls', below: '/calls', takesSdp: true },
];

/** Of a body, and of its answer. Bytes. */
const mostBytes = 1024 * 1024;
const callId = /^[A-Za-z0-9_-]{1,128}$/;

/** Serves one request, whatever happens. */
export function serveSignalling(door: SignallingDoor, exchange: Exchange, gateway: Gateway): void {
  gateway.metrics.requests.begin();
  const trip = new RealtimeTrip(door.path, 'POST', exchange, gateway.current());
  void new Signalling(door, trip, gateway).serve();
}

class Signalling {
  readonly #door: SignallingDoor;
  readonly #trip: RealtimeTrip;
  readonly #gateway: Gateway;

  constructor(door: SignallingDoor, trip: RealtimeTrip, gateway: Gateway) {
    this.#door = door;
    this.#trip = trip;
    this.#gateway = gateway;
  }

  async serve(): Promise<void> {
    const { exchange } = this.#trip;
    try {
      const granted = await this.#ask();
      if (exchange.gone) throw refusal('client_left');
      this.#answer(granted);
    } catch (error) {
      this.#refuse(error);
    }
  }

  #refuse(error: unknown): void {
    const { exchange } = this.#trip;
    if (!(error instanceof Refusal)) this.#gateway.reportFailure(error, exchange.id);
    try {
      const refused = answerRefusal(error, exchange, this.#gateway.nowMs());
      this.#trip.end(refused.status, refused, this.#gateway);
    } catch (further) {
      this.#gateway.reportFailure(further, exchange.id);
      exchange.response.destroy();
      this.#trip.end(500, undefined, this.#gateway);
    }
  }

  async #ask(): Promise<Granted<WholeAnswer>> {
    const { exchange, snapshot } = this.#trip;
    const { overload, bodies } = this.#gateway;
    if (overload.isOverloaded()) throw refusal('overloaded', { headers: { 'retry-after': '1' } });
    const principal = authenticate(exchange, snapshot.credentials, this.#gateway);
    this.#trip.takeCaller(principal, this.#gateway);
    if (exchange.head.contentEncoding !== undefined) throw refusal('unsupported_encoding');
    const limit = { bytes: mostBytes, setting: '' };
    expectLength(exchange.head, limit);
    const held = bodies.open(principal.keyId ?? principal.userPath, snapshot);
    try {
      const body = await readBody(exchange, limit, held);
      const query = queryOf(exchange.request.url ?? '');
      const contentType = exchange.head.contentType ?? '';
      const named = namedModel({ contentType, body, query }, this.#door.takesSdp);
      await this.#claim(body, contentType, principal);
      const { route, consumer } = this.#trip.admit(named.model, this.#gateway, query);
      const ask = (target: Target, key: ApiKey, signal: AbortSignal) => this.#askTarget(target, key, named, signal);
      const question = { route, consumer, exchange, ask };
      const granted = await askTargets(question, this.#trip.failed, this.#gateway);
      this.#trip.accepted = granted;
      return granted;
    } finally {
      exchange.waiting = undefined;
      held.release();
    }
  }

  /** Rejects with 404 `kept_not_found` for a voice, a file or another object that is not the caller's. */
  async #claim(body: Buffer, contentType: string, principal: Principal): Promise<void> {
    if (seesAll(principal)) return;
    const { snapshot } = this.#trip;
    await checkBody(body, {
      reader: referencesOfBody(contentType),
      encoding: undefined,
      mostBytes,
      check: (references) => claim(references, { principal, snapshot, provider: undefined }, this.#gateway),
    });
  }

  async #askTarget(target: Target, key: ApiKey, named: NamedModel, signal: AbortSignal): Promise<Reply<WholeAnswer>> {
    const { upstream, model } = target;
    const { exchange } = this.#trip;
    const speech = realtimeSpeech(target);
    const further = furtherQuery(queryOf(exchange.request.url ?? ''));
    const members = named.isInQuery ? [['model', model], ...further] : [...further];
    const headers = realtimeHeaders(target, key, exchange);
    headers.push('content-type', exchange.head.contentType ?? '', 'accept-encoding', 'identity');
    const spanId = this.#gateway.telemetry?.propagate(exchange, headers);
    const question = {
      method: 'POST',
      path: realtimePath(speech, this.#door.below, members),
      headers,
      body: named.bodyFor(model),
      mostBytes,
      signal,
    } as const;
    const { pools, deadlines } = this.#gateway;
    const answer = await readWhole(pools.get(upstream), question, upstream.patience, deadlines);
    if (answer.failure !== undefined) {
      const failure = { failure: answer.failure, sent: answer.sent, isStale: false };
      return { status: 0, head: noHead, spanId, refused: failureRefusal(failure, upstream, noHead), failure };
    }
    const { status, head } = answer;
    const isFine = status >= 200 && status < 300;
    if (isFine && (this.#door.takesSdp || isJson.test(head.contentType ?? '')))
      return { status, head, spanId, value: answer };
    const nowMs = (): number => this.#gateway.nowMs();
    const refused =
      wholeRejection(answer, speech.speaker, nowMs) ?? invalid(answer, upstream, `its status is ${status}`);
    return { status, head, spanId, refused, failure: undefined };
  }

  #answer({ value: { status, head, body }, allowance, target }: Granted<WholeAnswer>): void {
    const { exchange, consumer, snapshot } = this.#trip;
    const { matches, told } = consumer ?? { matches: allowance.matches, told: snapshot.toldLimits };
    const headers = ['x-request-id', exchange.id, ...fixedHeaderList];
    headers.push(...rateLimitHeaders(allowance.matches, matches, Math.floor(this.#gateway.nowMs()), told));
    if (head.contentType !== undefined) headers.push('content-type', head.contentType);
    headers.push('content-length', String(body.length));
    const id = head.location?.split('?', 1)[0]?.split('/').at(-1) ?? '';
    if (callId.test(id)) {
      headers.push('location', `${this.#door.path}/${id}`);
      // Later it is controlled at the provider, through /p.
      const { principal } = this.#trip;
      const owner = principal === undefined ? '/' : ownerOf(principal);
      const home = { provider: target.upstream.name, key: '', isBatchInput: false };
      this.#gateway.homes.remember('call', id, owner, home);
    }
    headers.push(...Object.entries(providerHeaders(head, target.upstream.secrets)).flat());
    exchange.response.writeHead(status, headers);
    exchange.response.end(body);
    this.#trip.end(status, undefined, this.#gateway);
  }
}

const isJson = /\bjson\b/i;
