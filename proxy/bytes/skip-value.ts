// Passes a whole value of JSON that was checked before: only its end is looked for.
import { skipScalar, skipText } from './json-tokens.ts';
import { ScanError } from './scan-error.ts';

const quote = 0x22;
/** The number of bytes between two pauses: some milliseconds. */
const stepBytes = 256 * 1024;

/** `from` is at the first byte of a value; the answer is just past its last. Throws ScanError when the text ends before. */
export function skipValue(text: Buffer, from: number): number {
  const work = skippingValue(text, from);
  for (;;) {
    const { done, value } = work.next();
    if (done === true) return value;
  }
}

/** `skipValue` for a value that may be long: it yields at every pause. */
export function* skippingValue(text: Buffer, from: number): Generator<undefined, number, undefined> {
  let depth = 0;
  let pause = from + stepBytes;
  for (let at = from; at < text.length; ) {
    const byte = text[at];
    if (byte === quote) at = yield* skippingString(text, at);
    else if (depth === 0 && !isOpening(byte)) return skipScalar(text, at, text.length);
    else {
      at += 1;
      if (isOpening(byte)) depth += 1;
      else if (isClosing(byte)) depth -= 1;
    }
    if (depth === 0) return at;
    if (at < pause) continue;
    pause = at + stepBytes;
    yield;
  }
  throw new ScanError('syntax', text.length);
}

function* skippingString(text: Buffer, from: number): Generator<undefined, number, undefined> {
  let end = skipText(text, from + 1, from + stepBytes);
  while (end < 0) {
    yield;
    end = skipText(text, -end, stepBytes - end);
  }
  return end;
}

/** { or [ */
function isOpening(byte = 0): boolean {
  return byte === 0x7b || byte === 0x5b;
}

/** } or ] */
function isClosing(byte = 0): boolean {
  return byte === 0x7d || byte === 0x5d;
}
