// The same for the text of a JSON value, such as the arguments of a tool: its strings and its numbers are looked at, and it stays JSON.
import type { TextScanner } from './text-scanner.ts';

const stops = /["\\]/g;
/** What stands in a number, and what else stands between strings. */
const inNumber = /[-+.0-9eE]*/y;
const betweenTokens = /[^-0-9"]*/y;
const beginsNumber = /[-0-9]/;
/** A number is read when it has ended. A longer one is none that programs can hold: it becomes a string. Characters. */
const longestNumber = 1_024;

/**
 * Looks at each string and each number by itself, the escapes of strings read. What was replaced is escaped, and a number becomes a string;
 * other escapes may be written otherwise than before.
 */
export class JsonScanner {
  readonly #open: () => TextScanner;
  /** The string that has not ended yet. */
  #string: TextScanner | undefined;
  /** The number that has not ended yet, and is too long for one. */
  #longNumber: TextScanner | undefined;
  /** A number that has not ended yet; empty: there is none. */
  #number = '';
  /** An escape of which not all has come. */
  #escape = '';

  constructor(open: () => TextScanner) {
    this.#open = open;
  }

  /** Takes what comes next, and gives what is certain. */
  push(text: string): string {
    const piece = this.#escape + text;
    this.#escape = '';
    let told = '';
    let at = 0;
    while (at < piece.length) {
      const string = this.#string;
      if (string === undefined) {
        // The letters of `true` may stand in a number, too.
        const isInNumber = this.#isInNumber || beginsNumber.test(piece[at] ?? '');
        const end = isInNumber ? endOf(inNumber, piece, at) : at;
        told += this.#takeDigits(piece.slice(at, end));
        if (end < piece.length) told += this.#endNumber();
        const next = endOf(betweenTokens, piece, end);
        told += piece.slice(end, next);
        at = next;
        if (piece[at] !== '"') continue;
        told += '"';
        at += 1;
        this.#string = this.#open();
        continue;
      }
      stops.lastIndex = at;
      const stop = stops.exec(piece)?.index ?? piece.length;
      if (stop > at) told += escaped(string.push(piece.slice(at, stop)));
      at = stop;
      if (piece[at] === '"') {
        told += `${escaped(string.end())}"`;
        this.#string = undefined;
        at += 1;
      } else if (at < piece.length) {
        const length = piece[at + 1] === 'u' ? 6 : 2;
        if (at + length > piece.length) {
          this.#escape = piece.slice(at);
          break;
        }
        told += escaped(string.push(unescaped(piece.slice(at, at + length))));
        at += length;
      }
    }
    return told;
  }

  get #isInNumber(): boolean {
    return this.#number !== '' || this.#longNumber !== undefined;
  }

  #takeDigits(text: string): string {
    if (this.#longNumber !== undefined) return escaped(this.#longNumber.push(text));
    this.#number += text;
    if (this.#number.length <= longestNumber) return '';
    this.#longNumber = this.#open();
    return `"${escaped(this.#longNumber.push(this.#number))}`;
  }

  #endNumber(): string {
    const number = this.#number;
    const long = this.#longNumber;
    this.#number = '';
    this.#longNumber = undefined;
    if (long !== undefined) return `${escaped(long.end())}"`;
    if (number === '') return '';
    for (const written of new Set([withoutExponent(number), number])) {
      const scanner = this.#open();
      const told = scanner.push(written) + scanner.end();
      if (told !== written) return JSON.stringify(told);
    }
    return number;
  }

  /** The text is over: gives the rest. */
  end(): string {
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

/** What an escape stands for; what is none stays. */
function unescaped(written: string): string {
  try {
    return JSON.parse(`"${written}"`) as string;
  } catch {
    return written;
  }
}
