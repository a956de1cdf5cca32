// Finds the model that a JSON body asks for while the body passes on to its provider, in pieces of any size.

const [quote, backslash, colon, comma] = [0x22, 0x5c, 0x3a, 0x2c];
const [openBrace, closeBrace, openBracket, closeBracket] = [0x7b, 0x7d, 0x5b, 0x5d];
/** Longer names and keys are none. Bytes. */
const longest = 512;
const nothing: Buffer = Buffer.alloc(0);

export class ModelSpotter {
  /** The last member `model` at the top level that is a text; undefined: there was none so far. */
  model: string | undefined;
  #depth = 0;
  #isText = false;
  #isEscaped = false;
  /** The text at the top level that is being read; longer ones are cut. */
  #text = nothing;
  /** The text that was last read at the top level; a colon behind it makes it a key. */
  #last = '';
  #key = '';

  /** Property, because it is called without its object. */
  readonly take = (piece: Buffer): void => {
    for (let at = 0; at < piece.length; ) at = this.#isText ? this.#within(piece, at) : this.#between(piece, at);
  };

  /** Up to the next text. Gives how far it was read. */
  #between(piece: Buffer, from: number): number {
    for (let at = from; at < piece.length; at += 1) {
      const byte = piece[at];
      if (byte === quote) {
        this.#isText = true;
        return at + 1;
      }
      if (byte === openBrace || byte === openBracket) this.#depth += 1;
      else if (byte === closeBrace || byte === closeBracket) this.#depth -= 1;
      else if (this.#depth === 1 && byte === colon) this.#key = this.#last;
      else if (this.#depth === 1 && byte === comma) this.#key = '';
    }
    return piece.length;
  }

  /** Up to the end of a text. Gives how far it was read. */
  #within(piece: Buffer, from: number): number {
    let at = from;
    let isEscaped = this.#isEscaped;
    while (at < piece.length && (isEscaped || piece[at] !== quote)) {
      isEscaped = !isEscaped && piece[at] === backslash;
      at += 1;
    }
    this.#isEscaped = isEscaped;
    if (this.#depth === 1 && this.#text.length <= longest)
      // Copied: the bytes of a piece are used again.
      this.#text = Buffer.concat([this.#text, piece.subarray(from, Math.min(at, from + longest + 1))]);
    if (at === piece.length) return at;
    this.#isText = false;
    if (this.#depth === 1) this.#read();
    return at + 1;
  }

  /** A text of the top level has ended: a key, or the value of one. */
  #read(): void {
    const text = unescaped(this.#text);
    this.#text = nothing;
    if (this.#key === 'model') this.model = text;
    this.#last = text;
  }
}

function unescaped(bytes: Buffer): string {
  if (bytes.length > longest) return '';
  try {
    return JSON.parse(`"${bytes.toString()}"`) as string;
  } catch {
    return '';
  }
}
