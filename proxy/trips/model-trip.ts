// A model request on its way: all that is known of it so far, and what happens when a step of it fails. One object serves all steps, and
// takes what they wait for, so that a request needs no promise.

import { type Caching, openCaching } from '../cache/caching.ts';
import type { Embedder } from '../cache/embedding.ts';
import type { Call } from '../call/call.ts';
import type { BodyCapture } from '../capture/body-capture.ts';
import type { ModelEndpoint, ModelRow } from '../endpoints/model-endpoints.ts';
import { rowOf } from '../endpoints/row-of.ts';
import { Refusal } from '../errors.ts';
import { type ExplainedRequest, explainOnItsWay } from '../explain/explained-request.ts';
import type { Gateway } from '../gateway.ts';
import type { Guarding } from '../guardrails/guarding.ts';
import type { Outside } from '../guardrails/outside.ts';
import { answerRefusal } from '../http/answer-refusal.ts';
import type { HeldBody } from '../http/body-budget.ts';
import type { Exchange } from '../http/exchange.ts';
import type { BodyTaker } from '../http/read-body.ts';
import type { RecordedEnd } from '../records/record-of-trip.ts';
import type { ConsumerAllowance } from '../routing/limit-refusal.ts';
import type { Route, Snapshot, Target } from '../snapshot/snapshot.ts';
import type { Accepted, FailedAttempt } from '../stages/attempts.ts';
import type { Principal } from '../stages/authenticate.ts';
import { settleCache } from '../stages/cache/keep-cached.ts';
import type { Delivery, Ending } from '../stages/relay.ts';
import { asksForAlias } from '../stages/resolve.ts';
import { settle, type Trip } from '../stages/settle.ts';
import { isFree, isToldLater } from '../tokens/measure.ts';
import type { UsageSource } from '../tokens/token-usage.ts';
import { embedderOf } from './question/embedder-of.ts';
import { outsideOf } from './question/outside-of.ts';
import type { ServedRequest } from './question/question.ts';
import { type Step, Stepping } from './stepping.ts';

/** The parts of the line that begin when something has come. */
export interface Line {
  readonly head: Step<OpenTrip, undefined>;
  readonly body: Step<OpenTrip, Buffer>;
}

/** How a trip ends when not even a refusal could be written. */
const unanswered: Ending = { status: 500, headers: [], refused: undefined };

export class OpenTrip extends Stepping implements Trip, BodyTaker {
  readonly endpoint: ModelEndpoint;
  readonly exchange: Exchange;
  readonly gateway: Gateway;
  readonly snapshot: Snapshot;
  readonly failed: FailedAttempt[] = [];
  principal: Principal | undefined;
  consumer: ConsumerAllowance | undefined;
  held: HeldBody | undefined;
  call: Call | undefined;
  /** How it is served: before the call is known, as the endpoint says. */
  row: ModelRow;
  route: Route | undefined;
  /** The guardrails that hold for it; undefined: none, or it is not known yet. */
  guarding: Guarding | undefined;
  accepted: Accepted | undefined;
  usage: UsageSource | undefined;
  /** Of a request that asked for an explanation. */
  explained: ExplainedRequest | undefined;
  capture: BodyCapture | undefined;
  /** Undefined: the cache is off for it. */
  caching: Caching | undefined;
  ending = unanswered;
  readonly #line: Line;

  constructor(endpoint: ModelEndpoint, exchange: Exchange, gateway: Gateway, line: Line) {
    super();
    this.endpoint = endpoint;
    this.row = endpoint;
    this.exchange = exchange;
    this.gateway = gateway;
    this.snapshot = gateway.current();
    this.#line = line;
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

  /** The consumer of a request whose body was read. */
  get admitted(): ConsumerAllowance {
    if (this.consumer === undefined) throw new Error('a body was read before the consumer was admitted');
    return this.consumer;
  }

  /** What guardrails may ask for this request. */
  get outside(): Outside {
    return outsideOf(this.#served, this.gateway);
  }

  /** Asks a model for embeddings for this request. */
  embedder(model: string): Embedder {
    return embedderOf(model, this.#served, this.gateway);
  }

  get #served(): ServedRequest & { readonly exchange: Exchange } {
    const { exchange, principal, snapshot, call } = this;
    if (principal === undefined) throw new Error('the caller of the request is not known yet');
    return { exchange, principal, snapshot, call };
  }

  get remembered(): Target | undefined {
    return this.accepted?.target;
  }

  /** Who calls; the key counts as used from here on. Gives the room for its body. */
  takeCaller(principal: Principal): HeldBody {
    this.principal = principal;
    this.gateway.keyUses.note(principal.keyId, this.exchange.startedAtMs);
    const { exchange, snapshot, path } = this;
    this.capture = this.gateway.records.capture(snapshot, principal.userPath);
    this.caching = openCaching(this.endpoint, principal, snapshot.cache);
    if (exchange.head.wantsExplanation)
      this.explained = explainOnItsWay({ exchange, principal, snapshot, path }, this.gateway);
    this.held = this.gateway.bodies.open(principal.keyId ?? principal.userPath, snapshot);
    return this.held;
  }

  noteAsked(call: Call): void {
    this.call = call;
  }

  noteBody(body: Buffer): void {
    this.capture?.takeRequest(body);
  }

  /** The body was read. */
  takeCall(call: Call): void {
    this.call = call;
    this.row = rowOf(this.endpoint, call);
    this.explained?.called(call);
  }

  takeBody(body: Buffer): void {
    this.noteBody(body);
    this.step(this.#line.body, body);
  }

  /** The delivery, and what is recorded of it: with or without what guardrails have masked, as the audit wants it. */
  watched(delivery: Delivery, words: 'masked' | 'original'): Delivery {
    const { capture, row } = this;
    const isWanted = this.snapshot.audit.hasOriginals === (words === 'original');
    if (capture === undefined || !isWanted) return delivery;
    return { ...delivery, taps: [...delivery.taps, capture.tapOf(delivery.answer, row.operation)] };
  }

  /** Refuses with what it resolves to, or rejects with. */
  refuseWith(refusing: Promise<Refusal>): void {
    const refuse = (reason: unknown): void => this.refuse(reason);
    refusing.then(refuse, refuse);
  }

  refuse(error: unknown): void {
    const { consumer, exchange, gateway } = this;
    try {
      // Without a route no provider was called; with one, the attempt knows whether.
      if (this.route === undefined) consumer?.lease.refund(Math.floor(gateway.nowMs()));
      if (!(error instanceof Refusal)) gateway.reportFailure(error, exchange.id);
      const refused = answerRefusal(error, exchange, gateway.nowMs());
      this.ending = { status: refused.status, headers: [], refused };
    } catch (further) {
      this.#giveUp(further);
    }
    this.end(this.ending);
  }

  /** The end, however it came about: gives back what was held, and has it counted. */
  end(ending: Ending): void {
    this.ending = ending;
    this.held?.release();
    try {
      // Requests that wait for this one's answer are told of its end, whatever fails.
      let counted: RecordedEnd | undefined;
      try {
        counted = settle(this, this.gateway);
      } finally {
        settleCache(this, counted, this.gateway);
      }
      this.explained?.ended(this);
    } catch (error) {
      this.#giveUp(error);
    }
    this.capture?.release();
  }

  /** Nothing can be answered: a client must not wait for it. */
  #giveUp(error: unknown): void {
    this.gateway.reportFailure(error, this.exchange.id);
    this.exchange.response.destroy();
  }
}
