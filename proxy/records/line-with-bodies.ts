// The line of a record and its bodies → its line in the journal. Bodies are JSON texts already: they are put into the line as they are, or
// behind it, and not parsed.
import { isUtf8 } from 'node:buffer';
import { mayHoldSecret } from '../../schemas/formats/key-shapes.ts';
import { lengthOf, lineWithRawBodies, longestLineBytes, type RecordLine } from '../../store/records/record-line.ts';
import type { WholeBodies } from '../capture/body-capture.ts';
import { isObject, type WrittenBody, writeBody } from '../capture/written-body.ts';
import { knownSecrets } from './known-secrets.ts';
import type { RecordedTrip } from './record-of-trip.ts';

interface WrittenBodies {
  readonly request: WrittenBody;
  readonly answer: WrittenBody;
}

const nothing: WrittenBody = { json: undefined, isTooBig: false };
/** Most bytes of one UTF-16 code unit in UTF-8. */
const mostOfLetter = 3;
const openBrace = 0x7b;
/** Where each character stands for a byte, other characters than these are several. */
const otherThanAscii = /[^ -~]/;
/** Most bytes of one byte of a text in a JSON string: an escape of four digits. */
const mostOfByte = 6;
const quotes = 2;

/** `line`: of a record that has `data`. `nowMs`: Unix milliseconds. */
export function lineWithBodies(line: string, trip: RecordedTrip, nowMs: number): RecordLine {
  const secrets = knownSecrets(trip);
  const bodies = wholeBodiesOf(trip);
  const quick = bodies && lineOfWholeBodies(line, bodies, secrets);
  return quick !== undefined && lengthOf(quick) < longestLineBytes
    ? quick
    : lineWithWritten(line, bodiesOf(trip, secrets, nowMs));
}

/** Undefined: they are not there as they came, or not both of them. */
function wholeBodiesOf({ call, capture, exchange }: RecordedTrip): WholeBodies | undefined {
  return call?.members === undefined || exchange.told !== undefined ? undefined : capture?.wholeBodies();
}

function lineWithWritten(line: string, { request, answer }: WrittenBodies): string {
  const members = membersOf('request_body', request) + membersOf('response_body', answer);
  if (members === '') return line;
  // `data` is the last member of a record, and never empty.
  const open = line.slice(0, -2);
  const whole = `${open}${members}}}`;
  if (whole.length * mostOfLetter < longestLineBytes || Buffer.byteLength(whole) < longestLineBytes) return whole;
  const leftOut: WrittenBody = { json: undefined, isTooBig: true };
  return `${open}${membersOf('request_body', leftOut)}${membersOf('response_body', leftOut)}}}`;
}

function membersOf(name: string, { json, isTooBig }: WrittenBody): string {
  const body = json === undefined ? '' : `,"${name}":${json}`;
  return isTooBig ? `${body},"${name}_too_big_to_handle":true` : body;
}

function bodiesOf(trip: RecordedTrip, secrets: readonly string[], nowMs: number): WrittenBodies {
  const { call, capture, exchange, snapshot } = trip;
  const facts = { secrets, model: call?.model ?? '', nowMs, isObject: call?.members !== undefined };
  const request = capture?.request(facts) ?? nothing;
  if (exchange.told === undefined) return { request, answer: capture?.answer(facts) ?? nothing };
  const bytes = Buffer.from(exchange.told.body);
  const answer = writeBody({ bytes, isCut: false, mostBytes: snapshot.audit.bodyLimitBytes, secrets });
  return { request, answer };
}

/**
 * The line whose bodies stand behind it as they came, which nearly all can. `line`: of a record that has `data`. Undefined: a body may hold what
 * must not be recorded, or the answer does not look like a JSON object.
 */
export function lineOfWholeBodies(
  line: string,
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
  return lineWithRawBodies(line, asked, answered);
}

/** Without the line breaks between tokens. Undefined: it may hold what must not be recorded. */
function inOneLine(body: Buffer, secrets: readonly string[]): Buffer | undefined {
  // One character for each byte: a text with letters beyond Latin-1 takes twice the time and memory.
  const text = body.toString('latin1');
  if (mayHoldSecret(text, secrets) || secrets.some((secret) => otherThanAscii.test(secret))) return undefined;
  return text.includes('\n') ? Buffer.from(text.replace(/\r?\n[ \t\r\n]*/g, ''), 'latin1') : body;
}
