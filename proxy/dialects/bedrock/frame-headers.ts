// The headers of a frame of AWS: each has a name, the number of a type and a value.
import { InvalidAnswer } from '../translation.ts';

const textType = 7;
/** Lengths of the values by the number of their type. Undefined: the length stands before the value. */
const lengths: readonly (number | undefined)[] = [
  0, // true
  0, // false
  1, // byte
  2, // short
  4, // integer
  8, // long
  undefined, // bytes
  undefined, // text
  8, // timestamp
  16, // UUID
];

/** The headers that are texts, by name; others are skipped. Throws an InvalidAnswer. */
export function stringHeaders(bytes: Buffer): ReadonlyMap<string, string> {
  const headers = new Map<string, string>();
  let at = 0;
  const advance = (length: number): number => {
    const from = at;
    at += length;
    if (at > bytes.length) throw new InvalidAnswer('the headers of an event are cut off');
    return from;
  };
  while (at < bytes.length) {
    const nameLength = bytes.readUInt8(advance(1));
    const name = advance(nameLength);
    const type = bytes.readUInt8(advance(1));
    if (type >= lengths.length) throw new InvalidAnswer('a header of an event has an unknown type');
    const length = lengths[type] ?? bytes.readUInt16BE(advance(2));
    const value = advance(length);
    if (type === textType)
      headers.set(bytes.toString('utf8', name, name + nameLength), bytes.toString('utf8', value, value + length));
  }
  return headers;
}
