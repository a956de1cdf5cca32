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
import { type CopiedRequest, MirrorTrip, mirrorCaller, mirrorKind } from './mirror-trip.ts';
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
    this.#slots += 1;
    void this.#send(trip, mirror, end, parts)
      .catch((error: unknown): MirrorOutcome => {
        parts.reportFailure(error, trip.exchange.id);
        return 'failed';
      })
      .then((outcome) => {
        this.#slots -= 1;
        trip.text?.release();
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
    if (guarded.home !== undefined || !mayBeCopied(guarded.call, row)) return 'skipped_request';
    if (!mayUse(principal, target, snapshot)) return 'skipped_access';
    const { bodies, overload, targets } = parts;
    const hasRoom = bodies.hasRoom(mirrorPath, guarded.call.body.length, snapshot, bodyShares);
    if (overload.isOverloaded() || this.#slots >= mostOpen || !hasRoom) return 'skipped_load';
    const isOut = targets.drainOf(target) !== undefined || !targets.of(target).isUsable(parts.nowMs());
    return isOut ? 'skipped_target' : undefined;
  }

  async #send(
    trip: MirroredTrip,
    { route }: MirrorPlace,
    end: RecordedEnd,
    parts: MirrorParts,
  ): Promise<MirrorOutcome> {
    const { guarded, exchange, principal: caller, row } = trip;
    if (guarded === undefined || caller === undefined)
      throw new Error('a copy was made of a request that was not read');
    const primary = comparedAnswer(trip, end);
    const { call } = guarded;
    const held = parts.bodies.open(mirrorPath, trip.snapshot);
    held.grow(call.body.length);
    try {
      if (await refersToObjects(call)) return 'skipped_request';
      const { text } = trip;
      const said = text && { primary: text, mirror: new AnswerText(this.#captures, row.operation) };
      const reader = said && (({ answer }: Delivery): Tap => said.mirror.tapOf(answer));
      const isRecorded = trip.guarding?.readsAnswer !== true || trip.snapshot.audit.hasOriginals;
      const snapshot = auditedAs(caller, trip.snapshot);
      const copied: CopiedRequest = { exchange, snapshot, caller, row, call, route, held, reader, isRecorded };
      const mirrored = new MirrorTrip(copied, parts);
      try {
        await this.#travel(mirrored, parts);
        const answer = mirrored.end && comparedAnswer(mirrored, mirrored.end);
        if (answer === undefined) return refusedAs(mirrored);
        const similarity = said && answer.success && (await this.#compared(said, mirrored, parts));
        if (primary !== undefined) {
          const alias = guarded.named.source;
          const compared = { alias, stream: call.stream, primary, mirror: answer };
          const record = typeof similarity === 'number' ? { ...compared, similarity } : compared;
          parts.records.compared(comparisonRecord(exchange, row.path, record));
        }
        return answer.success ? 'sent' : 'failed';
      } finally {
        said?.mirror.release();
      }
    } finally {
      held.release();
    }
  }

  async #travel(trip: MirrorTrip, parts: MirrorParts): Promise<void> {
    const travelled = travel(trip, kindOf(parts), quiet(parts));
    this.#open.set(trip, travelled);
    await travelled;
    this.#open.delete(trip);
  }

  /** Undefined: one of them has no text that can be compared, or the model of embeddings did not answer. */
  async #compared(
    said: { readonly primary: AnswerText; readonly mirror: AnswerText },
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

/** Of a copy that was not sent: a rule or a budget had no room, or the model cannot be asked such a thing. */
function refusedAs({ ending: { refused } }: MirrorTrip): MirrorOutcome {
  if (refused?.code === 'rate_limit_exceeded' || refused?.code === 'budget_exceeded') return 'skipped_limit';
  return refused?.status === 503 ? 'skipped_target' : 'skipped_request';
}

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
