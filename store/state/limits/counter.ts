// One counter of shared limits as the store keeps it: a ring of used units on the store's clock, and what each session holds.
import { sliceAt, sliceCount, sliceStartMs } from '../../../domain/rules/slice.ts';

export interface Counter {
  /** Seconds; 0: it has no ring, and units are only held. */
  readonly period: number;
  /** The newest slice. */
  head: number;
  /** The sum of `slices`. */
  used: number;
  /** The sum of `sessions`. */
  held: number;
  /** How many burials it has seen. */
  graves: number;
  /** A proxy was told that nothing is free: a notice says when there is room again. */
  isDry: boolean;
  /** When the others were last asked to give back. Milliseconds. */
  recalledMs: number;
  /** Units by session, how many of them are spare as far as is known, and used units by slice. */
  readonly sessions: Map<number, number>;
  readonly spares: Map<number, number>;
  readonly slices: Map<number, number>;
}

/** The last moment at which a session that is over can have used what it held, in milliseconds; undefined: it is not over. */
export type LastUse = (session: number) => number | undefined;

export function emptyCounter(period: number, graves: number): Counter {
  return {
    period,
    head: 0,
    used: 0,
    held: 0,
    graves,
    isDry: false,
    recalledMs: 0,
    sessions: new Map(),
    spares: new Map(),
    slices: new Map(),
  };
}

/** Apart from it, so that a reader can turn it. */
export function copyOf(counter: Counter): Counter {
  const { sessions, spares, slices } = counter;
  return { ...counter, sessions: new Map(sessions), spares: new Map(spares), slices: new Map(slices) };
}

/** Drops the slices that have left the trailing period at `nowMs`. */
export function turn(counter: Counter, nowMs: number): void {
  if (counter.period === 0) return;
  counter.head = sliceAt(nowMs, counter.period);
  for (const [slice, units] of counter.slices) {
    if (slice > counter.head - sliceCount) continue;
    counter.slices.delete(slice);
    counter.used -= units;
  }
}

/** Counts what buried sessions held as used; without a ring it is free. */
export function buryHeld(counter: Counter, graves: number, lastUse: LastUse): void {
  if (counter.graves === graves) return;
  counter.graves = graves;
  for (const session of counter.sessions.keys()) {
    const usedMs = lastUse(session);
    if (usedMs === undefined) continue;
    const units = heldBy(counter, session);
    hold(counter, session, 0);
    spare(counter, session, 0);
    if (counter.period !== 0) use(counter, sliceAt(usedMs, counter.period), units);
  }
}

/** Counts used units in their slice; a slice later than now is now. Units that have left the trailing period count for nothing. */
export function use(counter: Counter, slice: number, units: number): void {
  const place = Math.min(slice, counter.head);
  if (counter.period === 0 || units === 0 || place <= counter.head - sliceCount) return;
  counter.slices.set(place, (counter.slices.get(place) ?? 0) + units);
  counter.used += units;
}

/**
 * Takes units that were not used from the oldest slices that may count them: never from one that is newer than their own. Nothing is taken
 * where the oldest has left the trailing period: the units may have left with it.
 */
export function refund(counter: Counter, low: number, high: number, units: number): void {
  if (low <= counter.head - sliceCount) return;
  let left = units;
  const last = Math.min(high, counter.head);
  for (let slice = low; slice <= last && left > 0; slice += 1) {
    const counted = counter.slices.get(slice) ?? 0;
    const taken = Math.min(left, counted);
    if (taken === 0) continue;
    left -= taken;
    counter.used -= taken;
    if (counted === taken) counter.slices.delete(slice);
    else counter.slices.set(slice, counted - taken);
  }
}

export function heldBy(counter: Counter, session: number): number {
  return counter.sessions.get(session) ?? 0;
}

/** Sets what a session holds. */
export function hold(counter: Counter, session: number, units: number): void {
  counter.held += units - heldBy(counter, session);
  if (units === 0) counter.sessions.delete(session);
  else counter.sessions.set(session, units);
}

/** What requests of a session hold: all that is not spare. */
export function openOf(counter: Counter, session: number): number {
  return heldBy(counter, session) - (counter.spares.get(session) ?? 0);
}

/** What requests of all other sessions hold. */
export function openOfOthers(counter: Counter, own: number): number {
  let sum = 0;
  for (const session of counter.sessions.keys()) if (session !== own) sum += openOf(counter, session);
  return sum;
}

/** Notes how much of what a session holds is spare. */
export function spare(counter: Counter, session: number, units: number): void {
  const known = Math.min(units, heldBy(counter, session));
  if (known === 0) counter.spares.delete(session);
  else counter.spares.set(session, known);
}

/** Milliseconds until `units` are free under `cap` when nothing else happens; 0: now; −1: that cannot be foreseen. */
export function freeInMs(counter: Counter, cap: number, units: number, nowMs: number): number {
  let free = cap - counter.used - counter.held;
  if (free >= units) return 0;
  for (const slice of [...counter.slices.keys()].sort((a, b) => a - b)) {
    free += counter.slices.get(slice) ?? 0;
    if (free >= units) return Math.max(1, sliceStartMs(slice + sliceCount, counter.period) - nowMs);
  }
  return -1;
}

/** The oldest and the newest slice with use; −1: none. */
export function oldestOf(counter: Counter): number {
  return counter.slices.size === 0 ? -1 : Math.min(...counter.slices.keys());
}
export function newestOf(counter: Counter): number {
  return counter.slices.size === 0 ? -1 : Math.max(...counter.slices.keys());
}

/** How long it is kept without a message: as long as its use counts and 20 s; while something is held, an hour longer, slots for a day. */
export function expiresInMs({ period, held }: Counter): number {
  if (period === 0) return held === 0 ? 20_000 : 86_400_000;
  return Math.ceil((period * 1000 * sliceCount) / 60) + 20_000 + (held === 0 ? 0 : 3_600_000);
}
