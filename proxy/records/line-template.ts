// The line of a record as bytes, with places that are filled anew for each record. JSON may have spaces between its values, so a place is as
// wide as its longest value so far, and a shorter one leaves spaces.

/** What takes the values of a record, in the order of their places. */
export interface Places {
  put(value: string | number): void;
}

/** The values of one record as JSON. */
export class JsonValues implements Places {
  readonly texts: string[] = [];

  put(value: string | number): void {
    this.texts.push(JSON.stringify(value));
  }
}

/** No place is wider. Bytes. */
const widestPlace = 512;
/** Room for numbers that grow: counts of tokens, nano-dollars, and nanoseconds of an hour. Bytes. */
const leastWidth = 13;
/** Numbers below it are divided as whole numbers of 32 bits, which takes half as long. */
const billion = 1e9;
const digitsOfBillion = 9;
const space = 0x20;
const quote = 0x22;
const zero = 0x30;
const backslash = 0x5c;

export class LineTemplate implements Places {
  /** The line, once all places are filled. The next record is written over it. */
  readonly bytes: Buffer;
  readonly #starts: number[] = [];
  readonly #ends: number[] = [];
  /** What is in the places; undefined: nothing that can be used. */
  readonly #held: (string | number | undefined)[] = [];
  #place = 0;
  #isFitting = true;

  /** `pieces`: what is around the places; `values`: the JSON of one record; `widths`: what places need at least. Undefined: a value is too long. */
  static of(pieces: readonly string[], values: readonly string[], widths: readonly number[]): LineTemplate | undefined {
    const all = values.map((value, index) => Math.max(Buffer.byteLength(value), leastWidth, widths[index] ?? 0));
    return all.every((width) => width <= widestPlace) ? new LineTemplate(pieces, all) : undefined;
  }

  private constructor(pieces: readonly string[], widths: readonly number[]) {
    const lengths = pieces.map((piece) => Buffer.byteLength(piece));
    this.bytes = Buffer.allocUnsafeSlow([...lengths, ...widths].reduce((sum, length) => sum + length, 0));
    let at = 0;
    for (const [index, piece] of pieces.entries()) {
      at += this.bytes.write(piece, at);
      const width = widths[index];
      if (width === undefined) break;
      this.#starts.push(at);
      at += width;
      this.#ends.push(at);
      this.#held.push(undefined);
    }
  }

  get widths(): readonly number[] {
    return this.#starts.map((start, index) => (this.#ends[index] as number) - start);
  }

  /** Before the first value of a record. */
  begin(): void {
    this.#place = 0;
    this.#isFitting = true;
  }

  /** Whether each place has got a value, and all of them had room. */
  get isFilled(): boolean {
    return this.#isFitting && this.#place === this.#starts.length;
  }

  put(value: string | number): void {
    const place = this.#place;
    this.#place += 1;
    if (this.#held[place] === value) return;
    const isWritten = write(this.bytes, this.#starts[place] as number, this.#ends[place] as number, value);
    this.#held[place] = isWritten ? value : undefined;
    if (!isWritten) this.#isFitting = false;
  }
}

/** Puts a value into its place. False: it has no room. */
function write(bytes: Buffer, start: number, end: number, value: string | number): boolean {
  const isWritten =
    typeof value === 'string'
      ? writePlain(bytes, start, end, value)
      : Number.isSafeInteger(value) && value >= 0 && writeDigits(bytes, start, end, value);
  return isWritten || writeJson(bytes, start, end, value);
}

/** A text whose characters stand for themselves in JSON: nearly every one. False: it is none, or has no room. */
function writePlain(bytes: Buffer, start: number, end: number, text: string): boolean {
  const { length } = text;
  if (length + 2 > end - start) return false;
  let at = start;
  bytes[at] = quote;
  at += 1;
  for (let index = 0; index < length; index += 1) {
    const code = text.charCodeAt(index);
    if (code < 0x20 || code > 0x7e || code === quote || code === backslash) return false;
    bytes[at] = code;
    at += 1;
  }
  bytes[at] = quote;
  for (at += 1; at < end; at += 1) bytes[at] = space;
  return true;
}

function writeJson(bytes: Buffer, start: number, end: number, value: string | number): boolean {
  const json = JSON.stringify(value);
  if (Buffer.byteLength(json) > end - start) return false;
  bytes.fill(space, start + bytes.write(json, start), end);
  return true;
}

/** A whole number, which ends where its place does. */
function writeDigits(bytes: Buffer, start: number, end: number, value: number): boolean {
  let at = end;
  let rest = value;
  if (rest >= billion) {
    rest = Math.floor(value / billion);
    at = end - digitsOfBillion;
    if (at <= start) return false;
    let low = value - rest * billion;
    for (let digit = end - 1; digit >= at; digit -= 1) {
      const next = (low / 10) | 0;
      bytes[digit] = zero + low - next * 10;
      low = next;
    }
  }
  do {
    if (at === start) return false;
    at -= 1;
    const next = (rest / 10) | 0;
    bytes[at] = zero + rest - next * 10;
    rest = next;
  } while (rest > 0);
  while (at > start) {
    at -= 1;
    bytes[at] = space;
  }
  return true;
}
