// Finds the model that a JSON body asks for while the body passes on to its provider, in pieces of any size.

const [quote, backslash, colon, comma] = [0x22, 0x5c, 0x3a, 0x2c];
const [openBrace, closeBrace, openBracket, closeBracket] = [0x7b, 0x7d, 0x5b, 0x5d];
/** Longer names and keys are none. Bytes. */
const longest = 512;

export class ModelSpotter {
  /** The last member `model` at the top level that is a text; undefined: there was none so far. */
  model: string | undefined;
  #depth = 0;
  #isText = false;
  #isEscaped = false;
  /** The text at the top level that is being read; longer ones are cut. */
  readonly #text: number[] = [];
  /** What was last read at the top level; a colon behind it makes it a key. */
  #last = '';
  #key = '';

  /** Property, because it is called without its object. */
  readonly take = (piece: Buffer): void => {
    for (const byte of piece) {
      if (this.#isText) this.#within(byte);
      else if (byte === quote) this.#isText = true;
      else if (byte === openBrace || byte === openBracket) this.#depth += 1;
      else if (byte === closeBrace || byte === closeBracket) this.#depth -= 1;
      else if (byte === colon && this.#depth === 1) this.#key = this.#last;
      else if (byte === comma && this.#depth === 1) this.#key = '';
    }
  };

  #within(byte: number): void {
    if (this.#isEscaped) this.#isEscaped = false;
    else if (byte === backslash) this.#isEscaped = true;
    else if (byte === quote) {
      this.#isText = false;
      if (this.#depth === 1) this.#read();
      return;
    }
    if (this.#depth === 1 && this.#text.length <= longest) this.#text.push(byte);
  }

  /** A text of the top level has ended: a key, or the value of one. */
  #read(): void {
    const text = textOf(this.#text);
    this.#text.length = 0;
    if (this.#key === 'model') this.model = text;
    this.#last = text;
  }
}

function textOf(bytes: readonly number[]): string {
  if (bytes.length > longest) return '';
  try {
    return JSON.parse(`"${Buffer.from(bytes).toString()}"`) as string;
  } catch {
    return '';
  }
}
