// Reads JSON whose numbers must keep their digits, and JSON of any depth: the engine's own parser forgets the digits, or takes ten times as
// long with a reviver, and minutes where lists lie a million deep in each other. Long texts are read in steps. It takes five times as long as the
// engine with a long prompt.

/** Deepest nesting that is read: twice that of a client's body. */
const maxDepth = 256;
/** Up to this length a text has too few values to take long, and the engine reads it in a few hundred µs. Characters. */
const harmlessLength = 64 * 1024;
/** Most values and names of one text, where a whole number of up to nine digits counts as a tenth of one, others as more. */
export const maxValues = 100_000;

const [quote, backslash, comma, colon] = [0x22, 0x5c, 0x2c, 0x3a];
const [openBrace, closeBrace, openBracket, closeBracket] = [0x7b, 0x7d, 0x5b, 0x5d];
const digits = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?/y;
/** Shorter texts are copied when they are cut out; longer ones would keep all of the JSON in memory. Characters. */
const copiedLength = 12;
/** The size of one step: values, where a number counts as one to four and any other as ten; and characters. */
const stepCost = 50_000;
const stepLength = 256 * 1024;
const otherCost = 10;
const [shortNumberCost, longNumberCost] = [1, 4];
/**
 * In texts up to this length the engine looks for a quote. It does so by one half of each code, so letters such as U+6F22 make it slow: in
 * longer texts each code is looked at. Characters.
 */
const shortLength = 64 * 1024;
/** Behind so many letters without an escape the engine looks for what comes next: ten times as fast where it is far, and slower where it is near. */
const fewPlain = 32;
const quoteOrBackslash = /["\\]/g;
/** The distance, in characters, within which a closing quote is searched without a reader. */
const nearLength = 4096;

/** Whether the engine's own parser reads a text in a moment: it is short, and has too few openings to be nested too deeply. */
export function isHarmless(text: string): boolean {
  if (text.length <= 2 * maxDepth) return true;
  return text.length <= harmlessLength && openings(text) <= maxDepth;
}

/** Objects and lists, those in texts included; when there are too many, not all are counted. */
function openings(text: string): number {
  let count = 0;
  for (const opening of ['{', '['])
    for (let at = text.indexOf(opening); at !== -1 && count <= maxDepth; at = text.indexOf(opening, at + 1)) count += 1;
  return count;
}

type Holder = Record<string, unknown> | unknown[];

/** There are more values than may be read. */
export class TooManyValues extends SyntaxError {
  override readonly name = 'TooManyValues';

  constructor() {
    super(`it has more than ${maxValues} values`);
  }
}

/**
 * The value that a text holds. Throws a SyntaxError, also where it is nested too deeply or has too many values. Time is linear in its length.
 */
export function readJson(text: string): unknown {
  const reader = new JsonReader(text, Number.POSITIVE_INFINITY);
  while (!reader.step());
  return reader.value;
}

/** `readJson` in steps of a few milliseconds, with the same errors. `length`: of a step, in characters. */
export function* readingJson(text: string, length: number = stepLength): Generator<undefined, unknown, undefined> {
  const reader = new JsonReader(text, length);
  while (!reader.step()) yield;
  return reader.value;
}

class JsonReader {
  /** The value of the text, when it was read to its end. */
  value: unknown;
  readonly #text: string;
  readonly #stepLength: number;
  readonly #isShort: boolean;
  #at = 0;
  #cost = 0;
  /** The objects and lists that are open, but for the innermost, and its keys. */
  readonly #outer: Holder[] = [];
  readonly #outerKeys: string[] = [];
  #holder: Holder | undefined;
  /** The key whose value comes next. */
  #key = '';
  #awaitsKey = false;
  /** The text that is being read. */
  #part: TextReader | undefined;

  constructor(text: string, length: number) {
    this.#text = text;
    this.#stepLength = length;
    this.#isShort = text.length <= shortLength && length === Number.POSITIVE_INFINITY;
  }

  /** Reads on: true at the end. */
  step(): boolean {
    const untilCost = this.#cost + stepCost;
    const until = this.#at + this.#stepLength;
    while (this.#cost < untilCost && this.#at <= until) {
      if (this.#awaitsKey) {
        const key = this.#string();
        if (key === undefined) return false;
        this.#takeKey(key);
        continue;
      }
      const value = this.#value();
      if (value === undefined) continue;
      if (value === unfinished) return false;
      if (this.#put(value)) return true;
    }
    return false;
  }

  /** The next character that is no space, as its code; -1 at the end. */
  #next(): number {
    const text = this.#text;
    for (; this.#at < text.length; this.#at += 1) {
      const code = text.charCodeAt(this.#at);
      if (code !== 0x20 && code !== 0x0a && code !== 0x0d && code !== 0x09) return code;
    }
    return -1;
  }

  /** A whole value; undefined: an object or list has begun. */
  #value(): unknown {
    const code = this.#part === undefined ? this.#next() : quote;
    if (code === quote) return this.#string() ?? unfinished;
    if (code === openBrace || code === openBracket) return this.#open(code);
    if (code === 0x74) return this.#word('true', true);
    if (code === 0x66) return this.#word('false', false);
    if (code === 0x6e) return this.#word('null', null);
    return this.#number();
  }

  #open(code: number): unknown {
    if (this.#outer.length + (this.#holder === undefined ? 0 : 1) >= maxDepth)
      throw new SyntaxError(`it is nested deeper than ${maxDepth} levels`);
    this.#count(otherCost);
    this.#at += 1;
    const holder: Holder = code === openBrace ? {} : [];
    if (this.#next() === (code === openBrace ? closeBrace : closeBracket)) {
      this.#at += 1;
      return holder;
    }
    if (this.#holder !== undefined) this.#outer.push(this.#holder);
    this.#outerKeys.push(this.#key);
    this.#holder = holder;
    this.#awaitsKey = code === openBrace;
    if (this.#awaitsKey && this.#next() !== quote) this.#refuse();
    return undefined;
  }

  /** Puts a value where it belongs, and what it completes: true when that is everything. */
  #put(whole: unknown): boolean {
    let value = whole;
    for (;;) {
      const holder = this.#holder;
      if (holder === undefined) {
        if (this.#next() !== -1) this.#refuse();
        this.value = value;
        return true;
      }
      const isList = Array.isArray(holder);
      if (isList) holder.push(value);
      else setMember(holder, this.#key, value);
      const code = this.#next();
      if (code === comma) {
        this.#at += 1;
        this.#awaitsKey = !isList;
        if (!isList && this.#next() !== quote) this.#refuse();
        return false;
      }
      if (code !== (isList ? closeBracket : closeBrace)) this.#refuse();
      this.#at += 1;
      value = holder;
      this.#holder = this.#outer.pop();
      this.#key = this.#outerKeys.pop() ?? '';
    }
  }

  #takeKey(key: string): void {
    if (this.#next() !== colon) this.#refuse();
    this.#at += 1;
    this.#key = key;
    this.#awaitsKey = false;
  }

  /** The text that begins here, or of which a part was read; undefined: it goes on in the next step. */
  #string(): string | undefined {
    if (this.#part === undefined) {
      this.#count(otherCost);
      const start = this.#at;
      const end = this.#isShort
        ? this.#text.indexOf('"', start + 1)
        : closingIn(this.#text, start + 1, start + nearLength);
      if (end > start && this.#text.charCodeAt(end - 1) !== backslash) {
        this.#at = end + 1;
        return wholeText(this.#text, start, end);
      }
      this.#part = new TextReader(this.#text, start);
    }
    const whole = this.#part.read(this.#stepLength);
    if (whole === undefined) return undefined;
    this.#at = this.#part.end;
    this.#part = undefined;
    return whole;
  }

  #number(): unknown {
    this.#count(shortNumberCost);
    const short = this.#shortNumber();
    if (short !== undefined) return short;
    this.#count(longNumberCost - shortNumberCost);
    const text = this.#text;
    digits.lastIndex = this.#at;
    if (!digits.test(text)) this.#refuse();
    const source = text.slice(this.#at, digits.lastIndex);
    this.#at = digits.lastIndex;
    const value = Number(source);
    if (String(value) === source) return value;
    this.#count(otherCost - longNumberCost);
    return JSON.rawJSON(source);
  }

  /** A number of up to nine digits without anything else, as most are; undefined: it is another one. */
  #shortNumber(): number | undefined {
    const text = this.#text;
    const start = this.#at;
    let value = 0;
    for (let at = start; at < start + 10; at += 1) {
      const digit = text.charCodeAt(at) - 0x30;
      if (digit >= 0 && digit <= 9) value = value * 10 + digit;
      else {
        const isOther = at === start || digit === -2 || digit === 0x15 || digit === 0x35;
        if (isOther || (text.charCodeAt(start) === 0x30 && at > start + 1)) return undefined;
        this.#at = at;
        return value;
      }
    }
    return undefined;
  }

  #word<Value>(word: string, value: Value): Value {
    this.#count(1);
    if (!this.#text.startsWith(word, this.#at)) this.#refuse();
    this.#at += word.length;
    return value;
  }

  #count(cost: number): void {
    this.#cost += cost;
    if (this.#cost > maxValues * otherCost) throw new TooManyValues();
  }

  #refuse(): never {
    throw new SyntaxError(`unexpected character at ${this.#at}`);
  }
}

/** In place of a value: a text goes on in the next step. */
const unfinished = Symbol('unfinished');

/** `__proto__` is a member like others. */
export function setMember(object: Record<string, unknown>, key: string, value: unknown): void {
  if (key !== '__proto__') object[key] = value;
  else Object.defineProperty(object, key, { value, enumerable: true, configurable: true, writable: true });
}

/** One text of JSON, read in parts where it is long. */
class TextReader {
  /** Just past the closing quote, once it is found. */
  end = 0;
  readonly #text: string;
  readonly #start: number;
  /** Where the closing quote is looked for. */
  #search: number;
  /** Where the part begins that was not read yet. */
  #from: number;
  #read = '';

  /** `start`: at the opening quote. */
  constructor(text: string, start: number) {
    this.#text = text;
    this.#start = start;
    this.#search = start + 1;
    this.#from = start + 1;
  }

  /** All of it; undefined: about so many characters were read, and it goes on. */
  read(most: number): string | undefined {
    if (this.end === 0 && !this.#findEnd(most)) return undefined;
    const stop = this.end - 1;
    if (this.#from === this.#start + 1 && stop - this.#from <= most) return wholeText(this.#text, this.#start, stop);
    const cut =
      stop - this.#from <= Math.max(most, 2 * escapeLength)
        ? stop
        : cutAt(this.#text, this.#from, this.#from + Math.max(most, 2 * escapeLength));
    this.#read += JSON.parse(`"${this.#text.slice(this.#from, cut)}"`) as string;
    this.#from = cut;
    return cut === stop ? this.#read : undefined;
  }

  #findEnd(most: number): boolean {
    const text = this.#text;
    const until = this.#search + most;
    let plain = 0;
    for (let at = this.#search; at < text.length; at += 1) {
      const code = text.charCodeAt(at);
      if (code === quote) {
        this.end = at + 1;
        return true;
      }
      plain += 1;
      if (code === backslash) {
        at += 1;
        plain = 0;
      } else if (plain > fewPlain) {
        quoteOrBackslash.lastIndex = at + 1;
        if (!quoteOrBackslash.test(text)) break;
        at = quoteOrBackslash.lastIndex - 2;
        plain = 0;
      }
      if (at < until) continue;
      this.#search = at + 1;
      return false;
    }
    throw new SyntaxError('a text does not end');
  }
}

/** The first quote or backslash; -1: there is none before `until`. */
function closingIn(text: string, from: number, until: number): number {
  for (let at = from; at < until; at += 1) {
    const code = text.charCodeAt(at);
    if (code === quote) return at;
    if (code === backslash) return -1;
  }
  return -1;
}

/** The text between two quotes. */
function wholeText(text: string, opening: number, closing: number): string {
  if (closing - opening <= copiedLength) {
    const short = text.slice(opening + 1, closing);
    if (isPlain(short)) return short;
  }
  return JSON.parse(text.slice(opening, closing + 1)) as string;
}

/** Longest escape: a backslash, an u and four digits. */
const escapeLength = 6;

/** A place at about `wanted` that is not within an escape; the text is read from `from` on, which is none either. */
function cutAt(text: string, from: number, wanted: number): number {
  const window = Math.max(from, wanted - escapeLength + 1);
  const last = window + text.slice(window, wanted).lastIndexOf('\\');
  if (last < window) return wanted;
  let row = last;
  while (row > from && text.charCodeAt(row - 1) === backslash) row -= 1;
  if (row > from) return row;
  // Nothing but backslashes, of which each second one is escaped.
  return from + ((last - from) & ~1);
}

/** No escapes, and nothing that would need one. */
function isPlain(text: string): boolean {
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === backslash || code < 0x20) return false;
  }
  return true;
}
