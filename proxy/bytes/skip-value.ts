// Passes a whole value of JSON that was checked before: only its end is looked for.
import { skipScalar, skipString } from './json-tokens.ts';
import { ScanError } from './scan-error.ts';

const quote = 0x22;

/** `from` is at the first byte of a value; the answer is just past its last. Throws ScanError when the text ends before. */
export function skipValue(text: Buffer, from: number): number {
  const first = text[from];
  if (first === quote) return skipString(text, from);
  if (!isOpening(first)) return skipScalar(text, from, text.length);
  let depth = 0;
  for (let at = from; at < text.length; ) {
    const byte = text[at];
    if (byte === quote) {
      at = skipString(text, at);
      continue;
    }
    at += 1;
    if (isOpening(byte)) depth += 1;
    else if (isClosing(byte)) depth -= 1;
    if (depth === 0) return at;
  }
  throw new ScanError('syntax', text.length);
}

/** { or [ */
function isOpening(byte = 0): boolean {
  return byte === 0x7b || byte === 0x5b;
}

/** } or ] */
function isClosing(byte = 0): boolean {
  return byte === 0x7d || byte === 0x5d;
}
