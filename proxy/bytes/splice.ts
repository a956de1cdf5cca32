// Replaces a few byte ranges of a body and keeps every other byte as it came.

/** Bytes `start` to `end` (exclusive) give way to `bytes`. */
export interface Edit {
  readonly start: number;
  readonly end: number;
  readonly bytes: Buffer;
}

/**
 * From here on a body gets memory of its own, which can be given back: in a part of Node's pool, which waits for the collector, 8 KiB take 1.2 µs
 * instead of 0.4. Shorter ones take 0.2 instead of 0.4 there.
 */
const ownBytes = 2048;

/** Applies edits that are in order and do not overlap. Without edits, the same buffer. */
export function splice(body: Buffer, edits: readonly Edit[]): Buffer {
  if (edits.length === 0) return body;
  let length = body.length;
  for (const edit of edits) length += edit.bytes.length - (edit.end - edit.start);
  const result = length < ownBytes ? Buffer.allocUnsafe(length) : Buffer.allocUnsafeSlow(length);
  let from = 0;
  let to = 0;
  for (const edit of edits) {
    to += body.copy(result, to, from, edit.start);
    to += edit.bytes.copy(result, to);
    from = edit.end;
  }
  body.copy(result, to, from);
  return result;
}
