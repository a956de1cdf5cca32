// Days of time zones: dates that exist, where days begin, and how they are cut into buckets.
import * as fc from 'fast-check';
import { test } from 'tap';
import { bucketsOf, hourEdges, spanOf } from '../../../domain/records/buckets.ts';
import { type TimeZone, timeZone } from '../../../domain/records/time-zone.ts';
import { dateOfDay, daysSinceEpoch, dayText, readDay, weekText } from '../../../schemas/formats/calendar.ts';

const zoneOf = (name: string): TimeZone => {
  const zone = timeZone(name);
  if (zone === undefined) throw new Error(`no zone ${name}`);
  return zone;
};
const dayOf = (text: string): number => {
  const day = readDay(text);
  if (day === undefined) throw new Error(`no day ${text}`);
  return day;
};
const hourMs = 3_600_000;

await test('a day is read as it is written, and only when it exists', async (t) => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 2_900_000 }), (day) => {
      const { year, month, day: date } = dateOfDay(day);
      return daysSinceEpoch(year, month, date) === day && readDay(dayText(day)) === day;
    }),
  );
  t.equal(readDay('1970-01-01'), 0);
  t.equal(readDay('2024-02-29'), 19_782);
  for (const text of [
    '2026-02-29',
    '2026-02-30',
    '2100-02-29',
    '2026-13-01',
    '2026-00-01',
    '2026-01-00',
    '1969-12-31',
    '2026-1-1',
    '+2026-01-01',
    '',
  ])
    t.equal(readDay(text), undefined, text);
});

await test('weeks are those of ISO 8601', async (t) => {
  const rows = [
    ['2026-01-01', '2026-W01'],
    ['2024-12-30', '2025-W01'],
    ['2021-01-03', '2020-W53'],
    ['2027-01-03', '2026-W53'],
    ['1970-01-01', '1970-W01'],
  ] as const;
  for (const [day, week] of rows) t.equal(weekText(dayOf(day)), week, day);
});

await test('a day begins when clocks first show it', async (t) => {
  const rows = [
    ['UTC', '2026-03-01', '2026-03-01T00:00:00Z'],
    ['Europe/Berlin', '2026-03-29', '2026-03-28T23:00:00Z'],
    ['Europe/Berlin', '2026-03-30', '2026-03-29T22:00:00Z'],
    ['Asia/Kathmandu', '2026-01-01', '2025-12-31T18:15:00Z'],
    ['America/Sao_Paulo', '2018-11-04', '2018-11-04T03:00:00Z'],
    ['Asia/Beirut', '2026-03-29', '2026-03-28T22:00:00Z'],
    ['America/Havana', '2026-11-01', '2026-11-01T04:00:00Z'],
    ['America/Havana', '2026-11-02', '2026-11-02T05:00:00Z'],
    ['Pacific/Apia', '2011-12-30', '2011-12-30T10:00:00Z'],
    ['Pacific/Apia', '2011-12-31', '2011-12-30T10:00:00Z'],
    ['Pacific/Kiritimati', '2026-01-01', '2025-12-31T10:00:00Z'],
    ['Africa/Monrovia', '1970-01-02', '1970-01-02T00:44:30Z'],
  ] as const;
  for (const [zone, day, moment] of rows)
    t.equal(zoneOf(zone).startOfDay(dayOf(day)), Date.parse(moment), `${zone} ${day}`);
});

await test('days of every zone follow each other, and a moment is in the day that it is between', async (t) => {
  const names = Intl.supportedValuesOf('timeZone');
  t.ok(names.length > 300);
  fc.assert(
    fc.property(fc.constantFrom(...names), fc.integer({ min: 1, max: 25_000 }), (name, day) => {
      const zone = zoneOf(name);
      const [begins, ends] = [zone.startOfDay(day), zone.startOfDay(day + 1)];
      // Clocks of some islands were put forward by a whole day.
      return (
        begins === ends || (zone.dayOf(begins) === day && zone.dayOf(begins - 1) < day && ends - begins >= 20 * hourMs)
      );
    }),
    { numRuns: 300 },
  );
});

await test('names that are no zones', async (t) => {
  for (const name of ['Mars/Phobos', '+01:00', '-05', '', 'GMT+1', ' UTC', 'Europe/Berlin\0', '__proto__'])
    t.equal(timeZone(name), undefined, name);
  t.equal(timeZone('europe/BERLIN')?.name, 'Europe/Berlin');
});

await test('buckets have names and edges; the first and the last are cut', async (t) => {
  const days = { first: dayOf('2026-01-28'), last: dayOf('2026-03-02'), zone: zoneOf('Europe/Berlin') };
  const { names, edges } = bucketsOf(days, 'monthly');
  t.same(names, ['2026-01', '2026-02', '2026-03']);
  t.same(
    edges.map((edge) => new Date(edge).toISOString()),
    ['2026-01-27T23:00:00.000Z', '2026-01-31T23:00:00.000Z', '2026-02-28T23:00:00.000Z', '2026-03-02T23:00:00.000Z'],
  );
  t.same(bucketsOf(days, 'yearly').names, ['2026']);
  t.same(bucketsOf(days, 'weekly').names, ['2026-W05', '2026-W06', '2026-W07', '2026-W08', '2026-W09', '2026-W10']);
  t.equal(bucketsOf(days, 'daily').names.length, 34);
  t.same(spanOf(days), { fromMs: edges[0], toMs: edges.at(-1) });
});

await test('hours have the names of their starts in UTC, so that none is there twice', async (t) => {
  const day = dayOf('2026-10-25');
  const { names, edges } = bucketsOf({ first: day, last: day, zone: zoneOf('Europe/Berlin') }, 'hourly');
  t.equal(new Set(names).size, 25);
  t.same([names[0], names.at(-1)], ['2026-10-24T22:00:00.000Z', '2026-10-25T22:00:00.000Z']);
  t.equal(edges.length, 26);
});

await test('a day has 23, 24 or 25 hours', async (t) => {
  for (const [day, hours] of [
    ['2026-03-29', 23],
    ['2026-03-30', 24],
    ['2026-10-25', 25],
  ] as const) {
    const [first, last] = [dayOf(day), dayOf(day)];
    t.equal(hourEdges({ first, last, zone: zoneOf('Europe/Berlin') }).length - 1, hours, day);
  }
});
