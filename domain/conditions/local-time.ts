// The hour and the weekday of a time zone, for conditions. It does not read the clock.
import { type TimeZone, timeZone } from '../records/time-zone.ts';
import { type Weekday, weekdays } from './facts.ts';

/** The offsets of time zones change on a quarter of an hour. Milliseconds. */
const stepMs = 900_000;
/** 1970-01-01 was a Thursday. */
const firstWeekday = 4;

interface HourOfWeek {
  /** From 0 to 23. */
  readonly hour: number;
  readonly weekday: Weekday;
}

export class LocalTime {
  readonly #zone: TimeZone;
  #step = Number.NaN;
  #now: HourOfWeek = { hour: 0, weekday: 'thu' };

  /** `name`: of the IANA database; UTC for one that is unknown. */
  constructor(name: string) {
    this.#zone = timeZone(name) ?? (timeZone('UTC') as TimeZone);
    Object.freeze(this);
  }

  /** The hour and the weekday of that moment. To ask for a zone takes microseconds, so it is done once in a quarter of an hour. */
  at(unixMs: number): HourOfWeek {
    const step = Math.floor(unixMs / stepMs);
    if (step !== this.#step) {
      this.#step = step;
      const weekday = weekdays[(((this.#zone.dayOf(unixMs) + firstWeekday) % 7) + 7) % 7] ?? 'thu';
      this.#now = Object.freeze({ hour: this.#zone.hourOf(unixMs), weekday });
    }
    return this.#now;
  }
}
