// Sends copies of requests to the mirrors of their aliases: which ones, whether the gateway has room for them, and what came of it. A client
// neither waits for its copy nor pays for it, and nothing that fails here reaches one.
import { hash } from 'node:crypto';
import { mirrorPath } from '../../../domain/records/mirror-record.ts';
import { isWithin } from '../../../domain/user-path.ts';
import type { Tap } from '../../answer.ts';
import type { Call } from '../../call/call.ts';
import type { CaptureBudget } from '../../capture/capture-budget.ts';
import type { ModelRow } from '../../endpoints/model-endpoints.ts';
import { Refusal, refusal } from '../../errors.ts';
import type { BodyBudget } from '../../http/body-budget.ts';
import type { Exchange } from '../../http/exchange.ts';
import type { RecordedEnd, RecordedTrip } from '../../records/record-of-trip.ts';
import type { MirrorPlace, Route, Snapshot } from '../../snapshot/snapshot.ts';
import type { Principal } from '../../stages/authenticate.ts';
import type { Delivery } from '../../stages/relay.ts';
import type { MirrorOutcome } from '../../tallies/mirror-tally.ts';
import type { TripKind } from '../kind.ts';
import { travel } from '../pipeline.ts';
import type { AuxiliaryParts } from '../question/question.ts';
import { AnswerText } from './answer-text.ts';
import { comparedAnswer, comparisonRecord } from './comparison.ts';
import { mayBeCopied, mayUse, refersToObjects } from './copied-request.ts';
import { type CopiedRequest, MirrorTrip, mirrorCaller, mirrorKind, requestOf } from './mirror-trip.ts';
import { similarityOf } from './similarity.ts';

/** The most copies that are open at once in a process: one more is not sent. */
export const mostOpen = 32;
/** Of the memory for bodies: no copy is sent when all requests take more than `all`, or all copies more than `own`. */
const bodyShares = { own: 1 / 8, all: 1 / 2 } as const;

export type MirrorParts = AuxiliaryParts & { readonly bodies: BodyBudget };

/** A request of a client to an alias with a mirror. */
export interface MirroredTrip extends RecordedTrip {
  readonly exchange: Exchange;
  readonly snapshot: Snapshot;
  readonly principal: Principal | undefined;
  readonly row: ModelRow;
  readonly guarded: { readonly call: Call; readonly home: object | undefined; readonly named: Route } | undefined;
  readonly guarding?: (RecordedTrip['guarding'] & { readonly readsAnswer: boolean }) | undefined;
  readonly isAsked: boolean;
  /** The text of its answer, where that is compared. */
  text: AnswerText | undefined;
}

/** All that is held of a request while its copy is on its way. */
interface Copy {
  readonly alias: string;
  readonly asked: { readonly id: string; readonly startedAtMs: number };
  /** Undefined: no target was asked. */
  readonly primary: ReturnType<typeof comparedAnswer>;
  readonly said: Said | undefined;
  readonly copied: CopiedRequest;
}

/** The texts of both answers. */
interface Said {
  readonly primary: AnswerText;
  readonly mirror: AnswerText;
}

export class Mirrors {
  readonly #captures: CaptureBudget;
  readonly #open = new Map<MirrorTrip, Promise<void>>();
  #slots = 0;
  #isEnded = false;

  constructor(captures: CaptureBudget) {
    this.#captures = captures;
  }

  /** Copies on their way. */
  get open(): number {
    return this.#slots;
  }

  /** Sees the answer that the client gets, where its text is to be compared. */
  watch(trip: MirroredTrip, delivery: Delivery): Delivery {
    const mirror = drawn(trip);
    // What guardrails may have changed for the client is not compared with what they have not seen.
    if (mirror === undefined || embedderOf(trip) === undefined || trip.guarding?.readsAnswer === true) return delivery;
    trip.text = new AnswerText(this.#captures, trip.row.operation);
    return { ...delivery, taps: [...delivery.taps, trip.text.tapOf(delivery.answer)] };
  }

  /** The client of a request has its answer. Sends the copy, where one is to be sent, and returns at once. */
  over(trip: MirroredTrip, end: RecordedEnd | undefined, parts: MirrorParts): void {
    const mirror = end !== undefined && wasServed(trip, end) && !this.#isEnded ? drawn(trip) : undefined;
    if (mirror === undefined || end === undefined) {
      trip.text?.release();
      return;
    }
    const alias = trip.guarded?.named.source ?? '';
    const obstacle = this.#obstacle(trip, mirror, parts);
    if (obstacle !== undefined) {
      trip.text?.release();
      parts.metrics.mirrors.note(alias, obstacle);
      return;
    }
    // Nothing else of the request is held from here on.
    const copy = this.#copyOf(trip, mirror, end, parts);
    this.#slots += 1;
    void this.#send(copy, parts)
      .catch((error: unknown): MirrorOutcome => {
        parts.reportFailure(error, copy.asked.id);
        return 'failed';
      })
      .then((outcome) => {
        this.#slots -= 1;
        copy.copied.held.release();
        copy.said?.primary.release();
        copy.said?.mirror.release();
        parts.metrics.mirrors.note(alias, outcome);
      });
  }

  /** The process ends: nothing more is sent. Resolves when what has come is charged and recorded. */
  async end(): Promise<void> {
    this.#isEnded = true;
    for (const trip of this.#open.keys()) trip.breakOff(refusal('client_left'));
    await Promise.all(this.#open.values());
  }

  /** Why no copy is sent; undefined: one is. Nothing is awaited. */
  #obstacle(trip: MirroredTrip, { route }: MirrorPlace, parts: MirrorParts): MirrorOutcome | undefined {
    const { guarded, principal, snapshot, row } = trip;
    const [target] = route.targets;
    if (guarded === undefined || principal === undefined || target === undefined) return 'skipped_request';
    // A copy has no credential of a client.
    if (target.upstream.clientAuth !== 'none') return 'skipped_request';
    if (guarded.home !== undefined || !mayBeCopied(guarded.call, row)) return 'skipped_request';
    if (!mayUse(principal, target, snapshot)) return 'skipped_access';
    const { bodies, overload, targets } = parts;
    const hasRoom = bodies.hasRoom(mirrorPath, guarded.call.body.length, snapshot, bodyShares);
    if (overload.isOverloaded() || this.#slots >= mostOpen || !hasRoom) return 'skipped_load';
    const isOut = targets.drainOf(target) !== undefined || !targets.of(target).isUsable(parts.nowMs());
    return isOut ? 'skipped_target' : undefined;
  }

  #copyOf(trip: MirroredTrip, { route }: MirrorPlace, end: RecordedEnd, parts: MirrorParts): Copy {
    const { guarded, exchange, principal: caller, row, snapshot, text } = trip;
    if (guarded === undefined || caller === undefined)
      throw new Error('a copy was made of a request that was not read');
    const { call, named } = guarded;
    const primary = comparedAnswer(trip, end);
    const said = text && { primary: text, mirror: new AnswerText(this.#captures, row.operation) };
    const reader = said && (({ answer }: Delivery): Tap => said.mirror.tapOf(answer));
    const request = requestOf({ exchange, caller, snapshot, call, row, route }, parts);
    const isRecorded = trip.guarding?.readsAnswer !== true || snapshot.audit.hasOriginals;
    const audited = auditedAs(caller, snapshot);
    const held = parts.bodies.open(mirrorPath, snapshot);
    held.grow(call.body.length);
    return {
      alias: named.source,
      asked: { id: exchange.id, startedAtMs: exchange.startedAtMs },
      primary,
      said,
      copied: { request, snapshot: audited, caller, row, call, route, held, reader, isRecorded },
    };
  }

  async #send({ alias, asked, primary, said, copied }: Copy, parts: MirrorParts): Promise<MirrorOutcome> {
    const { call, row } = copied;
    if (await refersToObjects(call)) return 'skipped_request';
    const trip = new MirrorTrip(copied);
    await this.#travel(trip, parts);
    const mirror = trip.end && comparedAnswer(trip, trip.end);
    if (mirror === undefined) return unsentAs(trip);
    // That says nothing of the model.
    if (trip.left?.code === 'client_left') return 'failed';
    const similarity = said && mirror.success ? await this.#compared(said, trip, parts) : undefined;
    if (primary !== undefined) {
      const compared = { alias, stream: call.stream, primary, mirror };
      const record = similarity === undefined ? compared : { ...compared, similarity };
      parts.records.compared(comparisonRecord(asked, row.path, record));
    }
    return mirror.success ? 'sent' : 'failed';
  }

  async #travel(trip: MirrorTrip, parts: MirrorParts): Promise<void> {
    const travelled = travel(trip, kindOf(parts), quiet(parts));
    this.#open.set(trip, travelled);
    await travelled;
    this.#open.delete(trip);
  }

  /** Undefined: one of them has no text that can be compared, or the model of embeddings did not answer. */
  async #compared(
    said: Said,
    { call, exchange, snapshot, copied }: MirrorTrip,
    parts: MirrorParts,
  ): Promise<number | undefined> {
    const nowMs = parts.nowMs();
    const [one, other] = [said.primary.read(call.model, nowMs), said.mirror.read(call.model, nowMs)];
    const model = snapshot.cache.semantic?.model;
    if (one === undefined || other === undefined || model === undefined) return undefined;
    const served = { exchange, principal: mirrorCaller(copied.caller, '/'), snapshot, call: undefined };
    try {
      return await similarityOf([one, other], model, served, parts);
    } catch (error) {
      if (error instanceof Refusal) return undefined;
      throw error;
    }
  }
}

/** The mirror that a request is copied to: a share of them, evenly spread; a request decides alike whenever it is asked. */
function drawn({ exchange, guarded }: MirroredTrip): MirrorPlace | undefined {
  const mirror = guarded?.named.mirror;
  if (mirror === undefined || mirror.share === 0) return undefined;
  if (mirror.share === 1) return mirror;
  // A client may choose its request ids, and shall not choose with them.
  const digest = hash('sha256', `${exchange.id} ${exchange.startedAtMs}`, 'buffer');
  return digest.readUInt32LE() < mirror.share * 2 ** 32 ? mirror : undefined;
}

/** Targets were asked, and the client has waited for what came of it. */
function wasServed({ isAsked, accepted, failed }: MirroredTrip, { status }: RecordedEnd): boolean {
  return isAsked && status !== 499 && (accepted !== undefined || failed.length > 0);
}

/** The model of embeddings that the cache has. */
function embedderOf({ snapshot }: MirroredTrip): string | undefined {
  return snapshot.cache.semantic?.model;
}

/** Where nothing of the caller is recorded, nothing of its copy is. */
function auditedAs({ userPath }: Principal, snapshot: Snapshot): Snapshot {
  const { audit } = snapshot;
  if (!audit.without.some((path) => isWithin(userPath, path))) return snapshot;
  return { ...snapshot, audit: { ...audit, isEnabled: false } };
}

/** Why no provider was asked. */
function unsentAs({ ending: { refused }, left }: MirrorTrip): MirrorOutcome {
  if (left !== undefined) return 'failed';
  if (refused?.code === 'target_drained' || refused?.code === 'provider_credential_missing') return 'skipped_target';
  return limitCodes.has(refused?.code) ? 'skipped_limit' : 'skipped_request';
}

const limitCodes: ReadonlySet<string | null | undefined> = new Set([
  'rate_limit_exceeded',
  'rate_limit_store_unavailable',
  'budget_exceeded',
]);

/** Of one gateway, made once. */
const kinds = new WeakMap<object, TripKind<MirrorTrip, Delivery>>();
const quietParts = new WeakMap<object, MirrorParts>();

function kindOf(parts: MirrorParts): TripKind<MirrorTrip, Delivery> {
  let kind = kinds.get(parts);
  if (kind === undefined) {
    kind = mirrorKind(parts);
    kinds.set(parts, kind);
  }
  return kind;
}

/** Copies that were not sent are counted, and have neither a record nor a line in the log. */
function quiet(parts: MirrorParts): MirrorParts {
  let made = quietParts.get(parts);
  if (made === undefined) {
    const wasTried = ({
      accepted,
      failed,
    }: {
      readonly accepted: unknown;
      readonly failed: readonly unknown[];
    }): boolean => accepted !== undefined || failed.length > 0;
    const { accessLog, records } = parts;
    made = {
      ...parts,
      accessLog: { trip: (trip, finish) => void (wasTried(trip) && accessLog.trip(trip, finish)) },
      records: { ...records, trip: (trip, end) => void (wasTried(trip) && records.trip(trip, end)) },
    };
    quietParts.set(parts, made);
  }
  return made;
}
