// The hour and the weekday of a time zone, for conditions. It does not read the clock.
import { type TimeZone, timeZone } from '../records/time-zone.ts';
import { type Weekday, weekdays } from './facts.ts';

/** The offsets of time zones change on a quarter of an hour. Milliseconds. */
const stepMs = 900_000;
/** 1970-01-01 was a Thursday. */
const firstWeekday = 4;

export class LocalTime {
  hour = 0;
  weekday: Weekday = 'thu';
  readonly #zone: TimeZone;
  #step = Number.NaN;

  /** `name`: of the IANA database; UTC for one that is unknown. */
  constructor(name: string) {
    this.#zone = timeZone(name) ?? (timeZone('UTC') as TimeZone);
  }

  /** The same object, with `hour` and `weekday` of that moment. To ask for a zone takes microseconds, so it is done once in a quarter of an hour. */
  at(unixMs: number): Readonly<Pick<LocalTime, 'hour' | 'weekday'>> {
    const step = Math.floor(unixMs / stepMs);
    if (step !== this.#step) {
      this.#step = step;
      this.hour = this.#zone.hourOf(unixMs);
      this.weekday = weekdays[(((this.#zone.dayOf(unixMs) + firstWeekday) % 7) + 7) % 7] ?? 'thu';
    }
    return this;
  }
}
