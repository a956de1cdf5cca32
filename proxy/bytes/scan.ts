// Checks a JSON text byte by byte and says where its top-level members lie, without building any object:
// bodies are forwarded as they came, so all we need is proof of validity and a few positions.

/** Deepest nesting of objects and arrays accepted. */
export const maxDepth = 128;
/** Most object keys accepted in one body, and most members of its top level. */
export const maxKeys = 250_000;
export const maxTopLevelMembers = 512;

export type ScanFault = 'syntax' | 'depth' | 'keys' | 'not_object' | 'forbidden_key';

/** Where a body stopped being acceptable; `at` is a byte offset. */
export class ScanError extends Error {
  readonly fault: ScanFault;
  readonly at: number;
  constructor(fault: ScanFault, at: number) {
    super(`${fault} at byte ${at}`);
    this.fault = fault;
    this.at = at;
  }
}

/** One top-level member: the key's bytes between its quotes, and its value's bytes. Offsets into the scanned body. */
export interface Member {
  readonly keyStart: number;
  readonly keyEnd: number;
  readonly valueStart: number;
  readonly valueEnd: number;
}

const isObject = 1;
const underConstructor = 2;
/** One byte per level of nesting. Scanning a short body is synchronous, so one scratch serves every such call. */
const sharedFrames = new Uint8Array(maxDepth + 1);
/** How far a large body is scanned without a pause. */
const stepBytes = 1024 * 1024;
const proto = Buffer.from('__proto__');
const constructorKey = Buffer.from('constructor');
const prototypeKey = Buffer.from('prototype');

/**
 * Validates `body` as one JSON object (RFC 8259) and returns its top-level members in order.
 * Offsets count from the start of `body`. Throws ScanError; never recurses, linear in time.
 * The caller has checked that the bytes are UTF-8.
 */
export function scanObject(body: Buffer): Member[] {
  return scanSteps(body, sharedFrames, Number.POSITIVE_INFINITY).next().value as Member[];
}

/** The same for a large body: lets others have their turn after every step of about a megabyte. Rejects with ScanError. */
export async function scanLargeObject(body: Buffer): Promise<Member[]> {
  const steps = scanSteps(body, new Uint8Array(maxDepth + 1), stepBytes);
  for (let step = steps.next(); ; step = steps.next()) {
    if (step.done) return step.value;
    await new Promise((resolve) => setImmediate(resolve));
  }
}

function* scanSteps(body: Buffer, frames: Uint8Array, stride: number): Generator<void, Member[], void> {
  const end = body.length;
  let pause = stride;
  const members: Member[] = [];
  let depth = 0;
  let keys = 0;
  let position = openingOf(body);
  let keyStart = 0;
  let keyEnd = 0;
  let valueStart = 0;
  let pushed = 0;

  /** Reads `"key" :` at `position`, leaves `position` at the value. */
  const readKey = (): void => {
    if (body[position] !== 0x22) throw new ScanError('syntax', position);
    const start = position + 1;
    position = skipString(body, position);
    const stop = position - 1;
    keys += 1;
    if (keys > maxKeys) throw new ScanError('keys', start);
    pushed = isSuspect(body, start, stop) && checkKey(body, start, stop, frames[depth] ?? 0) ? underConstructor : 0;
    position = skipSpace(body, position);
    if (body[position] !== 0x3a) throw new ScanError('syntax', position);
    position = skipSpace(body, position + 1);
    if (depth === 1) {
      keyStart = start;
      keyEnd = stop;
      valueStart = position;
    }
  };

  for (;;) {
    if (position > pause) {
      pause = position + stride;
      yield;
    }
    // A value starts here.
    const first = body[position];
    let closed = true;
    if (first === 0x22) position = skipString(body, position);
    else if (first === 0x7b || first === 0x5b) {
      depth += 1;
      if (depth > maxDepth) throw new ScanError('depth', position);
      frames[depth] = first === 0x7b ? isObject | pushed : 0;
      pushed = 0;
      position = skipSpace(body, position + 1);
      if (body[position] === first + 2) {
        depth -= 1;
        position += 1;
      } else {
        closed = false;
        if (first === 0x7b) readKey();
      }
    } else position = skipScalar(body, position, end);

    // A value ended here: close what it closes, up to the next value.
    while (closed) {
      if (depth === 0) {
        expectEnd(body, position);
        return members;
      }
      if (depth === 1) {
        if (members.length === maxTopLevelMembers) throw new ScanError('keys', keyStart);
        members.push({ keyStart, keyEnd, valueStart, valueEnd: position });
      }
      position = skipSpace(body, position);
      const object = ((frames[depth] ?? 0) & isObject) !== 0;
      const next = body[position];
      if (next === 0x2c) {
        position = skipSpace(body, position + 1);
        if (object) readKey();
        else pushed = 0;
        closed = false;
      } else if (next === (object ? 0x7d : 0x5d)) {
        depth -= 1;
        position += 1;
      } else throw new ScanError('syntax', position);
    }
  }
}

/** Where the object begins. */
function openingOf(body: Buffer): number {
  const position = skipSpace(body, 0);
  const byte = body[position];
  if (byte !== 0x7b) throw new ScanError(looksLikeJson(byte) ? 'not_object' : 'syntax', position);
  return position;
}

/** Nothing but space follows the object. */
function expectEnd(body: Buffer, from: number): void {
  const position = skipSpace(body, from);
  if (position !== body.length) throw new ScanError('syntax', position);
}

/** Whether a key may spell `__proto__`, `constructor` or `prototype`: the right length, or escapes in it. */
function isSuspect(body: Buffer, start: number, stop: number): boolean {
  const length = stop - start;
  if (length === proto.length || length === constructorKey.length) return true;
  for (let at = start; at < stop; at += 1) if (body[at] === 0x5c) return true;
  return false;
}

/** Refuses keys that poison objects in other runtimes; answers true for `constructor`, whose `prototype` is refused below it. */
function checkKey(body: Buffer, start: number, stop: number, frame: number): boolean {
  let name = body.subarray(start, stop);
  if (name.includes(0x5c)) name = Buffer.from(JSON.parse(`"${name.toString()}"`) as string);
  if (name.equals(proto)) throw new ScanError('forbidden_key', start);
  if ((frame & underConstructor) !== 0 && name.equals(prototypeKey)) throw new ScanError('forbidden_key', start);
  return name.equals(constructorKey);
}

function looksLikeJson(byte: number | undefined): boolean {
  return byte !== undefined && '["-0123456789tfn'.includes(String.fromCharCode(byte));
}

function skipSpace(body: Buffer, from: number): number {
  let at = from;
  for (;;) {
    const byte = body[at];
    if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) return at;
    at += 1;
  }
}

/** `from` is at the opening quote; the answer is just past the closing one. */
function skipString(body: Buffer, from: number): number {
  let at = from + 1;
  for (;;) {
    const byte = body[at];
    if (byte === 0x22) return at + 1;
    if (byte === 0x5c) at = skipEscape(body, at);
    else if (byte === undefined || byte < 0x20) throw new ScanError('syntax', at);
    else at += 1;
  }
}

function skipEscape(body: Buffer, from: number): number {
  const kind = body[from + 1];
  if (kind !== 0x75) {
    if (kind === undefined || !'"\\/bfnrt'.includes(String.fromCharCode(kind))) throw new ScanError('syntax', from);
    return from + 2;
  }
  for (let at = from + 2; at < from + 6; at += 1) if (!isHex(body[at])) throw new ScanError('syntax', at);
  return from + 6;
}

function isHex(byte = 0): boolean {
  return isDigit(byte) || (byte >= 0x41 && byte <= 0x46) || (byte >= 0x61 && byte <= 0x66);
}

function isDigit(byte = 0): boolean {
  return byte >= 0x30 && byte <= 0x39;
}

function skipScalar(body: Buffer, from: number, end: number): number {
  const first = body[from];
  if (first === 0x74) return skipWord(body, from, 'true');
  if (first === 0x66) return skipWord(body, from, 'false');
  if (first === 0x6e) return skipWord(body, from, 'null');
  return skipNumber(body, from, end);
}

function skipWord(body: Buffer, from: number, word: string): number {
  for (let index = 0; index < word.length; index += 1) {
    if (body[from + index] !== word.charCodeAt(index)) throw new ScanError('syntax', from);
  }
  return from + word.length;
}

function skipNumber(body: Buffer, from: number, end: number): number {
  let at = body[from] === 0x2d ? from + 1 : from;
  if (body[at] === 0x30) at += 1;
  else at = skipDigits(body, at);
  if (body[at] === 0x2e) at = skipDigits(body, at + 1);
  if (at < end && (body[at] === 0x65 || body[at] === 0x45)) {
    at += body[at + 1] === 0x2b || body[at + 1] === 0x2d ? 2 : 1;
    at = skipDigits(body, at);
  }
  return at;
}

/** At least one digit, as JSON demands. */
function skipDigits(body: Buffer, from: number): number {
  let at = from;
  while (isDigit(body[at])) at += 1;
  if (at === from) throw new ScanError('syntax', from);
  return at;
}
