// Trips to the doors whose words are passed on as they are, while they still come: what each stage of the line does for them.

import type { KeyUses } from '../../plane/access/key-uses.ts';
import { type Member, scanObject } from '../bytes/scan.ts';
import { ScanError } from '../bytes/scan-error.ts';
import { type Call, readCall } from '../call/call.ts';
import { checkPath, pathOf } from '../call/head.ts';
import { isTextType } from '../capture/text-type.ts';
import { Refusal, refusal } from '../errors.ts';
import type { BodyBudget } from '../http/body-budget.ts';
import type { Exchange, Waiting } from '../http/exchange.ts';
import { expectLength } from '../http/read-body.ts';
import { rulesOfTarget } from '../limits/counted-rules.ts';
import type { Matches } from '../limits/match.ts';
import { aimForClient } from '../opaque/aim-for-client.ts';
import {
  type AskedTarget,
  attemptOpaque,
  type FailedOpaque,
  type OpaqueAttempt,
  type OpaqueCaller,
} from '../opaque/attempt-opaque.ts';
import { ClientBody } from '../opaque/client-body.ts';
import { deliverOpaque } from '../opaque/deliver-opaque.ts';
import type { Aim, DoorParts, OpaqueDoor, OpaqueTarget } from '../opaque/door.ts';
import { followed } from '../pacing/slices.ts';
import type { Snapshot, Target } from '../snapshot/snapshot.ts';
import { reserve } from '../stages/admit.ts';
import { type AuthenticateParts, authenticate } from '../stages/authenticate.ts';
import { type ExpectedOf, expectedOf } from '../stages/expect.ts';
import { isShort } from '../stages/foresee.ts';
import { type Delivery, relay } from '../stages/relay.ts';
import { asksForAlias } from '../stages/resolve.ts';
import { setAsideMoney } from '../stages/set-aside-money.ts';
import type { SettledAnswer } from '../stages/settle.ts';
import { isFree, isToldLater } from '../tokens/measure.ts';
import type { Deadlines } from '../upstream/deadlines.ts';
import type { OpaqueMethod } from '../upstream/send-opaque.ts';
import type { TripKind } from './kind.ts';
import type { PipelineParts } from './pipeline.ts';
import { outsideOf } from './question/outside-of.ts';
import { refuseClient } from './refuse-client.ts';
import { Trip } from './trip.ts';

/** How long the beginning of a body is waited for, in milliseconds: nearly all clients send it with the head. */
const patienceMs = 200;

type Answered = SettledAnswer & Pick<AskedTarget, 'target'>;

/** The parts that the stages need, and those that count a call when its caller is known. */
export type OpaqueParts = AuthenticateParts &
  DoorParts &
  PipelineParts &
  Parameters<typeof attemptOpaque>[3] &
  Parameters<typeof deliverOpaque>[2] &
  Parameters<typeof relay>[2] &
  Parameters<typeof outsideOf>[1] & {
    readonly bodies: BodyBudget;
    readonly keyUses: KeyUses;
  };

export class OpaqueTrip extends Trip<Exchange, Answered, FailedOpaque> implements OpaqueCaller, Waiting {
  readonly door: OpaqueDoor;
  readonly method: OpaqueMethod;
  readonly asked: { readonly method: string; readonly path: string };
  readonly body: ClientBody;
  /** Stage 3: all of the body, where it is short and was there soon. */
  short: Buffer | undefined;
  /** Stage 4: where it goes. */
  aim: Aim | undefined;
  /** The model that was asked for, where no target was found. */
  asks: Aim['call'];
  /** Stage 7: undefined: no target was asked. */
  attempt: OpaqueAttempt | undefined;
  /** Stage 9. */
  isOver = false;
  /** The fault of the client; undefined: none. */
  fault: Refusal | undefined;
  readonly #broken = Promise.withResolvers<never>();

  constructor(door: OpaqueDoor, exchange: Exchange, snapshot: Snapshot, deadlines: Deadlines) {
    super(exchange, snapshot);
    const { method = '', url = '' } = exchange.request;
    this.door = door;
    this.method = method as OpaqueMethod;
    this.asked = { method, path: pathOf(url) };
    const setting = `server.${door.bodySetting}`;
    const bytes = door.bodySetting === 'upload_limit' ? snapshot.uploadLimitBytes : snapshot.bodyLimitBytes;
    const bounds = { limit: { bytes, setting }, pauseMs: snapshot.timeouts.bodyMs };
    this.body = new ClientBody(exchange, bounds, deadlines, (refused) => this.broken(refused));
    this.#broken.promise.catch(() => undefined);
    exchange.waiting = this;
  }

  get path(): string {
    return this.door.path;
  }

  get remembered(): Target | undefined {
    return this.accepted?.target.remembered;
  }

  get call(): Aim['call'] {
    return this.aim === undefined ? this.asks : this.aim.call;
  }

  get isAlias(): boolean | undefined {
    if (this.door.models !== undefined) return asksForAlias(this.call, this.snapshot, this.principal?.userPath);
    return this.call === undefined ? undefined : false;
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

  gone(): void {
    this.broken(refusal('client_left'));
  }

  /** Nothing more comes of the request. */
  broken(refused: Refusal): void {
    this.fault ??= refused;
    // Of an answer that has begun, only the end of its connection can tell.
    if (this.accepted !== undefined) this.exchange.response.destroy();
    else if (this.attempt === undefined) this.#broken.reject(refused);
    else this.attempt.cancel();
  }

  /** While a provider takes the body, that is bounded by pauses, and in all by timeouts.total of the provider. */
  excuses(): boolean {
    return this.attempt !== undefined && !this.isOver;
  }

  /** The work that is waited for; rejects when nothing more comes of the request. */
  async unlessBroken<Value>(value: Value | Promise<Value>): Promise<Value> {
    return value instanceof Promise ? await Promise.race([value, this.#broken.promise]) : value;
  }
}

/** The spec of opaque calls. Its functions throw, or reject with, a Refusal. */
export function opaqueKind(parts: OpaqueParts): TripKind<OpaqueTrip, Delivery> {
  const gather = (trip: OpaqueTrip): Promise<Buffer | undefined> =>
    trip.unlessBroken(trip.body.gather(trip.door.shortBytes, patienceMs));
  return {
    isOfClient: true,
    isSession: false,
    checkHead({ asked, body, door, exchange, snapshot }) {
      if (!door.isOpen(snapshot)) throw refusal('route_not_found', { fill: asked });
      expectLength(exchange.head, body.limit);
    },
    identify(trip) {
      const { body, exchange, snapshot } = trip;
      return followed(authenticate(exchange, snapshot.credentials, parts), (principal) => {
        trip.principal = principal;
        const { keyId, userPath } = principal;
        parts.keyUses.note(keyId, exchange.startedAtMs);
        trip.capture = parts.records.capture(snapshot, userPath);
        if (isTextType(exchange.head.contentType)) body.seen = trip.capture?.passRequest;
        trip.held = parts.bodies.open(keyId ?? userPath, snapshot);
      });
    },
    admission: ({ door: { counts } }) => ({ rules: counts, hasBudget: counts !== 'nothing' }),
    entersLate: () => false,
    async foresee(trip) {
      trip.short = isShort(trip.exchange) ? await gather(trip) : undefined;
      const call = trip.short && callIn(trip.short);
      trip.asks ??= call;
      return trip.door.models === undefined ? undefined : call;
    },
    async receive(trip) {
      // At /p the path is the name of what is asked for, and a stranger learns nothing of names.
      checkPath(trip.exchange.request);
      trip.short = await gather(trip);
      if (trip.short !== undefined) trip.held?.grow(trip.short.length);
    },
    resolve: (trip) => takeAim(trip, parts),
    // Doors look at what passes, while it passes.
    guard: () => undefined,
    lookUp: () => undefined,
    attempt: (trip) => askTargets(trip, parts),
    async relay(trip, delivery) {
      const ending = await relay(delivery, trip.exchange, parts);
      end(trip);
      return ending;
    },
    refuse(trip, error) {
      end(trip);
      if (trip.aim === undefined && trip.short !== undefined) trip.asks ??= callIn(trip.short);
      return refuseClient(trip.exchange, error, parts);
    },
    close: () => undefined,
  };
}

/** Nothing more comes of it. The record says the model that a long body has asked for, and what that costs. */
function end(trip: OpaqueTrip): void {
  const { accepted, aim } = trip;
  trip.isOver = true;
  trip.body.destroy();
  const named = aim?.namedLate?.();
  if (aim === undefined || named === undefined) return;
  trip.aim = { ...aim, call: { model: named.model, stream: false } };
  if (accepted !== undefined) trip.accepted = { ...accepted, target: { ...accepted.target, ...named } };
}

async function takeAim(trip: OpaqueTrip, parts: OpaqueParts): Promise<void> {
  const { body, caller: principal, capture, door, exchange, held, method, short, snapshot } = trip;
  if (held === undefined) throw new Error('a body was read before its caller was known');
  const knock = {
    method,
    exchange,
    snapshot,
    principal,
    body,
    short,
    held,
    readsUsage: parts.usageEnabled,
    capture,
    outside: outsideOf({ exchange, principal, snapshot, call: undefined }, parts),
    noteAsked: (asks: NonNullable<Aim['call']>) => {
      trip.asks = asks;
    },
    noteGuarding: (rails: NonNullable<OpaqueTrip['guarding']>) => {
      trip.guarding = rails;
    },
  };
  trip.aim = aimForClient(await trip.unlessBroken(door.aim(knock, parts)), trip);
}

async function askTargets(trip: OpaqueTrip, parts: OpaqueParts): Promise<Delivery> {
  const { admitted, aim } = trip;
  if (aim === undefined) throw new Error('a call was made before it had an aim');
  const priced = askedOfPassed(trip, aim);
  trip.expected = priced && expectedOf(priced, parts.limiter);
  const matchesOf = (target: OpaqueTarget): Matches => rulesOfTarget(trip.door.counts, target, parts.limiter);
  const reserved = reserve(admitted, { targets: aim.targets, matchesOf, expected: trip.expected }, parts);
  if (reserved !== undefined) await trip.unlessBroken(reserved);
  const paid = setAsideMoney(trip, { targets: aim.targets, asked: priced }, parts);
  if (paid !== undefined) await trip.unlessBroken(paid);
  trip.isAsked = true;
  trip.attempt = attemptOpaque(aim, admitted, trip, parts);
  const { reply, ...asked } = await trip.attempt.answered;
  try {
    trip.accepted = { ...asked, refused: undefined, answer: reply.answer };
    const { delivery, usage } = deliverOpaque({ reply, ...asked }, trip, parts);
    trip.usage = usage;
    return watched(trip, delivery);
  } catch (error) {
    reply.answer.cancel();
    throw error;
  }
}

/** Undefined: it costs nothing, or what it costs is told later. Of a body that is still coming, its announced length is known. */
function askedOfPassed(trip: OpaqueTrip, aim: Aim): ExpectedOf | undefined {
  if (trip.isFree || trip.costsLater) return undefined;
  const { caller, door, exchange, short } = trip;
  const { contentLength, contentType } = exchange.head;
  const members = short === undefined || short.length === 0 ? undefined : membersOf(short);
  return {
    operation: aim.operation ?? door.path.slice(door.path.lastIndexOf('/') + 1),
    body: short === undefined || members === undefined ? undefined : { body: short, members },
    length: short?.length ?? contentLength ?? 0,
    isText: contentType === undefined || isTextType(contentType),
    consumer: caller.userPath,
  };
}

/** Undefined: the body is no JSON object. */
function membersOf(body: Buffer): Member[] | undefined {
  try {
    return scanObject(body);
  } catch (error) {
    if (error instanceof ScanError) return undefined;
    throw error;
  }
}

/** The delivery, and what is recorded of it. */
function watched({ aim, capture }: OpaqueTrip, delivery: Delivery): Delivery {
  if (capture === undefined) return delivery;
  return { ...delivery, taps: [...delivery.taps, capture.tapOf(delivery.answer, aim?.operation)] };
}

/** The call of a model in a body; undefined: the body is none. */
function callIn(body: Buffer): Call | undefined {
  try {
    return readCall(body);
  } catch (error) {
    if (error instanceof Refusal) return undefined;
    throw error;
  }
}
