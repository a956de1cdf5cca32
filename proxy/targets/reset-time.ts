// Reads when a provider's limit resets, in the formats of the providers.
import { parseMoment } from '../../schemas/formats/moment.ts';

/** In milliseconds. A number without a unit means seconds. */
const units: Readonly<Record<string, number>> = { '': 1000, ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };
/** Numbers from here on are no durations but Unix times, in seconds or milliseconds. */
const leastUnixSeconds = 1e9;
const leastUnixMs = 1e12;
const longestText = 40;

/** The moment a text names, in Unix milliseconds: RFC 3339 or Unix time; undefined for anything else. */
export function momentMs(text: string): number | undefined {
  if (text.length > longestText) return undefined;
  const value = Number(text);
  if (value >= leastUnixMs) return value;
  if (value >= leastUnixSeconds) return value * 1000;
  return text.includes('T') ? parseMoment(text) : undefined;
}

/** The milliseconds of a text such as `1s`, `6m0s`, `20ms`, `2m59.56s`, `7.66`; undefined for anything else. */
export function durationMs(text: string): number | undefined {
  if (text === '' || text.length > longestText) return undefined;
  let total = 0;
  for (let at = 0; at < text.length; ) {
    const numberEnd = run(text, at, true);
    const unitEnd = run(text, numberEnd, false);
    const value = numberEnd === at ? Number.NaN : Number(text.slice(at, numberEnd));
    const unit = units[text.slice(numberEnd, unitEnd)];
    if (Number.isNaN(value) || unit === undefined) return undefined;
    total += value * unit;
    at = unitEnd;
  }
  return total;
}

/** The end of a run of digits and points, or of anything else. */
function run(text: string, from: number, isNumber: boolean): number {
  let at = from;
  for (; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (((code >= 0x30 && code <= 0x39) || code === 0x2e) !== isNumber) break;
  }
  return at;
}
