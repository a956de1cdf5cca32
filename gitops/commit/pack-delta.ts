// An object of a pack that is written as its difference from another one.

/** Throws where the delta is damaged, or makes more than `mostBytes`. */
export function applyDelta(base: Buffer, delta: Buffer, mostBytes: number): Buffer {
  let at = 0;
  const next = (): number => delta.readUInt8(at++);
  const size = (): number => {
    let value = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = next();
      value += (byte & 127) * 2 ** shift;
      if (byte < 128) return value;
    }
  };
  /** The bytes of a number that are there, by the bits of `mask`. */
  const number = (mask: number, bytes: number): number => {
    let value = 0;
    for (let index = 0; index < bytes; index += 1) if ((mask >> index) & 1) value += next() * 2 ** (8 * index);
    return value;
  };
  if (size() !== base.length) throw new Error('a delta is of another object');
  const length = size();
  if (length > mostBytes) throw new Error('an object is too large');
  const parts: Buffer[] = [];
  let made = 0;
  while (at < delta.length) {
    const command = next();
    let part: Buffer;
    if (command >= 128) {
      const from = number(command, 4);
      const count = number(command >> 4, 3) || 0x10000;
      part = base.subarray(from, from + count);
    } else {
      part = delta.subarray(at, at + command);
      at += command;
    }
    made += part.length;
    if (part.length === 0 || made > length) throw new Error('a delta is damaged');
    parts.push(part);
  }
  return Buffer.concat(parts);
}
