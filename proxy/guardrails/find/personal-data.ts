// Finds personal data and keys by their forms, and by checksums where they have one.
import { keyKinds } from '../../../schemas/formats/key-shapes.ts';
import { type Finder, type Follower, type Found, usualSlice } from './finder.ts';
import { PatternFinder } from './patterns.ts';

export const personalKinds = ['email', 'phone', 'card', 'iban', 'key'] as const;
export type PersonalKind = (typeof personalKinds)[number];

/** Tokens of single sign-on are the longest that is looked for. Characters. */
const window = 2048;

const forms: Record<PersonalKind, readonly string[]> = {
  email: ['\\b[A-Za-z0-9][A-Za-z0-9._%+-]{0,63}@(?:[A-Za-z0-9][A-Za-z0-9-]{0,62}\\.){1,4}[A-Za-z]{2,24}\\b'],
  phone: [
    '\\+\\d{1,3}(?:[ ().-]{0,2}\\d){6,13}\\b',
    '\\(\\d{3}\\) ?\\d{3}[ .-]\\d{4}\\b',
    '\\b\\d{3}[ .-]\\d{3}[ .-]\\d{4}\\b',
  ],
  card: ['\\b\\d(?:[ -]?\\d){12,18}\\b'],
  iban: ['\\b[A-Z]{2}\\d{2}(?: ?[A-Z0-9]){11,30}\\b'],
  key: [`\\b(?:${keyKinds})`, '\\beyJ[\\w-]{8,}\\.[\\w-]{8,}(?:\\.[\\w-]*)?'],
};

/** Says how much of a match is one, from its beginning; 0: nothing. */
type Check = (match: string) => number;

const checks: Partial<Record<PersonalKind, Check>> = {
  card: (match) => longestThat(match, isCard),
  iban: (match) => longestThat(match, isIban),
};

interface KindFinder {
  readonly finder: PatternFinder;
  readonly check: Check | undefined;
}

/** The leftmost of all kinds; of several that begin there, that of the first kind. */
export class PersonalFinder implements Finder {
  readonly window = window;
  readonly isAnchored = false;
  // Words take 0.1 µs a character, short numbers some 5 µs: much of them begins like something.
  readonly slice = usualSlice / 4;
  readonly #all: PatternFinder;
  readonly #kinds: readonly KindFinder[];

  constructor(kinds: readonly PersonalKind[]) {
    const wanted = personalKinds.filter((kind) => kinds.includes(kind));
    this.#all = new PatternFinder(
      wanted.flatMap((kind) => forms[kind]),
      window,
      '',
    );
    this.#kinds = wanted.map((kind) => ({ finder: new PatternFinder(forms[kind], window, kind), check: checks[kind] }));
  }

  mayFind(text: string): boolean {
    return this.#all.mayFind(text);
  }

  find(text: string, from: number): Found | undefined {
    let first: Found | undefined;
    for (const kind of this.#kinds) {
      const found = findChecked(kind, text, from);
      if (found !== undefined && (first === undefined || found.start < first.start)) first = found;
    }
    return first;
  }

  follow(): Follower {
    return this.#all.follow();
  }
}

function findChecked({ finder, check }: KindFinder, text: string, from: number): Found | undefined {
  for (let found = finder.find(text, from); found !== undefined; found = finder.find(text, found.start + 1)) {
    if (check === undefined) return found;
    const length = check(text.slice(found.start, found.end));
    if (length > 0) return { ...found, end: found.start + length };
  }
  return undefined;
}

/** The length of the longest beginning of a match that ends with one of its groups and passes. */
function longestThat(match: string, passes: (text: string) => boolean): number {
  for (
    let end = match.length;
    end > 0;
    end = Math.max(match.lastIndexOf(' ', end - 1), match.lastIndexOf('-', end - 1))
  ) {
    if (passes(match.slice(0, end).replaceAll(/[ -]/g, ''))) return end;
  }
  return 0;
}

/** 13 to 19 digits whose checksum is right (Luhn, ISO/IEC 7812). Of 13 digits with a 1 in front there are none, but times in milliseconds. */
function isCard(digits: string): boolean {
  if (digits.length < 13 || (digits.length === 13 && digits.startsWith('1'))) return false;
  let sum = 0;
  for (let index = 0; index < digits.length; index += 1) {
    const digit = Number(digits[digits.length - 1 - index]);
    sum += index % 2 === 0 ? digit : digit < 5 ? digit * 2 : digit * 2 - 9;
  }
  return sum % 10 === 0 && !/^0+$/.test(digits);
}

/** An account number whose checksum is right (ISO 13616, ISO 7064 mod 97-10). */
function isIban(text: string): boolean {
  if (text.length < 15) return false;
  let rest = 0;
  for (const character of text.slice(4) + text.slice(0, 4)) {
    const value = Number.parseInt(character, 36);
    rest = (rest * (value < 10 ? 10 : 100) + value) % 97;
  }
  return rest === 1;
}
