// The first bytes of a body: a byte order mark is no part of it, and what follows tells how it is framed, whatever its head says.

const mark = [0xef, 0xbb, 0xbf];
const openBrace = 0x7b;
const nothing: Buffer = Buffer.alloc(0);

/** What a body is. */
export type BodyForm = 'json' | 'events' | 'other';

/** A line of an event stream, and the beginning of one. */
const eventLine = /^\s*(?:data|event|id|retry)?:/;
const begunLine = /^\s*(?:d(?:a(?:t(?:a)?)?)?|e(?:v(?:e(?:n(?:t)?)?)?)?|i(?:d)?|r(?:e(?:t(?:r(?:y)?)?)?)?)?$/;
/** What comes behind more white space than this is something else. Bytes. */
const mostRead = 64;

/** Takes the first bytes of one body, however they are cut. */
export class FirstBytes {
  #held: Buffer = nothing;
  /** Undefined: too little has come to tell. */
  form: BodyForm | undefined;
  /** A mark was taken off. */
  hadMark = false;

  /** The bytes that may be used now: none, until it is known what the body is. They are a copy where they came in pieces. */
  take(chunk: Buffer): Buffer {
    const bytes = this.#held.length === 0 ? chunk : Buffer.concat([this.#held, chunk]);
    const begun = markLength(bytes);
    const plain = bytes.subarray(begun);
    const isCut = begun < mark.length && begun > 0 && begun === bytes.length;
    this.form = isCut ? undefined : formOf(plain);
    if (this.form === undefined) {
      this.#held = Buffer.from(bytes);
      return nothing;
    }
    return this.#given(bytes, begun);
  }

  /** The body has ended, and this is all of it. */
  rest(): Buffer {
    const bytes = this.#held;
    this.form ??= 'other';
    return this.#given(bytes, markLength(bytes));
  }

  #given(bytes: Buffer, begun: number): Buffer {
    this.#held = nothing;
    this.hadMark = begun === mark.length;
    return this.hadMark ? bytes.subarray(begun) : bytes;
  }
}

/** So many bytes of a mark stand at the beginning. */
function markLength(bytes: Buffer): number {
  let length = 0;
  while (length < mark.length && bytes[length] === mark[length]) length += 1;
  return length;
}

function formOf(bytes: Buffer): BodyForm | undefined {
  if (bytes[0] === openBrace) return 'json';
  const text = bytes.toString('latin1', 0, mostRead);
  if (text.length < mostRead && begunLine.test(text)) return undefined;
  if (eventLine.test(text)) return 'events';
  return text.trimStart().startsWith('{') ? 'json' : 'other';
}
