// Ids of records: UUIDs of version 7, so that ids grow with time; in front of random bits a counter, because several are drawn in a millisecond.
import { randomBytes } from 'node:crypto';

/** The bytes that all ids of this process share: the variant and 62 random bits. */
const random = randomBytes(8);
random[0] = ((random[0] as number) & 0x3f) | 0x80;
const tail = random.toString('hex');
const ending = `-${tail.slice(0, 4)}-${tail.slice(4)}`;
const mostCount = 0xfff;

let lastMs = 0;
let lastText = '';
let count = -1;

/** A new id at this time, Unix milliseconds. Of more than 4,096 in a millisecond, those beyond are of the next one. */
export function recordId(nowMs: number): string {
  const ms = Math.max(Math.floor(nowMs), lastMs);
  if (ms > lastMs) begin(ms);
  else if (count === mostCount) begin(ms + 1);
  count += 1;
  return `${lastText}${(0x1000 + count).toString(16).slice(1)}${ending}`;
}

function begin(ms: number): void {
  const text = ms.toString(16).padStart(12, '0');
  lastMs = ms;
  lastText = `${text.slice(0, 8)}-${text.slice(8)}-7`;
  count = -1;
}

/** Whether a text has the form of an id. */
export function isRecordId(text: string): boolean {
  return /^[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}$/.test(text);
}

/** When an id was drawn, in Unix milliseconds. */
export function recordTimeOf(id: string): number {
  return Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16);
}
