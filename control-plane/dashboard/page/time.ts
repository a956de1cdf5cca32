// Clock and calendar of the viewer: the only file of the page that reads them.
import { useEffect } from 'preact/hooks';
import { Cell, useCell } from './cell.ts';

/** Unix milliseconds. */
export function nowMs(): number {
  return Date.now();
}

/** Milliseconds for durations; unlike the clock it never jumps. */
export function steadyMs(): number {
  return performance.now();
}

/** The viewer's zone, such as Europe/Berlin. */
export const zone: string = Intl.DateTimeFormat().resolvedOptions().timeZone;

const dateTime = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' });
const clockTime = new Intl.DateTimeFormat(undefined, { timeStyle: 'medium' });
const hourTime = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' });
const dayName = new Intl.DateTimeFormat(undefined, { month: 'short', day: 'numeric' });

/** Unix milliseconds of RFC 3339; NaN for any other text. */
export function parseTime(text: string): number {
  return Date.parse(text);
}

/** In the viewer's zone, to the second; the time alone for today. */
export function localTime(ms: number): string {
  if (!Number.isFinite(ms)) return '–';
  const date = new Date(ms);
  return date.toDateString() === new Date().toDateString() ? clockTime.format(date) : dateTime.format(date);
}

/** The hour that begins then: `12:00–13:00`, with the day unless it is today. */
export function localHourSpan(ms: number): string {
  const hours = `${localHour(ms)}–${localHour(ms + 3_600_000)}`;
  return new Date(ms).toDateString() === new Date().toDateString() ? hours : `${localDay(ms)}, ${hours}`;
}

export function localHour(ms: number): string {
  return hourTime.format(new Date(ms));
}

export function localDay(ms: number): string {
  return dayName.format(new Date(ms));
}

/** RFC 3339 in UTC. */
export function utcTime(ms: number): string {
  return Number.isFinite(ms) ? new Date(ms).toISOString() : '';
}

/** The value of a field for a local time (`2030-01-31T12:00`) as Unix milliseconds; NaN when it is empty. */
export function parseLocal(text: string): number {
  return new Date(text).getTime();
}

/** The calendar day in the viewer's zone, as `2030-01-31`. */
export function dayText(ms: number): string {
  const date = new Date(ms);
  return `${date.getFullYear()}-${twoDigits(date.getMonth() + 1)}-${twoDigits(date.getDate())}`;
}

/** The value of a field for a local time: `2030-01-31T12:00`. */
export function localField(ms: number): string {
  const date = new Date(ms);
  return `${dayText(ms)}T${twoDigits(date.getHours())}:${twoDigits(date.getMinutes())}`;
}

function twoDigits(number: number): string {
  return String(number).padStart(2, '0');
}

/** Where every day from the first to the last (`2030-01-31`) begins in the viewer's zone. Unix milliseconds. */
export function dayStarts(first: string, last: string): number[] {
  const starts: number[] = [];
  const date = new Date(startOfDay(first));
  for (const end = startOfDay(last); date.getTime() <= end; date.setDate(date.getDate() + 1))
    starts.push(date.getTime());
  return starts;
}

/** The start of a calendar day (`2030-01-31`) in the viewer's zone. Unix milliseconds. */
export function startOfDay(text: string): number {
  return parseLocal(`${text}T00:00`);
}

const second = new Cell(nowMs());
let watchers = 0;
let timer: ReturnType<typeof setInterval> | undefined;

/** The time now, once a second, for countdowns. Unix milliseconds. */
export function useSecond(): number {
  useEffect(() => {
    watchers += 1;
    timer ??= setInterval(() => second.set(nowMs()), 1000);
    return () => {
      watchers -= 1;
      if (watchers > 0) return;
      clearInterval(timer);
      timer = undefined;
    };
  }, []);
  return Math.max(useCell(second), nowMs());
}
