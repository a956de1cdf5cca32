// Days of a time zone as spans of time: where each begins, with daylight saving and skipped hours. It does not read the clock.

const dayMs = 86_400_000;
const hourMs = 3_600_000;

export interface TimeZone {
  /** As the time zone database spells it. */
  readonly name: string;
  /** The first moment of a day, counted from 1970-01-01. Unix milliseconds. */
  startOfDay(day: number): number;
  /** The day that a moment is in there. */
  dayOf(unixMs: number): number;
  /** What clocks show there, from 0 to 23. */
  hourOf(unixMs: number): number;
}

/** The zone with a name of the IANA database, such as `Europe/Berlin`, in any letter case. Undefined: there is none. */
export function timeZone(name: string): TimeZone | undefined {
  // Offsets such as +01:00, which `Intl` takes too, are no zones.
  if (!/^[A-Za-z]/.test(name)) return undefined;
  const format = formatOf(name);
  if (format === undefined) return undefined;
  const localOf = (unixMs: number): number => unixMs + offsetIn(format.format(unixMs));
  return {
    name: format.resolvedOptions().timeZone,
    startOfDay: (day) => momentOf(day * dayMs, localOf),
    dayOf: (unixMs) => Math.floor(localOf(unixMs) / dayMs),
    hourOf: (unixMs) => Math.floor((((localOf(unixMs) % dayMs) + dayMs) % dayMs) / hourMs),
  };
}

function formatOf(name: string): Intl.DateTimeFormat | undefined {
  try {
    return new Intl.DateTimeFormat('en-US', { timeZone: name, timeZoneName: 'longOffset' });
  } catch {
    return undefined;
  }
}

/** The offset at the end of a text such as `1/31/2026, GMT-03:30`. Milliseconds. */
function offsetIn(text: string): number {
  const [, sign, hours = 0, minutes = 0, seconds = 0] = /GMT(?:([+-])(\d\d):(\d\d)(?::(\d\d))?)?$/.exec(text) ?? [];
  const size = ((Number(hours) * 60 + Number(minutes)) * 60 + Number(seconds)) * 1000;
  return sign === '-' ? -size : size;
}

/** The first moment at which clocks show `local` or later; `local` counts milliseconds as if it were UTC. */
function momentOf(local: number, localOf: (unixMs: number) => number): number {
  // No zone is further than a day from UTC, so the offset of that moment is the one before or the one after it.
  const shiftsOf = (at: number): number => localOf(at) - at;
  const before = local - shiftsOf(local - dayMs);
  const after = local - shiftsOf(local + dayMs);
  const earlier = Math.min(before, after);
  if (localOf(earlier) === local) return earlier;
  const later = Math.max(before, after);
  if (localOf(later) === local) return later;
  return firstAfterGap(earlier, later, (at) => localOf(at) >= local);
}

/** Clocks were put forward over it: the moment at which that was done. `isOver` does not hold at `low` and holds at `high`. */
function firstAfterGap(from: number, to: number, isOver: (at: number) => boolean): number {
  let [low, high] = [from, to];
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (isOver(middle)) high = middle;
    else low = middle;
  }
  return high;
}
