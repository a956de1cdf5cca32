// The Gregorian calendar as numbers, without `Date`: a day is counted from 1970-01-01.

/** Days from 1970-01-01 in the Gregorian calendar; a year begins in March here, so that the leap day comes last. */
export function daysSinceEpoch(year: number, month: number, day: number): number {
  const fromMarch = (month + 9) % 12;
  const marchYear = month < 3 ? year - 1 : year;
  const leapDays = Math.floor(marchYear / 4) - Math.floor(marchYear / 100) + Math.floor(marchYear / 400);
  return marchYear * 365 + leapDays + Math.floor((fromMarch * 153 + 2) / 5) + day - 1 - 719_468;
}

export function daysIn(year: number, month: number): number {
  if (month === 2) return isLeapYear(year) ? 29 : 28;
  return [4, 6, 9, 11].includes(month) ? 30 : 31;
}

function isLeapYear(year: number): boolean {
  return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
}

export interface CalendarDate {
  readonly year: number;
  /** From 1. */
  readonly month: number;
  readonly day: number;
}

/** The date of a day from 1970 on; the reverse of `daysSinceEpoch`. */
export function dateOfDay(day: number): CalendarDate {
  const guess = 1970 + Math.floor(day / 366);
  let year = guess;
  while (daysSinceEpoch(year + 1, 1, 1) <= day) year += 1;
  let month = 1;
  while (month < 12 && daysSinceEpoch(year, month + 1, 1) <= day) month += 1;
  return { year, month, day: day - daysSinceEpoch(year, month, 1) + 1 };
}

/** The day of a text such as `2026-02-28`. Undefined for any other form, for a date that does not exist, and before 1970. */
export function readDay(text: string): number | undefined {
  const match = /^(\d{4})-(\d\d)-(\d\d)$/.exec(text);
  if (match === null) return undefined;
  const [year, month, day] = [Number(match[1]), Number(match[2]), Number(match[3])];
  if (year < 1970 || month < 1 || month > 12 || day < 1 || day > daysIn(year, month)) return undefined;
  return daysSinceEpoch(year, month, day);
}

/** `2026-02-28` */
export function dayText(day: number): string {
  return `${monthText(day)}-${padded(dateOfDay(day).day)}`;
}

/** `2026-02` */
export function monthText(day: number): string {
  const { year, month } = dateOfDay(day);
  return `${String(year).padStart(4, '0')}-${padded(month)}`;
}

/** The Monday of the week (ISO 8601) that the day is in. 1970-01-01 was a Thursday. */
export function mondayOf(day: number): number {
  return day - ((day + 3) % 7);
}

/** `2026-W09`, the week of ISO 8601: it belongs to the year that its Thursday is in. */
export function weekText(day: number): string {
  const thursday = mondayOf(day) + 3;
  const { year } = dateOfDay(thursday);
  const week = Math.floor((thursday - daysSinceEpoch(year, 1, 1)) / 7) + 1;
  return `${String(year).padStart(4, '0')}-W${padded(week)}`;
}

function padded(number: number): string {
  return String(number).padStart(2, '0');
}
