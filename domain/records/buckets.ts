// Cuts days into buckets of time: hours, days, weeks, months or years of a time zone, each with its name. Pure.
import { dateOfDay, dayText, mondayOf, monthText, weekText } from '../../schemas/formats/calendar.ts';
import { timestamp } from '../timestamp.ts';
import type { TimeZone } from './time-zone.ts';

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;

/** Days of a time zone, both included, counted from 1970-01-01. */
export interface Days {
  readonly first: number;
  readonly last: number;
  readonly zone: TimeZone;
  /** Only these whole minutes of them. Unix milliseconds. */
  readonly minutes?: { readonly fromMs: number; readonly toMs: number };
}

/** The most minutes that are told one by one. */
export const mostMinutes = 360;
/** Sums of single minutes are kept for so long: some more than may be asked for. Milliseconds. */
export const minutesKeptMs = (mostMinutes + 60) * minuteMs;

/** The last minutes in a zone, the present one included. `nowMs`: Unix milliseconds. */
export function lastMinutes(count: number, zone: TimeZone, nowMs: number): Days {
  const toMs = (Math.floor(nowMs / minuteMs) + 1) * minuteMs;
  const minutes = { fromMs: toMs - count * minuteMs, toMs };
  return { first: zone.dayOf(minutes.fromMs), last: zone.dayOf(nowMs), zone, minutes };
}

/** From the beginning of the first day, or minute, to the end of the last one. Unix milliseconds. */
export function spanOf({ first, last, zone, minutes }: Days): { readonly fromMs: number; readonly toMs: number } {
  return minutes ?? { fromMs: zone.startOfDay(first), toMs: zone.startOfDay(last + 1) };
}

export const intervals = ['minutely', 'hourly', 'daily', 'weekly', 'monthly', 'yearly'] as const;
export type Interval = (typeof intervals)[number];

type WholeDays = Exclude<Interval, 'hourly' | 'minutely'>;

/** The longest span that is cut into hours. */
export const mostHourlyDays = 31;

const namesOf: Readonly<Record<WholeDays, (day: number) => string>> = {
  daily: dayText,
  weekly: weekText,
  monthly: monthText,
  yearly: (day) => String(dateOfDay(day).year),
};

/** The first day of the next interval, counted from 1970-01-01. */
const nextOf: Readonly<Record<WholeDays, (day: number) => number>> = {
  daily: (day) => day + 1,
  weekly: (day) => mondayOf(day) + 7,
  monthly: (day) => nextWith(day, monthText),
  yearly: (day) => nextWith(day, namesOf.yearly),
};

export interface Buckets {
  /** `2026-02-28T13:00:00.000Z` of a minute or an hour, `2026-02-28`, `2026-W09`, `2026-02` or `2026`, one for each bucket. */
  readonly names: readonly string[];
  /** The start of each bucket, and the end of the last one. Unix milliseconds. */
  readonly edges: readonly number[];
}

/** Cuts days into buckets. The first and the last bucket hold only the days that were asked for. */
export function bucketsOf(days: Days, interval: Interval): Buckets {
  const { first, last, zone } = days;
  // The clock of a zone names some hours twice, so hours have their names in UTC.
  if (interval === 'hourly' || interval === 'minutely') {
    const edges = interval === 'hourly' ? hourEdges(days) : minuteEdges(spanOf(days));
    return { names: edges.slice(0, -1).map(timestamp), edges };
  }
  const names: string[] = [];
  const edges: number[] = [];
  for (let day = first; day <= last; day = nextOf[interval](day)) {
    names.push(namesOf[interval](day));
    edges.push(zone.startOfDay(day));
  }
  return { names, edges: [...edges, zone.startOfDay(last + 1)] };
}

/**
 * The start of each hour and the end of the last one, in Unix milliseconds. A day with a change of clocks has 23 or 25
 * hours.
 */
export function hourEdges({ first, last, zone }: Days): readonly number[] {
  const edges: number[] = [];
  for (let day = first; day <= last; day += 1) {
    const end = zone.startOfDay(day + 1);
    for (let at = zone.startOfDay(day); at < end; at += hourMs) edges.push(at);
  }
  return [...edges, zone.startOfDay(last + 1)];
}

/** The start of each minute and the end of the last one, in Unix milliseconds. */
export function minuteEdges({ fromMs, toMs }: ReturnType<typeof spanOf>): readonly number[] {
  return Array.from({ length: (toMs - fromMs) / minuteMs + 1 }, (_, index) => fromMs + index * minuteMs);
}

function nextWith(day: number, nameOf: (day: number) => string): number {
  let next = day + 1;
  while (nameOf(next) === nameOf(day)) next += 1;
  return next;
}
