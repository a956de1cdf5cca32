// How far back figures go: minutes, days, or from one date to another, as the address and the API say it, and where its points lie.
import { html, type View } from '../html.ts';
import { dayStarts, dayText, nowMs, parseTime, startOfDay, zone } from '../time.ts';

/** The value is a part of the address, and of the query of the API. */
export const ranges = [
  ['minutes=15', '15 min'],
  ['minutes=60', '1 hour'],
  ['minutes=360', '6 hours'],
  ['days=1', 'Today'],
  ['days=3', '3 days'],
  ['days=7', '7 days'],
  ['days=30', '30 days'],
] as const;

export type Interval = 'minutely' | 'hourly' | 'daily';

export interface TimeRange {
  readonly interval: Interval;
  /** Where each point begins: all that have begun. Unix milliseconds. */
  readonly times: readonly number[];
}

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;
/** Of the API. */
const usualDays = 30;
/** The most days that are shown hour by hour. */
const mostHourlyDays = 3;

export const wordOf: Readonly<Record<Interval, string>> = { minutely: 'minute', hourly: 'hour', daily: 'day' };

/** The range that a query of the API asks for. */
export function rangeOf(query: URLSearchParams): TimeRange {
  const minutes = Number(query.get('minutes') ?? 0);
  const now = nowMs();
  if (minutes > 0) {
    const last = now - (now % minuteMs);
    return { interval: 'minutely', times: stepsTo(last, last - (minutes - 1) * minuteMs, minuteMs) };
  }
  const last = query.get('end_date') ?? dayText(now);
  const isDated = query.has('start_date') || query.has('end_date');
  const days = isDated ? usualDays : Number(query.get('days') ?? usualDays);
  const first = query.get('start_date') ?? dayText(startOfDay(last) + dayMs / 2 - (days - 1) * dayMs);
  const starts = dayStarts(first, last).filter((start) => start <= now);
  if (starts.length > mostHourlyDays) return { interval: 'daily', times: starts };
  return { interval: 'hourly', times: starts.flatMap((start) => hoursOf(start).filter((at) => at <= now)) };
}

function stepsTo(last: number, first: number, stepMs: number): number[] {
  return Array.from({ length: Math.round((last - first) / stepMs) + 1 }, (_, index) => first + index * stepMs);
}

/** A day with a change of clocks has 23 or 25. */
function hoursOf(start: number): number[] {
  const end = startOfDay(dayText(start + 1.5 * dayMs));
  return stepsTo(end - hourMs, start, hourMs);
}

/** The length of each point in minutes; of the last one what is over of it, undefined while that is too little to tell a rate. */
export function minutesOf({ times, interval }: TimeRange): (number | undefined)[] {
  const stepMs = { minutely: minuteMs, hourly: hourMs, daily: dayMs }[interval];
  return times.map((time, index) => {
    const wholeMs = (times[index + 1] ?? time + stepMs) - time;
    const overMs = Math.min(wholeMs, nowMs() - time);
    return overMs * 6 < wholeMs ? undefined : overMs / minuteMs;
  });
}

/** When a minute or an hour (RFC 3339), or a day (`2030-01-31`), of the API begins. */
export function momentOf(date: string): number {
  return date.includes('T') ? parseTime(date) : startOfDay(date);
}

/** Whose clock the times of a page are of. */
export function ZoneNote(): View {
  return html`<p class="quiet small">Times are of ${zone.replaceAll('_', ' ')}</p>`;
}
