// Searches a body for keys and short texts without reading its long texts, of which a scan has noted where they lie.
import type { Member } from './scan.ts';

/** Whether these bytes, which begin with a quote, stand in the value of a member, before `end`. Within a text they cannot: its quotes are escaped. */
export function standsIn(
  body: Buffer,
  { valueStart, valueEnd, longTexts }: Member,
  quoted: Buffer,
  end: number = valueEnd,
): boolean {
  let from = valueStart;
  for (let index = 0; index <= longTexts.length && from < end; index += 2) {
    if (body.subarray(from, Math.min(end, longTexts[index] ?? end)).includes(quoted)) return true;
    from = longTexts[index + 1] ?? end;
  }
  return false;
}
