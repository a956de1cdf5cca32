// The place where two answers meet: of the second one, what the client has read already is cut.

/** The place between what was said and what another target says behind it. */
export interface Seam {
  /** Takes more words of the second answer, and gives those that are new. Undefined: it says something else. */
  push(text: string): string | undefined;
  /** The second answer has no more words: gives those that were held. Undefined: it says something else. */
  end(): string | undefined;
}

/** How the other target was asked to go on. */
export interface AskedToGoOn {
  /** The words that it was given as the beginning of its answer. */
  readonly prefix: string;
  /** It continues a text at exactly that point; false: it was asked to in words, and may repeat the last ones. */
  readonly isExact: boolean;
  /** It repeats the prefix before it goes on. */
  readonly repeats: boolean;
}

/** Longest repetition of last words that is looked for, and the length from which one may begin within a word. Characters. */
const mostRepeated = 2048;
const longRepetition = 16;
const letter = /\p{L}/u;
const wordLetter = /[\p{L}\p{N}_]/u;

/** The answer goes on behind what was said. */
export class ContinuedSeam implements Seam {
  /** What may be repeated, the longest first. */
  readonly #repeatable: readonly string[];
  /** The blanks behind the prefix: the client has them, and the target does not know. */
  readonly #blanks: string;
  #come = '';
  #isOpen = true;

  constructor(said: string, { prefix, isExact, repeats }: AskedToGoOn) {
    this.#blanks = said.slice(prefix.length);
    const isTelling = repeats || prefix.length >= longRepetition;
    if (!isExact) this.#repeatable = lastWords(said);
    else this.#repeatable = prefix !== '' && isTelling ? [prefix] : [];
  }

  push(text: string): string {
    if (!this.#isOpen) return text;
    this.#come += text;
    return this.#settled(false);
  }

  end(): string {
    return this.#isOpen ? this.#settled(true) : '';
  }

  /** What is new, once that is known. */
  #settled(isEnd: boolean): string {
    const come = this.#come;
    if (!isEnd && this.#repeatable.some((words) => words.length > come.length && words.startsWith(come))) return '';
    const repeated = this.#repeatable.find((words) => come.startsWith(words)) ?? '';
    const rest = come.slice(repeated.length);
    const blanks = commonLength(rest, this.#blanks);
    if (!isEnd && blanks === rest.length && blanks < this.#blanks.length) return '';
    this.#isOpen = false;
    return rest.slice(blanks);
  }
}

/** The answer begins again from the start, and must say the same as far as the client has read. */
export class RepeatedSeam implements Seam {
  readonly #said: string;
  #at = 0;

  constructor(said: string) {
    this.#said = said;
  }

  push(text: string): string | undefined {
    const known = this.#said.slice(this.#at, this.#at + text.length);
    if (!text.startsWith(known)) return undefined;
    this.#at += known.length;
    return text.slice(known.length);
  }

  end(): string | undefined {
    return this.#at === this.#said.length ? '' : undefined;
  }
}

/**
 * All that was said, and its ends that begin with a word or are long. Without a letter it is no repetition: two line breaks are a paragraph,
 * and two digits a number.
 */
function lastWords(said: string): readonly string[] {
  const end = lastLetter(said);
  const found = end === -1 ? [] : [said];
  for (let at = Math.max(1, said.length - mostRepeated); at <= end; at += 1) {
    if (said.length - at >= longRepetition || beginsWord(said, at)) found.push(said.slice(at));
  }
  return found;
}

/** Where the last letter stands; -1: there is none. */
function lastLetter(text: string): number {
  let at = text.length - 1;
  while (at >= 0 && !letter.test(text[at] ?? '')) at -= 1;
  return at;
}

function beginsWord(text: string, at: number): boolean {
  return !wordLetter.test(text[at - 1] ?? '') || !wordLetter.test(text[at] ?? '');
}

function commonLength(one: string, other: string): number {
  let length = 0;
  while (length < one.length && length < other.length && one[length] === other[length]) length += 1;
  return length;
}
