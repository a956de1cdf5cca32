// Reads JSON whose numbers must keep their digits, and JSON of any depth: the engine's own parser forgets the digits, or takes ten times as
// long with a reviver, and minutes where lists lie a million deep in each other.

/** Deepest nesting that is read: twice that of a client's body. */
const maxDepth = 256;
/** A text up to this length cannot be deeper. */
export const harmlessLength = 2 * maxDepth;

const quote = 0x22;
const backslash = 0x5c;
const digits = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?/y;
/** Shorter texts are copied when they are cut out; longer ones would keep all of the JSON in memory. Characters. */
const copiedLength = 12;

/** The value that a text holds. Throws a SyntaxError, also where it is nested too deeply. Time is linear in its length. */
export function readJson(text: string): unknown {
  return new JsonReader(text).read();
}

class JsonReader {
  readonly #text: string;
  #at = 0;
  #depth = 0;

  constructor(text: string) {
    this.#text = text;
  }

  read(): unknown {
    const value = this.#value();
    if (this.#next() !== -1) this.#refuse();
    return value;
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

  #value(): unknown {
    switch (this.#next()) {
      case quote:
        return this.#string();
      case 0x7b:
        return this.#nested(() => this.#object());
      case 0x5b:
        return this.#nested(() => this.#list());
      case 0x74:
        return this.#word('true', true);
      case 0x66:
        return this.#word('false', false);
      case 0x6e:
        return this.#word('null', null);
      default:
        return this.#number();
    }
  }

  #nested<Value>(read: () => Value): Value {
    if (this.#depth === maxDepth) throw new SyntaxError(`it is nested deeper than ${maxDepth} levels`);
    this.#depth += 1;
    this.#at += 1;
    const value = read();
    this.#depth -= 1;
    return value;
  }

  #object(): unknown {
    const object: Record<string, unknown> = {};
    if (this.#ends(0x7d)) return object;
    do {
      if (this.#next() !== quote) this.#refuse();
      const key = this.#string();
      if (this.#next() !== 0x3a) this.#refuse();
      this.#at += 1;
      const value = this.#value();
      if (key !== '__proto__') object[key] = value;
      else Object.defineProperty(object, key, { value, enumerable: true, configurable: true, writable: true });
    } while (this.#goesOn(0x7d));
    return object;
  }

  #list(): unknown {
    const list: unknown[] = [];
    if (this.#ends(0x5d)) return list;
    do list.push(this.#value());
    while (this.#goesOn(0x5d));
    return list;
  }

  #ends(closing: number): boolean {
    if (this.#next() !== closing) return false;
    this.#at += 1;
    return true;
  }

  /** Whether another entry follows. */
  #goesOn(closing: number): boolean {
    const code = this.#next();
    if (code !== 0x2c && code !== closing) this.#refuse();
    this.#at += 1;
    return code === 0x2c;
  }

  #string(): string {
    const text = this.#text;
    const start = this.#at;
    let end = text.indexOf('"', start + 1);
    while (end !== -1 && isEscaped(text, end)) end = text.indexOf('"', end + 1);
    if (end === -1) this.#refuse();
    this.#at = end + 1;
    if (end - start <= copiedLength) {
      const short = text.slice(start + 1, end);
      if (isPlain(short)) return short;
    }
    return JSON.parse(text.slice(start, end + 1)) as string;
  }

  #number(): unknown {
    const text = this.#text;
    digits.lastIndex = this.#at;
    if (!digits.test(text)) this.#refuse();
    const source = text.slice(this.#at, digits.lastIndex);
    this.#at = digits.lastIndex;
    const value = Number(source);
    return String(value) === source ? value : JSON.rawJSON(source);
  }

  #word<Value>(word: string, value: Value): Value {
    if (!this.#text.startsWith(word, this.#at)) this.#refuse();
    this.#at += word.length;
    return value;
  }

  #refuse(): never {
    throw new SyntaxError(`unexpected character at ${this.#at}`);
  }
}

/** Whether an odd number of backslashes stands in front. Each is looked at once, because a quote ends their row. */
function isEscaped(text: string, at: number): boolean {
  let from = at;
  while (text.charCodeAt(from - 1) === backslash) from -= 1;
  return (at - from) % 2 === 1;
}

/** No escapes, and nothing that would need one. */
function isPlain(text: string): boolean {
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === backslash || code < 0x20) return false;
  }
  return true;
}
