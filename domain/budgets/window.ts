// When the window of a budget began and ends. Pure: the clock is an argument, all times are UTC.
import { dateOfDay, daysIn, daysSinceEpoch } from '../../schemas/formats/calendar.ts';
import { budgetPeriods } from './period.ts';

/** Where the windows of named periods begin, in UTC; in the names of the configuration and the admin API. */
export interface Anchors {
  readonly daily_reset_hour: number;
  readonly daily_reset_minute: number;
  /** 0 to 6; 0 is Sunday. */
  readonly weekly_reset_weekday: number;
  readonly weekly_reset_hour: number;
  readonly weekly_reset_minute: number;
  /** 1 to 31; in a shorter month its last day. */
  readonly monthly_reset_day: number;
  readonly monthly_reset_hour: number;
  readonly monthly_reset_minute: number;
}

/** The defaults: midnight, Monday, the first of the month. The schema of the configuration has them too; a test compares the two. */
export const defaultAnchors: Anchors = Object.freeze({
  daily_reset_hour: 0,
  daily_reset_minute: 0,
  weekly_reset_weekday: 1,
  weekly_reset_hour: 0,
  weekly_reset_minute: 0,
  monthly_reset_day: 1,
  monthly_reset_hour: 0,
  monthly_reset_minute: 0,
});

/** From the first Unix millisecond to just before the second. */
export interface BudgetWindow {
  readonly startMs: number;
  readonly endMs: number;
}

const minuteMs = 60_000;
const dayMs = 86_400_000;
const weekMs = 7 * dayMs;
/** 1970-01-04 was a Sunday. Days. */
const firstSunday = 3;

/**
 * The window of `nowMs`. Days, weeks and months begin where the anchors say; hours and custom periods at whole multiples of their length since
 * 1970 (reference: Budgets).
 */
export function budgetWindow(periodSeconds: number, anchors: Anchors, nowMs: number): BudgetWindow {
  if (periodSeconds === budgetPeriods.monthly) return monthOf(anchors, nowMs);
  const lengthMs = periodSeconds * 1000;
  const offsetMs = offsetOf(periodSeconds, anchors);
  const startMs = Math.floor((nowMs - offsetMs) / lengthMs) * lengthMs + offsetMs;
  return { startMs, endMs: startMs + lengthMs };
}

/** How far behind a whole multiple of the period its windows begin, in milliseconds. */
function offsetOf(periodSeconds: number, anchors: Anchors): number {
  if (periodSeconds === budgetPeriods.daily) return timeOfDay(anchors.daily_reset_hour, anchors.daily_reset_minute);
  if (periodSeconds !== budgetPeriods.weekly) return 0;
  const dayOffset = ((firstSunday + anchors.weekly_reset_weekday) * dayMs) % weekMs;
  return dayOffset + timeOfDay(anchors.weekly_reset_hour, anchors.weekly_reset_minute);
}

function monthOf(anchors: Anchors, nowMs: number): BudgetWindow {
  const { year, month } = dateOfDay(Math.floor(nowMs / dayMs));
  const thisMs = beginningOf(year, month, anchors);
  if (nowMs >= thisMs) return { startMs: thisMs, endMs: beginningOf(year, month + 1, anchors) };
  return { startMs: beginningOf(year, month - 1, anchors), endMs: thisMs };
}

/** `month` may be 0 or 13: December before, January after. */
function beginningOf(givenYear: number, givenMonth: number, anchors: Anchors): number {
  const year = givenYear + Math.floor((givenMonth - 1) / 12);
  const month = ((givenMonth + 11) % 12) + 1;
  const day = Math.min(anchors.monthly_reset_day, daysIn(year, month));
  const time = timeOfDay(anchors.monthly_reset_hour, anchors.monthly_reset_minute);
  return daysSinceEpoch(year, month, day) * dayMs + time;
}

function timeOfDay(hour: number, minute: number): number {
  return (hour * 60 + minute) * minuteMs;
}
