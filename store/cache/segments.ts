// Entries one behind the other in as many segments as they need: new ones are added at one end, the oldest go at the other.
import { alignment, type NewEntry, Segment, segmentBytes } from './segment.ts';

/** Positions in one segment. */
const segmentPositions = segmentBytes / alignment;
/** The most segments with positions of 31 bits: 16 GiB. */
export const mostSegments = 2 ** 31 / segmentPositions - 1;

/** A position is a number: the index of a segment times its positions, and the position there. */
export class Segments {
  /** Each stays at its index. Undefined: given back. */
  readonly #all: (Segment | undefined)[] = [];
  /** Indexes of those in use, the oldest first. */
  readonly #used: number[] = [];
  readonly #unused: number[] = [];
  #begun = 0;
  /** Where the oldest entry is, in the oldest segment. */
  #oldestAt = 0;

  /** How many are in use. */
  get count(): number {
    return this.#used.length;
  }

  /** The position of the oldest entry; undefined: there is none. */
  get oldest(): number | undefined {
    const [index] = this.#used;
    return index === undefined ? undefined : positionOf(index, this.#oldestAt);
  }

  /** Gives the position of the entry. */
  append(entry: NewEntry): number {
    const last = this.#used.at(-1);
    const segment = last === undefined ? undefined : this.#all[last];
    if (last !== undefined && segment?.hasRoomFor(entry) === true) return positionOf(last, segment.add(entry));
    const index = this.#unused.pop() ?? this.#all.length;
    const next = this.#all[index] ?? new Segment();
    this.#all[index] = next;
    next.begin(this.#begun);
    this.#begun += 1;
    this.#used.push(index);
    return positionOf(index, next.add(entry));
  }

  segmentOf(position: number): Segment {
    const segment = this.#all[indexOf(position)];
    if (segment === undefined) throw new Error('a segment that was given back is asked for');
    return segment;
  }

  /** Whether about as many segments were begun after it as before it, of those in use. */
  isInOlderHalf(position: number): boolean {
    return (this.#begun - this.segmentOf(position).serial) * 2 > this.count + 2;
  }

  /** Goes on to the entry behind the oldest one; a segment that has no more is used again. */
  dropOldest(): void {
    const [index] = this.#used;
    const segment = index === undefined ? undefined : this.#all[index];
    if (index === undefined || segment === undefined) return;
    this.#oldestAt = segment.nextOf(this.#oldestAt);
    if (this.#oldestAt < segment.end) return;
    this.#used.shift();
    this.#unused.push(index);
    this.#oldestAt = 0;
  }

  /** Gives the memory back that is not in use. */
  release(): void {
    for (const index of this.#unused) this.#all[index] = undefined;
  }
}

/** Where the entry is in its segment. Bytes. */
export function offsetOf(position: number): number {
  return (position % segmentPositions) * alignment;
}

function indexOf(position: number): number {
  return Math.floor(position / segmentPositions);
}

function positionOf(index: number, at: number): number {
  return index * segmentPositions + at / alignment;
}
