// The line of a record whose bodies can be recorded as they came, which nearly all can: they are copied behind it, and looked at together.
import { isUtf8 } from 'node:buffer';
import { mayHoldSecret } from '../../schemas/keys/key-shapes.ts';
import type { WholeBodies } from '../capture/body-capture.ts';
import { isObject } from '../capture/written-body.ts';

/** Longer lines are rare, and get memory of their own. Bytes. */
const scratchBytes = 64 * 1024;
/** The next line is written over it. */
const scratch = Buffer.allocUnsafeSlow(scratchBytes);
const beforeRequest = Buffer.from(',"request_body":');
const beforeAnswer = Buffer.from(',"response_body":');
/** The ends of `data` and of the record. */
const ends = Buffer.from('}}');

/**
 * `line`: of a record that has `data`. Undefined: a body is no JSON object, or may hold what must not be recorded. Bytes hold it until the
 * next call.
 */
export function lineOfWholeBodies(
  line: string | Buffer,
  { request, answer }: WholeBodies,
  secrets: readonly string[],
): Buffer | undefined {
  if (!isUtf8(answer) || !isObject(answer)) return undefined;
  const record = typeof line === 'string' ? Buffer.from(line) : line;
  const pieces = [record.subarray(0, -ends.length), beforeRequest, request, beforeAnswer, answer, ends];
  const whole = joined(pieces);
  const start = record.length - ends.length;
  const bodies = whole.toString('utf8', start, whole.length - ends.length);
  if (mayHoldSecret(bodies, secrets)) return undefined;
  if (!bodies.includes('\n') && !bodies.includes('\r')) return whole;
  // Between tokens alone: within a text JSON has none.
  const end = start + whole.write(bodies.replace(/[\r\n]+\s*/g, ''), start);
  whole.set(ends, end);
  return whole.subarray(0, end + ends.length);
}

function joined(pieces: readonly Buffer[]): Buffer {
  let length = 0;
  for (const piece of pieces) length += piece.length;
  const room = length <= scratchBytes ? scratch : Buffer.allocUnsafeSlow(length);
  let at = 0;
  for (const piece of pieces) {
    room.set(piece, at);
    at += piece.length;
  }
  return room.subarray(0, at);
}
