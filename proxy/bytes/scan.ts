// Checks a JSON text byte by byte and says where its top-level members lie, without building any object:
// bodies are forwarded as they came, so all we need is proof of validity and a few positions.
import { skipScalar, skipSpace, skipText } from './json-tokens.ts';
import { ScanError } from './scan-error.ts';

/** Deepest nesting of objects and arrays accepted. */
export const maxDepth = 128;
/** Most keys accepted in one body, and as many objects and lists; most members of its top level. */
export const maxKeys = 250_000;
export const maxTopLevelMembers = 512;
/** Longest key and longest number, and most white space in a row. Bytes. */
export const maxTokenBytes = 64 * 1024;

/** One top-level member: the key's bytes between its quotes, and its value's bytes. Offsets into the scanned body. */
export interface Member {
  readonly keyStart: number;
  readonly keyEnd: number;
  readonly valueStart: number;
  readonly valueEnd: number;
  /** Of a list: just past each of its first entries. */
  readonly ends: readonly number[];
  /** Within the value: each text of some length, from its opening quote to just past its closing one. Starts and ends in turn. */
  readonly longTexts: readonly number[];
}

/** The most entries of a list whose ends are noted. */
export const mostEnds = 64;
/** The length from which on a text is noted. Bytes. */
export const longText = 1024;

const isObject = 1;
const underConstructor = 2;
/** One byte per level of nesting. Scanning a short body is synchronous, so one scratch serves every such call. */
const sharedFrames = new Uint8Array(maxDepth + 1);
/** How far a large body is scanned without a pause: half as many numbers take about 10 ms. */
const stepBytes = 256 * 1024;
const proto = Buffer.from('__proto__');
const constructorKey = Buffer.from('constructor');
const prototypeKey = Buffer.from('prototype');
const none: readonly number[] = Object.freeze([]);

/**
 * Validates `body` as one JSON object (RFC 8259) and returns its top-level members in order.
 * Offsets count from the start of `body`. Throws ScanError; never recurses, linear in time.
 * The caller has checked that the bytes are UTF-8.
 */
export function scanObject(body: Buffer): Member[] {
  const scan = new ObjectScan(body, sharedFrames);
  scan.run(Number.POSITIVE_INFINITY);
  return scan.members;
}

/** `scanObject` for a large body: yields to other work after every `step` bytes. Rejects with a ScanError. */
export async function scanLargeObject(body: Buffer, step: number = stepBytes): Promise<Member[]> {
  const scan = new ObjectScan(body, new Uint8Array(maxDepth + 1));
  while (!scan.run(scan.position + step)) await new Promise((resolve) => setImmediate(resolve));
  return scan.members;
}

/** A scan as far as it has come. */
class ObjectScan {
  readonly members: Member[] = [];
  position: number;
  readonly #body: Buffer;
  readonly #frames: Uint8Array;
  #depth = 0;
  #keys = 0;
  /** Objects and lists. */
  #holders = 0;
  #keyStart = 0;
  #keyEnd = 0;
  #valueStart = 0;
  /** Of the member that is being read. */
  #ends: number[] | undefined;
  #longTexts: number[] | undefined;
  #textStart = 0;
  /** The flags that the frame of the next value inherits. */
  #pushed = 0;
  /** It paused within a text. */
  #isWithin = false;

  constructor(body: Buffer, frames: Uint8Array) {
    this.#body = body;
    this.#frames = frames;
    this.position = openingOf(body);
  }

  /** Goes on: true at the end of the object, false at the first value, or within the first text, that is behind `pause`. */
  run(pause: number): boolean {
    while (this.position <= pause) {
      if (!this.#passValue(pause)) continue;
      // A value ended here: close what it closes, up to the next value.
      do {
        if (this.#depth === 0) {
          expectEnd(this.#body, this.position);
          return true;
        }
      } while (this.#closeValue());
    }
    return false;
  }

  /** Passes the beginning of a value: all of it (true), the brace of an object or list with the first key, or a part of a text. */
  #passValue(pause: number): boolean {
    const body = this.#body;
    const first = body[this.position];
    if (this.#isWithin) return this.#passText(this.position, pause);
    if (first === 0x22) {
      this.#textStart = this.position;
      return this.#passText(this.position + 1, pause);
    }
    if (first !== 0x7b && first !== 0x5b) {
      const start = this.position;
      this.position = skipScalar(body, start, body.length);
      if (this.position - start > maxTokenBytes) throw new ScanError('long', start);
      return true;
    }
    this.#depth += 1;
    if (this.#depth > maxDepth) throw new ScanError('depth', this.position);
    this.#holders += 1;
    if (this.#holders > maxKeys) throw new ScanError('keys', this.position);
    this.#frames[this.#depth] = first === 0x7b ? isObject | this.#pushed : 0;
    this.#pushed = 0;
    this.position = passSpace(body, this.position + 1);
    if (body[this.position] === first + 2) {
      this.#depth -= 1;
      this.position += 1;
      return true;
    }
    if (first === 0x7b) this.#passKey();
    return false;
  }

  /** True at the end of the text. */
  #passText(from: number, pause: number): boolean {
    const end = skipText(this.#body, from, pause);
    this.#isWithin = end < 0;
    this.position = Math.abs(end);
    if (end - this.#textStart >= longText) {
      this.#longTexts ??= [];
      this.#longTexts.push(this.#textStart, end);
    }
    return end > 0;
  }

  /** Behind a value: false at the next one of the same object or list, true when that ended too. */
  #closeValue(): boolean {
    const body = this.#body;
    if (this.#depth === 1) {
      if (this.members.length === maxTopLevelMembers) throw new ScanError('keys', this.#keyStart);
      this.members.push({
        keyStart: this.#keyStart,
        keyEnd: this.#keyEnd,
        valueStart: this.#valueStart,
        valueEnd: this.position,
        ends: this.#ends ?? none,
        longTexts: this.#longTexts ?? none,
      });
    } else if (this.#depth === 2) this.#noteEntry();
    this.position = passSpace(body, this.position);
    const object = ((this.#frames[this.#depth] ?? 0) & isObject) !== 0;
    const next = body[this.position];
    if (next === 0x2c) {
      this.position = passSpace(body, this.position + 1);
      if (object) this.#passKey();
      else this.#pushed = 0;
      return false;
    }
    if (next !== (object ? 0x7d : 0x5d)) throw new ScanError('syntax', this.position);
    this.#depth -= 1;
    this.position += 1;
    return true;
  }

  #noteEntry(): void {
    if (((this.#frames[2] ?? 0) & isObject) !== 0) return;
    this.#ends ??= [];
    if (this.#ends.length < mostEnds) this.#ends.push(this.position);
  }

  /** Reads `"key" :`, up to its value. */
  #passKey(): void {
    const body = this.#body;
    if (body[this.position] !== 0x22) throw new ScanError('syntax', this.position);
    const start = this.position + 1;
    const behind = skipText(body, start, start + maxTokenBytes);
    if (behind < 0) throw new ScanError('long', start);
    const stop = behind - 1;
    this.#keys += 1;
    if (this.#keys > maxKeys) throw new ScanError('keys', start);
    const isInherited = isSuspect(body, start, stop) && checkKey(body, start, stop, this.#frames[this.#depth] ?? 0);
    this.#pushed = isInherited ? underConstructor : 0;
    const separator = passSpace(body, behind);
    if (body[separator] !== 0x3a) throw new ScanError('syntax', separator);
    this.position = passSpace(body, separator + 1);
    if (this.#depth !== 1) return;
    this.#ends = undefined;
    this.#longTexts = undefined;
    this.#keyStart = start;
    this.#keyEnd = stop;
    this.#valueStart = this.position;
  }
}

/** The offset of the next byte that is no white space. */
function passSpace(body: Buffer, from: number): number {
  const at = skipSpace(body, from, from + maxTokenBytes);
  if (at === from + maxTokenBytes) throw new ScanError('long', from);
  return at;
}

/** Where the object begins. */
function openingOf(body: Buffer): number {
  const position = passSpace(body, 0);
  const byte = body[position];
  if (byte !== 0x7b) throw new ScanError(looksLikeJson(byte) ? 'not_object' : 'syntax', position);
  return position;
}

/** Nothing but space follows the object. */
function expectEnd(body: Buffer, from: number): void {
  const position = passSpace(body, from);
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
