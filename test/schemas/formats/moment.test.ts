// Times as text: parsed as `Date` parses them, except forms that RFC 3339 does not allow.
import * as fc from 'fast-check';
import { test } from 'tap';
import { timestamp } from '../../../domain/timestamp.ts';
import { parseMoment } from '../../../schemas/formats/moment.ts';
import { runs } from '../../support/extent.ts';

await test('every moment a timestamp can say is read back', async (t) => {
  fc.assert(
    fc.property(fc.integer({ min: Date.UTC(1, 0, 1), max: Date.UTC(9999, 11, 31) }), (ms) => {
      return parseMoment(timestamp(ms)) === ms;
    }),
    runs(2_000),
  );
  for (const day of ['2000-02-29', '2028-02-29', '2027-03-01', '1999-12-31', '2100-02-28']) {
    t.equal(parseMoment(`${day}T00:00:00Z`), Date.parse(`${day}T00:00:00Z`), day);
  }
});

await test('offsets, fractions and small letters are part of the format', async (t) => {
  const noon = Date.UTC(2026, 0, 31, 12);
  t.equal(parseMoment('2026-01-31T12:00:00Z'), noon);
  t.equal(parseMoment('2026-01-31t12:00:00z'), noon);
  t.equal(parseMoment('2026-01-31T14:30:00+02:30'), noon);
  t.equal(parseMoment('2026-01-31T04:00:00-08:00'), noon);
  t.equal(parseMoment('2026-01-31T12:00:00.5Z'), noon + 500);
  t.equal(parseMoment('2026-01-31T12:00:00.1239Z'), noon + 123);
});

await test('anything else is no moment', async (t) => {
  const refused = [
    '',
    'tomorrow',
    '2026-01-31',
    '2026-01-31T12:00Z',
    '2026-01-31T12:00:00',
    '2026-01-31 12:00:00Z',
    '2026-02-30T00:00:00Z',
    '2026-02-29T00:00:00Z',
    '2100-02-29T00:00:00Z',
    '2026-04-31T00:00:00Z',
    '2026-13-01T00:00:00Z',
    '2026-00-10T00:00:00Z',
    '2026-01-00T00:00:00Z',
    '2026-01-31T24:00:00Z',
    '2026-01-31T12:60:00Z',
    '2026-01-31T12:00:60Z',
    '2026-01-31T12:00:00+24:00',
    '2026-01-31T12:00:00+01:60',
    '2026-01-31T12:00:00.Z',
    '2026-01-31T12:00:00Z ',
    '26-01-31T12:00:00Z',
    '1790000000000',
  ];
  for (const text of refused) t.equal(parseMoment(text), undefined, text);
});
