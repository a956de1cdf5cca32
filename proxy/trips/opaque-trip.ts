// An opaque call on its way: all that is known of it so far, and what happens when a step of it fails, or its client does.

import { type Call, readCall } from '../call/call.ts';
import { pathOf } from '../call/head.ts';
import type { BodyCapture } from '../capture/body-capture.ts';
import { isTextType } from '../capture/text-type.ts';
import { Refusal, refusal } from '../errors.ts';
import type { Gateway } from '../gateway.ts';
import type { Outside } from '../guardrails/outside.ts';
import { answerRefusal } from '../http/answer-refusal.ts';
import type { HeldBody } from '../http/body-budget.ts';
import type { Exchange, Waiting } from '../http/exchange.ts';
import type { AskedTarget, FailedOpaque, OpaqueAttempt, OpaqueCaller } from '../opaque/attempt-opaque.ts';
import { ClientBody } from '../opaque/client-body.ts';
import type { Aim, OpaqueDoor } from '../opaque/door.ts';
import type { RecordedGuarding } from '../records/guarded-data.ts';
import type { ConsumerAllowance } from '../routing/limit-refusal.ts';
import type { Snapshot, Target } from '../snapshot/snapshot.ts';
import type { Principal } from '../stages/authenticate.ts';
import type { Delivery, Ending } from '../stages/relay.ts';
import { asksForAlias } from '../stages/resolve.ts';
import { type SettledAnswer, settle, type Trip } from '../stages/settle.ts';
import { isFree, isToldLater } from '../tokens/measure.ts';
import type { UsageSource } from '../tokens/token-usage.ts';
import type { OpaqueMethod } from '../upstream/send-opaque.ts';
import { outsideOf } from './question/outside-of.ts';
import { type Step, Stepping } from './stepping.ts';

/** How a trip ends when not even a refusal could be written. */
const unanswered: Ending = { status: 500, headers: [], refused: undefined };

export class OpaqueTrip extends Stepping implements Trip, OpaqueCaller, Waiting {
  readonly door: OpaqueDoor;
  readonly exchange: Exchange;
  readonly gateway: Gateway;
  readonly snapshot: Snapshot;
  readonly method: OpaqueMethod;
  readonly asked: { readonly method: string; readonly path: string };
  readonly body: ClientBody;
  readonly failed: FailedOpaque[] = [];
  principal: Principal | undefined;
  consumer: ConsumerAllowance | undefined;
  held: HeldBody | undefined;
  aim: Aim | undefined;
  /** All of the body, where it is short and was there soon. */
  short: Buffer | undefined;
  accepted: (SettledAnswer & Pick<AskedTarget, 'target'>) | undefined;
  usage: UsageSource | undefined;
  ending = unanswered;
  fault: Refusal | undefined;
  /** What guardrails said of it, where they look at what passes; undefined: none does. */
  guarding: RecordedGuarding | undefined;
  capture: BodyCapture | undefined;
  /** Undefined: no provider was asked. */
  attempt: OpaqueAttempt | undefined;
  /** What it asks for, of a call that has no aim. */
  #asks: Aim['call'];
  #isOver = false;

  constructor(door: OpaqueDoor, exchange: Exchange, gateway: Gateway) {
    super();
    const { method = '', url = '' } = exchange.request;
    const snapshot = gateway.current();
    this.door = door;
    this.exchange = exchange;
    this.gateway = gateway;
    this.snapshot = snapshot;
    this.method = method as OpaqueMethod;
    this.asked = { method, path: pathOf(url) };
    const setting = `server.${door.bodySetting}`;
    const bytes = door.bodySetting === 'upload_limit' ? snapshot.uploadLimitBytes : snapshot.bodyLimitBytes;
    const bounds = { limit: { bytes, setting }, pauseMs: snapshot.timeouts.bodyMs };
    this.body = new ClientBody(exchange, bounds, gateway.deadlines, (refused) => this.broken(refused));
    exchange.waiting = this;
  }

  get path(): string {
    return this.door.path;
  }

  /** What guardrails may ask for this call. */
  get outside(): Outside {
    const { exchange, principal, snapshot } = this;
    if (principal === undefined) throw new Error('the caller of the request is not known yet');
    return outsideOf({ exchange, principal, snapshot, call: undefined }, this.gateway);
  }

  get remembered(): Target | undefined {
    return this.accepted?.target.remembered;
  }

  get call(): Aim['call'] {
    return this.aim === undefined ? this.#asks : this.aim.call;
  }

  get isAlias(): boolean | undefined {
    if (this.door.models !== undefined) return asksForAlias(this.call, this.snapshot, this.principal?.userPath);
    return this.call === undefined ? undefined : false;
  }

  get route(): undefined {
    return undefined;
  }

  /** It reads, deletes or uploads, or counts tokens. */
  get isFree(): boolean {
    return this.method !== 'POST' || this.door.counts === 'nothing' || isFree(this.aim?.operation);
  }

  /** A batch, or a response that is made in the background. */
  get costsLater(): boolean {
    const { aim, door, short: body } = this;
    if (door.counts === 'user_paths') return true;
    return body !== undefined && isToldLater({ operation: aim?.operation ?? '', call: { body } });
  }

  /** Takes a part of the line, unless all is over. */
  override step<Value>(part: Step<this, Value>, value: Value): void {
    if (!this.#isOver) super.step(part, value);
  }

  /** Who calls; the key counts as used from here on. */
  takeCaller(principal: Principal): void {
    this.principal = principal;
    this.gateway.keyUses.note(principal.keyId, this.exchange.startedAtMs);
    this.capture = this.gateway.records.capture(this.snapshot, principal.userPath);
    if (isTextType(this.exchange.head.contentType)) this.body.seen = this.capture?.passRequest;
  }

  noteAsked(asks: Aim['call']): void {
    this.#asks = asks;
  }

  gone(): void {
    this.broken(refusal('client_left'));
  }

  /** Nothing more comes of the request. */
  broken(refused: Refusal): void {
    this.fault ??= refused;
    // Of an answer that has begun, only the end of its connection can tell.
    if (this.accepted !== undefined) this.exchange.response.destroy();
    else if (this.attempt === undefined) this.refuse(refused);
    else this.attempt.cancel();
  }

  /** While a provider takes the body, that is bounded by pauses, and in all by timeouts.total of the provider. */
  excuses(): boolean {
    return this.attempt !== undefined && !this.#isOver;
  }

  /** The delivery, and what is recorded of it. */
  watched(delivery: Delivery): Delivery {
    const { aim, capture } = this;
    if (capture === undefined) return delivery;
    return { ...delivery, taps: [...delivery.taps, capture.tapOf(delivery.answer, aim?.operation)] };
  }

  refuse(error: unknown): void {
    if (this.#isOver) return;
    const { consumer, exchange, gateway } = this;
    this.body.destroy();
    if (this.aim === undefined && this.short !== undefined) this.#asks ??= callIn(this.short);
    if (this.accepted !== undefined) this.attempt?.cancel();
    try {
      if (this.attempt === undefined) consumer?.lease.refund(Math.floor(gateway.nowMs()));
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
    this.#isOver = true;
    this.held?.release();
    this.body.destroy();
    this.#nameLate();
    try {
      settle(this, this.gateway);
    } catch (error) {
      this.#giveUp(error);
    }
    this.capture?.release();
  }

  /** The record says the model that a long body has asked for, and what that costs. */
  #nameLate(): void {
    const { accepted, aim } = this;
    const named = aim?.namedLate?.();
    if (aim === undefined || named === undefined) return;
    this.aim = { ...aim, call: { model: named.model, stream: false } };
    if (accepted !== undefined) this.accepted = { ...accepted, target: { ...accepted.target, ...named } };
  }

  /** Nothing can be answered: a client must not wait for it. */
  #giveUp(error: unknown): void {
    this.gateway.reportFailure(error, this.exchange.id);
    this.exchange.response.destroy();
  }
}

/** What a body says as a model call; undefined: it is none. */
function callIn(body: Buffer): Call | undefined {
  try {
    return readCall(body);
  } catch (error) {
    if (error instanceof Refusal) return undefined;
    throw error;
  }
}
