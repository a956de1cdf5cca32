// Reads the first bytes of a body: removes a byte order mark, and finds the form of the body by what follows, not by its head.

const mark = [0xef, 0xbb, 0xbf];
const openBrace = 0x7b;
const nothing: Buffer = Buffer.alloc(0);

/** The form of a body. */
export type BodyForm = 'json' | 'events' | 'other';

/** A line of an event stream, and the beginning of one. */
const eventLine = /^\s*(?:data|event|id|retry)?:/;
const begunLine = /^\s*(?:d(?:a(?:t(?:a)?)?)?|e(?:v(?:e(?:n(?:t)?)?)?)?|i(?:d)?|r(?:e(?:t(?:r(?:y)?)?)?)?)?$/;
/** The most white space before the first character, in bytes; more means another form. */
const mostRead = 64;

/** Takes the first bytes of one body, however they are cut. */
export class FirstBytes {
  #held: Buffer = nothing;
  /** Undefined: too little has come to tell. */
  form: BodyForm | undefined;
  /** A mark was taken off. */
  hadMark = false;

  /**
   * Returns the bytes that may be used now; empty until the form of the body is known. They are a copy where they came
   * in pieces.
   */
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

/** The number of bytes of a byte order mark at the beginning, 0 to 3. */
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
