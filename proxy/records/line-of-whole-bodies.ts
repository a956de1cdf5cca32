// The line of a record whose bodies can be recorded as they came, which nearly all can: they stand behind it, and are not parsed.
import { isUtf8 } from 'node:buffer';
import { mayHoldSecret } from '../../schemas/keys/key-shapes.ts';
import { lineWithRawBodies } from '../../store/records/record-line.ts';
import type { WholeBodies } from '../capture/body-capture.ts';
import { isObject } from '../capture/written-body.ts';

const openBrace = 0x7b;
/** In bytes that are looked at one by one, other characters would have to be looked for as their bytes. */
const otherThanAscii = /[^ -~]/;

/**
 * `line`: of a record that has `data`. Undefined: a body may hold what must not be recorded, or the answer does not look like a JSON object.
 */
export function lineOfWholeBodies(
  line: string | Buffer,
  { request, answer }: WholeBodies,
  secrets: readonly string[],
): readonly Buffer[] | undefined {
  if (answer[0] !== openBrace || !isUtf8(answer)) return undefined;
  const asked = inOneLine(request, secrets);
  const answered = inOneLine(answer, secrets);
  if (asked === undefined || answered === undefined) return undefined;
  // Within a text JSON has no line breaks. Of an answer that is none, they would be lost.
  if (answered !== answer && !isObject(answer)) return undefined;
  return lineWithRawBodies(typeof line === 'string' ? Buffer.from(line) : line, asked, answered);
}

/** Without the line breaks between tokens. Undefined: it may hold what must not be recorded. */
function inOneLine(body: Buffer, secrets: readonly string[]): Buffer | undefined {
  // One character a byte takes half of the time, and of the memory of a text with letters of others.
  const text = body.toString('latin1');
  if (mayHoldSecret(text, secrets) || secrets.some((secret) => otherThanAscii.test(secret))) return undefined;
  return text.includes('\n') ? Buffer.from(text.replace(/\r?\n[ \t\r\n]*/g, ''), 'latin1') : body;
}
