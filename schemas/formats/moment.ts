// Parses RFC 3339 times of documents and requests, without `Date`.
import { daysIn, daysSinceEpoch } from './calendar.ts';

const shape = /^(\d{4})-(\d\d)-(\d\d)[Tt](\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?(?:[Zz]|([+-])(\d\d):(\d\d))$/;

/**
 * The Unix milliseconds of an RFC 3339 text such as `2026-01-31T12:00:00Z`; a finer fraction is cut off. Undefined for any other form
 * and for times that do not exist (30 February, 24:00, leap seconds).
 */
export function parseMoment(text: string): number | undefined {
  const match = shape.exec(text);
  if (match === null) return undefined;
  const part = (index: number): number => Number(match[index] ?? 0);
  const [year, month, day, hour, minute, second] = [part(1), part(2), part(3), part(4), part(5), part(6)];
  const [offsetHour, offsetMinute] = [part(9), part(10)];
  if (month < 1 || month > 12 || day < 1 || day > daysIn(year, month)) return undefined;
  if (hour > 23 || minute > 59 || second > 59 || offsetHour > 23 || offsetMinute > 59) return undefined;
  const milliseconds = Number((match[7] ?? '').slice(0, 3).padEnd(3, '0'));
  const offset = (offsetHour * 60 + offsetMinute) * (match[8] === '-' ? -1 : 1);
  const minutes = (daysSinceEpoch(year, month, day) * 24 + hour) * 60 + minute - offset;
  return (minutes * 60 + second) * 1000 + milliseconds;
}
