// The windows of budgets: months of every length, leap years, weekdays, times of day, custom lengths.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'tap';
import { budgetPeriods } from '../../../domain/budgets/period.ts';
import { type Anchors, budgetWindow, defaultAnchors } from '../../../domain/budgets/window.ts';
import { dateOfDay, daysSinceEpoch } from '../../../schemas/formats/calendar.ts';

const { hourly, daily, weekly, monthly } = budgetPeriods;

function windowAt(seconds: number, now: string, anchors: Partial<Anchors> = {}): string {
  const { startMs, endMs } = budgetWindow(seconds, { ...defaultAnchors, ...anchors }, Date.parse(`${now}Z`));
  const shown = (ms: number): string => new Date(ms).toISOString().slice(0, 16);
  return `${shown(startMs)} ${shown(endMs)}`;
}

await test('every kind of window', async (t) => {
  const cases: [string, number, string, Partial<Anchors>, string][] = [
    ['an hour', hourly, '2026-03-01T21:04:10', {}, '2026-03-01T21:00 2026-03-01T22:00'],
    ['a day', daily, '2026-03-01T23:59:59.999', {}, '2026-03-01T00:00 2026-03-02T00:00'],
    ['the first moment of a day', daily, '2026-03-02T00:00:00', {}, '2026-03-02T00:00 2026-03-03T00:00'],
    ['before the hour', daily, '2026-03-01T05:29', at('daily', 5, 30), '2026-02-28T05:30 2026-03-01T05:30'],
    ['at the hour', daily, '2026-03-01T05:30', at('daily', 5, 30), '2026-03-01T05:30 2026-03-02T05:30'],
    ['a week from Monday', weekly, '2026-03-01T12:00', {}, '2026-02-23T00:00 2026-03-02T00:00'],
    ['a week from Sunday', weekly, '2026-03-01T12:00', day(0), '2026-03-01T00:00 2026-03-08T00:00'],
    ['a week from Saturday', weekly, '2026-03-01T12:00', day(6), '2026-02-28T00:00 2026-03-07T00:00'],
    [
      'before the hour of its weekday',
      weekly,
      '2026-03-02T07:59',
      { ...at('weekly', 8, 0) },
      '2026-02-23T08:00 2026-03-02T08:00',
    ],
    ['a month', monthly, '2026-02-15T00:00', {}, '2026-02-01T00:00 2026-03-01T00:00'],
    ['December', monthly, '2026-12-31T23:59', {}, '2026-12-01T00:00 2027-01-01T00:00'],
    ['January before its day', monthly, '2026-01-14T23:59', on(15), '2025-12-15T00:00 2026-01-15T00:00'],
    ['the 31st in February', monthly, '2026-02-28T00:00', on(31), '2026-02-28T00:00 2026-03-31T00:00'],
    ['the 31st in a leap year', monthly, '2028-02-28T23:59', on(31), '2028-01-31T00:00 2028-02-29T00:00'],
    ['the 31st in April', monthly, '2026-05-01T00:00', on(31), '2026-04-30T00:00 2026-05-31T00:00'],
    ['a century that is no leap year', monthly, '2100-02-28T12:00', on(29), '2100-02-28T00:00 2100-03-29T00:00'],
    [
      'with an hour',
      monthly,
      '2026-03-15T06:14',
      { ...on(15), ...at('monthly', 6, 15) },
      '2026-02-15T06:15 2026-03-15T06:15',
    ],
    ['seconds', 300, '2026-03-01T21:04:59', {}, '2026-03-01T21:00 2026-03-01T21:05'],
    ['three days since 1970', 3 * 86_400, '1970-01-05T00:00', at('daily', 5, 0), '1970-01-04T00:00 1970-01-07T00:00'],
  ];
  for (const [says, seconds, now, anchors, expected] of cases) t.equal(windowAt(seconds, now, anchors), expected, says);
});

await test('windows follow each other without a gap, and each holds its own moments', async (t) => {
  const anchors = { ...defaultAnchors, ...on(30), ...at('monthly', 23, 59), ...day(3), ...at('daily', 13, 7) };
  for (const seconds of [...Object.values(budgetPeriods), 1, 777]) {
    let nowMs = Date.UTC(2027, 11, 20, 3, 4, 5);
    for (let count = 0; count < 30; count += 1) {
      const { startMs, endMs } = budgetWindow(seconds, anchors, nowMs);
      if (startMs > nowMs || endMs <= nowMs) t.fail(`${seconds} at ${nowMs}`);
      t.same(budgetWindow(seconds, anchors, endMs - 1), { startMs, endMs });
      nowMs = endMs;
    }
  }
});

await test('the calendar agrees with that of the platform, through four centuries', async (t) => {
  const mistakes: number[] = [];
  for (let days = 0; days < 400_000; days += 137) {
    const { year, month, day: dayOfMonth } = dateOfDay(days);
    const date = new Date(days * 86_400_000);
    const expected = [date.getUTCFullYear(), date.getUTCMonth() + 1, date.getUTCDate()];
    const isSame = [year, month, dayOfMonth].join() === expected.join();
    if (!isSame || daysSinceEpoch(year, month, dayOfMonth) !== days) mistakes.push(days);
  }
  t.same(mistakes, []);
});

await test('the anchors of the schema are the defaults', async (t) => {
  const file = join(import.meta.dirname, '../../../schemas/config/budgets.schema.json');
  const schema = JSON.parse(readFileSync(file, 'utf8')) as {
    $defs: { settings: { properties: Record<string, { default: number }> } };
  };
  const { properties } = schema.$defs.settings;
  t.same(Object.fromEntries(Object.entries(properties).map(([name, each]) => [name, each.default])), defaultAnchors);
});

function at(period: 'daily' | 'weekly' | 'monthly', hour: number, minute: number): Partial<Anchors> {
  return { [`${period}_reset_hour`]: hour, [`${period}_reset_minute`]: minute };
}

function day(weekday: number): Partial<Anchors> {
  return { weekly_reset_weekday: weekday };
}

function on(monthDay: number): Partial<Anchors> {
  return { monthly_reset_day: monthDay };
}
