// Reads which time is asked for: a number of days up to today, or dates, in the time zone that a header names, or the last minutes.
import type { IncomingHttpHeaders } from 'node:http';
import { type Days, lastMinutes, mostMinutes } from '../../../domain/records/buckets.ts';
import { type TimeZone, timeZone } from '../../../domain/records/time-zone.ts';
import { timestamp } from '../../../domain/timestamp.ts';
import { dayText, readDay } from '../../../schemas/formats/calendar.ts';
import { refusal } from '../../errors.ts';
import { invalidQuery } from '../../managed/read-query.ts';
import { type Given, readWhole } from './read-query.ts';

const zoneHeader = 'X-Gateway-Timezone';
/** Spec, Other constants. */
const usualDays = 30;
/** Ten years. */
const mostDays = 3_650;

export const dayNames = ['minutes', 'days', 'start_date', 'end_date'] as const;
export type DayName = (typeof dayNames)[number];

/**
 * The days of a query. Dates win over `days`; the last day counts as a whole; without a start it is the 30 days up to the end, without an
 * end it ends today. Minutes stand alone. Throws 400 `invalid_query` for what is no such day or number, an end before its start, and more than
 * ten years; 400 `invalid_header` for an unknown time zone. `nowMs`: Unix milliseconds.
 */
export function readDays(given: Given<DayName>, headers: IncomingHttpHeaders, nowMs: number): Days {
  const zone = readZone(headers);
  if (given.minutes !== undefined) {
    if (given.days !== undefined || given.start_date !== undefined || given.end_date !== undefined)
      throw invalidQuery('minutes', 'stands alone: give no days and no dates with it');
    return lastMinutes(readWhole('minutes', given.minutes, [1, mostMinutes]), zone, nowMs);
  }
  const today = zone.dayOf(nowMs);
  const days = given.days === undefined ? usualDays : readWhole('days', given.days, [1, mostDays]);
  const start = readDate('start_date', given.start_date);
  const end = readDate('end_date', given.end_date);
  if (start === undefined && end === undefined) return { first: today - days + 1, last: today, zone };
  const last = end ?? today;
  const first = start ?? Math.max(last - usualDays + 1, 0);
  if (first > last)
    throw invalidQuery('start_date', end === undefined ? 'must not be after today' : 'must not be after end_date');
  if (last - first >= mostDays) throw invalidQuery('start_date', `must be at most ${mostDays} days before the end`);
  return { first, last, zone };
}

/** Which time an answer is about. */
export function describeDays({ first, last, zone, minutes }: Days): object {
  return {
    start_date: dayText(first),
    end_date: dayText(last),
    time_zone: zone.name,
    ...(minutes === undefined ? {} : { start: timestamp(minutes.fromMs), end: timestamp(minutes.toMs) }),
  };
}

function readDate(name: DayName, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const day = readDay(text);
  if (day === undefined) throw invalidQuery(name, 'must be a day that exists, such as 2026-03-31');
  return day;
}

function readZone(headers: IncomingHttpHeaders): TimeZone {
  const name = String(headers[zoneHeader.toLowerCase()] ?? '').trim();
  const zone = timeZone(name === '' ? 'UTC' : name);
  if (zone !== undefined) return zone;
  const problem = 'must be a time zone of the IANA database, such as Europe/Berlin';
  throw refusal('invalid_header', { param: zoneHeader, fill: { name: zoneHeader, problem } });
}
