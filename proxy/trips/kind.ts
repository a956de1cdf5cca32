// The spec of a kind of trips: the parts in which kinds differ. The order in which they are used is in pipeline.ts.
import type { Call } from '../call/call.ts';
import type { Counting } from '../limits/counted-rules.ts';
import type { RecordedEnd } from '../records/record-of-trip.ts';
import type { Ending } from '../stages/relay.ts';
import type { Settling } from '../stages/settle.ts';
import type { Trip } from './trip.ts';

/** The rules that count a trip, and whether a budget bounds it. */
export interface Admission {
  /** The rules that count it. */
  readonly rules: Counting;
  /** A budget that is spent refuses it. */
  readonly hasBudget: boolean;
}

/** The model that a request asks for which is refused before its body. */
export type AskedModel = Pick<Call, 'model' | 'routingMember'>;

/** `Answer`: what stage 7 gives and stage 8 hands on. Each function may throw, or reject with, a Refusal. */
export interface TripKind<Kind extends Trip, Answer> extends Settling {
  /** Stage 0: what stands against the request by its head alone. */
  readonly checkHead: (trip: Kind) => void;
  /** Stage 1: who calls. */
  readonly identify: (trip: Kind) => void | Promise<void>;
  /** Stage 2. */
  readonly admission: (trip: Kind) => Admission;
  /** It enters behind the cache, because a hit counts nothing (spec, Limits 9). */
  readonly entersLate: (trip: Kind) => boolean;
  /** Reads what it asks for, although it is refused: its record and the words of the refusal say it. Undefined: that cannot be read. */
  readonly foresee: (trip: Kind) => AskedModel | undefined | Promise<AskedModel | undefined>;
  /** Stage 3: the body, or as much of it as stage 4 needs. */
  readonly receive: (trip: Kind) => void | Promise<void>;
  /** Stage 4: what is named, whose it is, and where it leads. */
  readonly resolve: (trip: Kind) => void | Promise<void>;
  /** Stage 5. */
  readonly guard: (trip: Kind) => void | Promise<void>;
  /** Stage 6: an answer that was kept; undefined: targets are asked. */
  readonly lookUp: (trip: Kind) => Answer | undefined | Promise<Answer | undefined>;
  /** Stage 7. */
  readonly attempt: (trip: Kind) => Answer | Promise<Answer>;
  /** Stage 8: gives, or resolves to, how the answer ended when it is over. */
  readonly relay: (trip: Kind, answer: Answer) => Ending | Promise<Ending>;
  /** Tells the client why it gets no answer. */
  readonly refuse: (trip: Kind, error: unknown) => Ending;
  /** It is settled. `end` undefined: it could not be counted. */
  readonly close: (trip: Kind, end: RecordedEnd | undefined) => void;
}
