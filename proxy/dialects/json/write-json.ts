// Writes long JSON in steps, because the engine writes a body of many megabytes without a pause.
import type { JsonValue } from './json.ts';

/** The size of one step: values, and characters. */
const stepValues = 5_000;
const stepLength = 256 * 1024;

/** An object or list that is being written. */
interface Frame {
  readonly holder: Readonly<Record<string, JsonValue | undefined>> | readonly JsonValue[];
  /** Of an object. */
  readonly keys: readonly string[] | undefined;
  next: number;
  isFirst: boolean;
}

/** The bytes that `writeJson` would give, in steps of a few milliseconds. `length`: of a step, in characters. */
export function* writingJson(value: JsonValue, length: number = stepLength): Generator<undefined, Buffer, undefined> {
  const written: Buffer[] = [];
  for (const piece of jsonPieces(value, length)) {
    if (written.length > 0) yield;
    written.push(Buffer.from(piece));
  }
  return written.length === 1 ? (written[0] as Buffer) : Buffer.concat(written);
}

/** The text that `writeJson` would give, in pieces. `length`: of what is written as one piece, in characters. */
export function* jsonPieces(value: JsonValue, length: number): Generator<string, void, undefined> {
  const writer = new JsonWriter(value, length);
  do yield writer.step();
  while (!writer.isOver);
}

class JsonWriter {
  readonly #length: number;
  readonly #frames: Frame[] = [];
  #text = '';
  /** A long text, and how far it was written. */
  #long: { readonly text: string; from: number } | undefined;

  constructor(value: JsonValue, length: number) {
    this.#length = length;
    this.#value(value);
  }

  get isOver(): boolean {
    return this.#frames.length === 0 && this.#long === undefined;
  }

  /** The next piece of the text. */
  step(): string {
    for (let count = 0; count < stepValues && this.#text.length < this.#length; count += 1) {
      if (this.#long !== undefined) this.#longText(this.#long);
      else {
        const frame = this.#frames.at(-1);
        if (frame === undefined) break;
        this.#entry(frame);
      }
    }
    const piece = this.#text;
    this.#text = '';
    return piece;
  }

  #entry(frame: Frame): void {
    const { keys, holder } = frame;
    const index = frame.next;
    const key = keys?.[index];
    if (index === (keys ?? (holder as readonly JsonValue[])).length) {
      this.#text += keys === undefined ? ']' : '}';
      this.#frames.pop();
      return;
    }
    frame.next += 1;
    const value = (holder as Readonly<Record<string | number, JsonValue | undefined>>)[key ?? index];
    if (value === undefined && key !== undefined) return;
    if (!frame.isFirst) this.#text += ',';
    frame.isFirst = false;
    if (key !== undefined) this.#text += `${JSON.stringify(key)}:`;
    this.#value(value ?? null);
  }

  #value(value: JsonValue): void {
    if (typeof value === 'string' && value.length > this.#length) {
      this.#text += '"';
      this.#long = { text: value, from: 0 };
    } else if (typeof value !== 'object' || value === null || JSON.isRawJSON(value))
      this.#text += JSON.stringify(value);
    else {
      const isList = Array.isArray(value);
      this.#text += isList ? '[' : '{';
      const keys = isList ? undefined : Object.keys(value);
      this.#frames.push({ holder: value, keys, next: 0, isFirst: true });
    }
  }

  /** The next part of a long text. A character that takes two codes is not cut: halves of it would be written as escapes. */
  #longText(long: { readonly text: string; from: number }): void {
    const { text, from } = long;
    let end = Math.min(text.length, from + this.#length);
    if (isHalf(text.charCodeAt(end - 1), 0xd800) && isHalf(text.charCodeAt(end), 0xdc00)) end += 1;
    this.#text += JSON.stringify(text.slice(from, end)).slice(1, -1);
    long.from = end;
    if (end < text.length) return;
    this.#text += '"';
    this.#long = undefined;
  }
}

/** One of the 1,024 codes from `first` on: the first halves of characters, or the second ones. */
function isHalf(code: number, first: number): boolean {
  return code >= first && code < first + 0x400;
}
