// The line of a record whose bodies can be recorded as they came, which nearly all can: they stand behind it, and are not parsed.
import { isUtf8 } from 'node:buffer';
import { mayHoldSecret } from '../../schemas/formats/key-shapes.ts';
import { lineWithRawBodies } from '../../store/records/record-line.ts';
import type { WholeBodies } from '../capture/body-capture.ts';
import { isObject } from '../capture/written-body.ts';

const openBrace = 0x7b;
/** Where each character stands for a byte, other characters than these are several. */
const otherThanAscii = /[^ -~]/;
/** What a byte of a text takes at most in a JSON string: an escape of four digits. Bytes. */
const mostOfByte = 6;
const quotes = 2;

/**
 * `line`: of a record that has `data`. Undefined: a body may hold what must not be recorded, or the answer does not look like a JSON object.
 */
export function lineOfWholeBodies(
  line: string | Buffer,
  { request, answer, mostBytes }: WholeBodies,
  secrets: readonly string[],
): readonly Buffer[] | undefined {
  if (answer[0] !== openBrace || !isUtf8(answer)) return undefined;
  const asked = inOneLine(request, secrets);
  const answered = inOneLine(answer, secrets);
  if (asked === undefined || answered === undefined) return undefined;
  // An answer that is no JSON would lose its line breaks, and could become a string that is longer than a body may be.
  const mayBeText = answered === answer && mostOfByte * answer.length + quotes <= mostBytes;
  if (!mayBeText && !isObject(answer)) return undefined;
  return lineWithRawBodies(typeof line === 'string' ? Buffer.from(line) : line, asked, answered);
}

/** Without the line breaks between tokens. Undefined: it may hold what must not be recorded. */
function inOneLine(body: Buffer, secrets: readonly string[]): Buffer | undefined {
  // One character for each byte: a text with letters beyond Latin-1 takes twice the time and memory.
  const text = body.toString('latin1');
  if (mayHoldSecret(text, secrets) || secrets.some((secret) => otherThanAscii.test(secret))) return undefined;
  return text.includes('\n') ? Buffer.from(text.replace(/\r?\n[ \t\r\n]*/g, ''), 'latin1') : body;
}
