// Writes JSON so that texts which say the same become the same bytes: members in the order of their names, no white space, each text and
// number in one spelling. What is written says what was read: a member that comes twice stays twice, a list keeps its order, and what would
// take too long stays as it is.
import { skipString } from './json-tokens.ts';

const [quote, comma, backslash, openBrace, closeBrace, openBracket, closeBracket] = [
  0x22, 0x2c, 0x5c, 0x7b, 0x7d, 0x5b, 0x5d,
];
/**
 * The most work spent on other spellings and orders, in moved bytes: some ten milliseconds. Beyond it the body stays
 * unchanged.
 */
const mostEffort = 8 * 1024 * 1024;
/** The fixed cost, in bytes, of each respelled text or number, and of each sorted member. */
const effortOfOne = 1_024;
/** Those of an object with more members keep their order. */
const mostSorted = 1_024;
/** Shorter pieces are copied byte by byte. */
const shortBytes = 24;
/** Numbers of a member in the list of an object's: where it begins, where its name ends, where it ends. */
const perMember = 3;
const numberParts = /^(-?\d+)(?:\.(\d+))?(?:[eE]\+?(-?)(\d+))?$/;

/** Writes values of one text that was checked before, one behind the other. */
export class CanonicalWriter {
  readonly #source: Buffer;
  readonly #target: Buffer;
  /** Where the next byte goes. */
  #at: number;
  /** The start of the source bytes that are copied unchanged. */
  #from = 0;
  /** The first backslash that was not passed yet. */
  #escape = -1;
  #effort = mostEffort;

  /** `target` has room for twice as many bytes as are read, from `at` on. */
  constructor(source: Buffer, target: Buffer, at: number) {
    this.#source = source;
    this.#target = target;
    this.#at = at;
  }

  /** Where what was written ends. */
  get end(): number {
    return this.#at;
  }

  /** Writes these bytes of the source as they are. */
  copy(from: number, to: number): void {
    this.#from = from;
    this.#flush(to);
  }

  byte(value: number): void {
    this.#target[this.#at] = value;
    this.#at += 1;
  }

  /** Writes the value that begins at `from`. At most 128 levels deep, as all bodies are. */
  value(from: number): void {
    this.#from = from;
    this.#flush(this.#pass(from));
  }

  /** Gives the offset behind the value at `from`, all of it written but for the last run. */
  #pass(from: number): number {
    switch (this.#source[from]) {
      case quote:
        return this.#text(from);
      case openBrace:
        return this.#object(from);
      case openBracket:
        return this.#list(from);
      case 0x74:
      case 0x6e:
        return from + 4;
      case 0x66:
        return from + 5;
      default:
        return this.#number(from);
    }
  }

  #list(from: number): number {
    let at = this.#blank(from + 1);
    while (this.#source[at] !== closeBracket) {
      at = this.#blank(this.#pass(at));
      if (this.#source[at] === comma) at = this.#blank(at + 1);
    }
    return at + 1;
  }

  #object(from: number): number {
    const members: number[] = [];
    let isSorted = true;
    let at = this.#blank(from + 1);
    while (this.#source[at] !== closeBrace) {
      this.#flush(at);
      const start = this.#at;
      const behind = this.#text(at);
      this.#flush(behind);
      const nameEnd = this.#at;
      at = this.#blank(this.#pass(this.#blank(this.#blank(behind) + 1)));
      members.push(start, nameEnd, this.#at + at - this.#from);
      const last = members.length - perMember;
      isSorted &&= last === 0 || this.#compare(members, last - perMember, last) <= 0;
      if (this.#source[at] === comma) at = this.#blank(at + 1);
    }
    const count = members.length / perMember;
    if (!isSorted && count <= mostSorted) {
      this.#flush(at);
      if (this.#affords(this.#at - (members[0] as number) + count * effortOfOne)) this.#sort(members);
    }
    return at + 1;
  }

  /** Puts members that are written into their order; those with the same name keep theirs. */
  #sort(members: readonly number[]): void {
    const target = this.#target;
    const order: number[] = [];
    for (let member = 0; member < members.length; member += perMember) order.push(member);
    order.sort((one, other) => this.#compare(members, one, other));
    let to = this.#at;
    for (const member of order) {
      to += target.copy(target, to, members[member], members[member + 2]);
      target[to] = comma;
      to += 1;
    }
    target.copyWithin(members[0] as number, this.#at, to - 1);
  }

  /** Of two members that are written: by the bytes of their names. */
  #compare(members: readonly number[], one: number, other: number): number {
    const target = this.#target;
    const from = members[one] as number;
    const to = members[other] as number;
    const length = (members[one + 1] as number) - from;
    const otherLength = (members[other + 1] as number) - to;
    for (let index = 0; index < length && index < otherLength; index += 1) {
      const difference = (target[from + index] as number) - (target[to + index] as number);
      if (difference !== 0) return difference;
    }
    return length - otherLength;
  }

  #text(from: number): number {
    const behind = skipString(this.#source, from);
    if (!this.#isSpelledPlainly(from, behind) && this.#affords(behind - from + effortOfOne)) {
      this.#flush(from);
      // Texts get one spelling, that of JSON.stringify.
      const text = JSON.parse(this.#source.toString('utf8', from, behind)) as string;
      this.#at += this.#target.write(JSON.stringify(text), this.#at);
      this.#from = behind;
    }
    return behind;
  }

  /** Whether it has no escape, or only those that could not be left out. */
  #isSpelledPlainly(from: number, behind: number): boolean {
    const source = this.#source;
    if (this.#escape < from) {
      const found = source.indexOf(backslash, from);
      this.#escape = found === -1 ? source.length : found;
    }
    for (let at = this.#escape; at < behind; at += 1) {
      if (source[at] !== backslash) continue;
      at += 1;
      const kind = source[at];
      if (kind === 0x75 || kind === 0x2f) return false;
    }
    return true;
  }

  #number(from: number): number {
    const source = this.#source;
    let isWhole = source[from] !== 0x2d || source[from + 1] !== 0x30;
    let at = from;
    for (;;) {
      const byte = source[at] as number;
      const isDigit = byte >= 0x30 && byte <= 0x39;
      const isOther = byte === 0x2e || byte === 0x65 || byte === 0x45 || byte === 0x2b || byte === 0x2d;
      if (!isDigit && !isOther) break;
      if (isOther && at > from) isWhole = false;
      at += 1;
    }
    if (isWhole || !this.#affords(effortOfOne)) return at;
    this.#flush(from);
    this.#at += this.#target.write(plainNumber(source.toString('latin1', from, at)), this.#at, 'latin1');
    this.#from = at;
    return at;
  }

  #affords(effort: number): boolean {
    this.#effort -= effort;
    return this.#effort >= 0;
  }

  /** The offset of the next byte that is no white space, which is left out. */
  #blank(from: number): number {
    const source = this.#source;
    let at = from;
    while (source[at] === 0x20 || source[at] === 0x0a || source[at] === 0x0d || source[at] === 0x09) at += 1;
    if (at === from) return at;
    this.#flush(from);
    this.#from = at;
    return at;
  }

  /** Writes what of the source is to be written as it is. */
  #flush(to: number): void {
    const [source, target] = [this.#source, this.#target];
    const length = to - this.#from;
    if (length > shortBytes) source.copy(target, this.#at, this.#from, to);
    else
      for (let index = 0; index < length; index += 1) target[this.#at + index] = source[this.#from + index] as number;
    this.#at += length;
    this.#from = to;
  }
}

/** Without a fraction of zeros, and without what an exponent need not say. No digit is lost, however many there are. */
function plainNumber(text: string): string {
  const [, whole = '', fraction = '', minus = '', exponent = ''] = numberParts.exec(text) ?? [];
  const digits = fraction.replace(/0+$/, '');
  const power = exponent.replace(/^0+/, '');
  const mantissa = digits === '' ? whole : `${whole}.${digits}`;
  if (mantissa === '-0' || mantissa === '0') return '0';
  return power === '' ? mantissa : `${mantissa}e${minus}${power}`;
}
