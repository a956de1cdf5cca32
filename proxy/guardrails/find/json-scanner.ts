// The scanner for the text of a JSON value, such as the arguments of a tool: it checks its strings and its numbers, and keeps it JSON.

/** Reads one text piece by piece, and says what stands there in the end. */
export interface TextReader {
  /** Takes what comes next, and gives what is certain. */
  push(text: string): string;
  /** A text that comes as a whole, and is the only one. */
  whole(text: string): string;
  /** The text is over: gives the rest. */
  end(): string;
}

/** The rest of a string, but for an escape that has not ended: at most so many parts, because V8 needs its stack for each. */
const inString = /(?:[^"\\]+|\\u.{4}|\\[^u]){0,50000}/sy;
const oneInString = /[^"\\]|\\u.{4}|\\[^u]/sy;
const escapes = /\\(?:u.{4}|[^u])/gs;
/** The characters of a number, and those between values. */
const inNumber = /[-+.0-9eE]*/y;
const betweenValues = /[\s{}[\]:,truefalsn]*/y;
const beginsNumber = /[-0-9]/;
const blank = /\s/;
const behindValue = /[\]},]/;
/** A number is read when it has ended. A longer one is none that programs can hold: it becomes a string. Characters. */
const longestNumber = 1_024;

/**
 * Looks at each string and each number by itself, the escapes of strings read. What was replaced is escaped, and a number becomes a string;
 * other escapes may be written otherwise than before. From where a text is no JSON, all of it is looked at as it stands.
 */
export class JsonScanner {
  readonly #open: () => TextReader;
  /** The string that has not ended yet. */
  #string: TextReader | undefined;
  /** It is read from its beginning. */
  #isFresh = false;
  /** The number that has not ended yet, and is too long for one. */
  #longNumber: TextReader | undefined;
  /** A number that has not ended yet; empty: there is none. */
  #number = '';
  /** Blanks behind it: it is none if something else follows than the end of a value. */
  #blanks = '';
  /** An escape of which not all has come. */
  #escape = '';
  /** Reads what is no JSON. */
  #plain: TextReader | undefined;
  /** The certain text of the piece that is read. */
  #told = '';

  constructor(open: () => TextReader) {
    this.#open = open;
  }

  /** Takes what comes next, and gives what is certain. */
  push(text: string): string {
    const piece = this.#escape + text;
    this.#escape = '';
    this.#told = '';
    let at = 0;
    while (at < piece.length) {
      if (this.#plain !== undefined) {
        this.#told += this.#plain.push(piece.slice(at));
        break;
      }
      at = this.#string === undefined ? this.#between(piece, at) : this.#within(this.#string, piece, at);
    }
    return this.#told;
  }

  /** Between strings. Gives how far it was read. */
  #between(piece: string, at: number): number {
    const first = piece[at] as string;
    const isDigits = this.#isInNumber ? this.#blanks === '' : beginsNumber.test(first);
    const end = isDigits ? endOf(inNumber, piece, at) : at;
    if (end > at) {
      this.#takeDigits(piece.slice(at, end));
      return end;
    }
    if (this.#isInNumber && this.#longNumber === undefined) {
      if (blank.test(first)) {
        this.#blanks += first;
        return at + 1;
      }
      if (!behindValue.test(first)) return this.#goOnPlainly(at);
    }
    this.#told += this.#endNumber();
    const next = endOf(betweenValues, piece, at);
    this.#told += piece.slice(at, next);
    if (next === piece.length || beginsNumber.test(piece[next] as string)) return next;
    if (piece[next] !== '"') return this.#goOnPlainly(next);
    this.#told += '"';
    this.#string = this.#open();
    this.#isFresh = true;
    return next + 1;
  }

  /** Within a string. Gives how far it was read. */
  #within(string: TextReader, piece: string, at: number): number {
    const stop = endOf(inString, piece, at);
    const read = unescaped(piece.slice(at, stop));
    const isWhole = this.#isFresh && piece[stop] === '"';
    this.#isFresh = false;
    this.#told += escaped(isWhole ? string.whole(read) : string.push(read));
    if (piece[stop] === '"') {
      this.#told += isWhole ? '"' : `${escaped(string.end())}"`;
      this.#string = undefined;
      return stop + 1;
    }
    if (endOf(oneInString, piece, stop) > stop) return stop;
    this.#escape = piece.slice(stop);
    return piece.length;
  }

  /** It is no JSON: what looked like a number is the beginning of something else. */
  #goOnPlainly(at: number): number {
    this.#plain = this.#open();
    this.#told += this.#plain.push(this.#number + this.#blanks);
    this.#number = '';
    this.#blanks = '';
    return at;
  }

  get #isInNumber(): boolean {
    return this.#number !== '' || this.#longNumber !== undefined;
  }

  #takeDigits(text: string): void {
    if (this.#longNumber !== undefined) {
      this.#told += escaped(this.#longNumber.push(text));
      return;
    }
    this.#number += text;
    if (this.#number.length <= longestNumber) return;
    this.#longNumber = this.#open();
    this.#told += `"${escaped(this.#longNumber.push(this.#number))}`;
  }

  #endNumber(): string {
    const number = this.#number;
    const blanks = this.#blanks;
    const long = this.#longNumber;
    this.#number = '';
    this.#blanks = '';
    this.#longNumber = undefined;
    if (long !== undefined) return `${escaped(long.end())}"`;
    return number === '' ? '' : this.#readNumber(number) + blanks;
  }

  #readNumber(number: string): string {
    for (const written of new Set([withoutExponent(number), number])) {
      const told = this.#open().whole(written);
      if (told !== written) return JSON.stringify(told);
    }
    return number;
  }

  /** The text is over: gives the rest. */
  end(): string {
    if (this.#plain !== undefined) return this.#plain.end();
    const told = this.#endNumber() + escaped(this.#string?.end() ?? '') + this.#escape;
    this.#string = undefined;
    this.#escape = '';
    return told;
  }
}

function endOf(token: RegExp, text: string, from: number): number {
  token.lastIndex = from;
  token.test(text);
  return token.lastIndex;
}

/** `4.1e15` has the digits of 4100000000000000. */
function withoutExponent(number: string): string {
  if (!/[.eE]/.test(number)) return number;
  const value = Number(number);
  return Number.isSafeInteger(value) ? String(value) : number;
}

function escaped(text: string): string {
  return text === '' ? '' : JSON.stringify(text).slice(1, -1);
}

/** The text of a part of a string, its escapes decoded. */
function unescaped(written: string): string {
  return written.includes('\\')
    ? (parsed(written) ?? written.replaceAll(escapes, (one) => parsed(one) ?? one))
    : written;
}

function parsed(written: string): string | undefined {
  try {
    return JSON.parse(`"${written}"`) as string;
  } catch {
    return undefined;
  }
}
