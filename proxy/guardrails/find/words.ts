// Finds words in any case, however many there are (Aho and Corasick, 1975): one step for each character.
import { codeAt, codeBefore, type Finder, type Follower, type Found, usualSlice, widthOf } from './finder.ts';

/** Stands in the automaton before a character that follows no word character. */
const mayBegin = -1;
/** Stands there behind a character that no word character follows. */
const mayEnd = -2;

interface Node {
  readonly next: Map<number, Node>;
  /** The longest end of this text that is a beginning of a word, too. */
  fail: Node | undefined;
  /** Characters from the beginning of a word to here. */
  readonly depth: number;
  /** Characters of the longest word that ends here; 0: none. */
  longest: number;
}

const nodeAt = (depth: number): Node => ({ next: new Map(), fail: undefined, depth, longest: 0 });

export interface WordSettings {
  readonly words: readonly string[];
  /** Letters, digits and underscores beside it make it another word. */
  readonly areWhole: boolean;
  readonly isCaseSensitive?: boolean;
  readonly reason: string;
}

/** The leftmost of all words; of several that begin there, the longest. */
export class WordFinder implements Finder {
  readonly slice = usualSlice;
  readonly window: number;
  readonly isAnchored = false;
  readonly settings: WordSettings;
  readonly root: Node;
  /** Characters of ASCII with which a word begins, in any case where that counts. */
  readonly begins = new Uint8Array(128);

  constructor(settings: WordSettings) {
    this.settings = settings;
    this.root = automatonOf(settings);
    for (const word of settings.words) {
      for (const first of [word, word.toLowerCase(), word.toUpperCase()]) {
        const code = first.codePointAt(0) ?? 0;
        if (code < 128) this.begins[code] = 1;
      }
    }
    // No finding is longer, so nothing is cut.
    this.window = Math.max(...settings.words.map((word) => word.length)) + 2;
  }

  mayFind(text: string): boolean {
    return this.#first(text, 0, true) !== undefined;
  }

  find(text: string, from: number): Found | undefined {
    const found = this.#first(text, from, false);
    return found === undefined ? undefined : { ...found, reason: this.settings.reason };
  }

  follow(): WordFollower {
    return new WordFollower(this);
  }

  #first(text: string, from: number, isAnyEnough: boolean): { start: number; end: number } | undefined {
    const follower = this.follow();
    follower.reset(codeBefore(text, from));
    for (let at = from; at < text.length; ) {
      const code = codeAt(text, at);
      follower.step(code, at);
      if (follower.complete !== Number.POSITIVE_INFINITY && (isAnyEnough || follower.begun > follower.complete)) break;
      at += widthOf(code);
    }
    follower.end(text.length);
    return follower.found;
  }
}

/** Where it is in the automaton. */
export class WordFollower implements Follower {
  begun = Number.POSITIVE_INFINITY;
  found: { start: number; end: number } | undefined;
  readonly #finder: WordFinder;
  #node: Node;
  #before = -1;

  constructor(finder: WordFinder) {
    this.#finder = finder;
    this.#node = finder.root;
  }

  get complete(): number {
    return this.found?.start ?? Number.POSITIVE_INFINITY;
  }

  reset(before: number): void {
    this.begun = Number.POSITIVE_INFINITY;
    this.found = undefined;
    this.#node = this.#finder.root;
    this.#before = before;
  }

  step(code: number, at: number): void {
    const { begins, root, settings } = this.#finder;
    const before = this.#before;
    this.#before = code;
    // Most characters begin no word, and stand in none.
    if (this.#node.depth === 0 && code < 128 && begins[code] === 0) {
      this.#node = root;
      return;
    }
    if (settings.areWhole) {
      if (!isWordCode(code)) this.#take(mayEnd, at);
      if (!isWordCode(before)) this.#take(mayBegin, at);
    }
    this.#take(settings.isCaseSensitive === true ? code : folded(code), at + widthOf(code));
  }

  /** The text ends at an offset. */
  end(at: number): void {
    if (this.#finder.settings.areWhole) this.#take(mayEnd, at);
  }

  #take(symbol: number, end: number): void {
    let node: Node | undefined = this.#node;
    let next = node.next.get(symbol);
    while (next === undefined && node?.fail !== undefined) {
      node = node.fail;
      next = node.next.get(symbol);
    }
    this.#node = next ?? this.#finder.root;
    const { depth, longest } = this.#node;
    this.begun = depth === 0 || this.#node.next.size === 0 ? this.#begunBehind(end) : end - depth;
    if (longest > 0) this.#note(end - longest, end);
  }

  /** Of a word that is complete only what goes on in others has begun. */
  #begunBehind(end: number): number {
    for (let node = this.#node.fail; node !== undefined && node.depth > 0; node = node.fail) {
      if (node.next.size > 0) return end - node.depth;
    }
    return Number.POSITIVE_INFINITY;
  }

  #note(start: number, end: number): void {
    const { found } = this;
    if (found === undefined || start < found.start || (start === found.start && end > found.end)) {
      this.found = { start, end };
    }
  }
}

function automatonOf({ words, areWhole, isCaseSensitive }: WordSettings): Node {
  const root = nodeAt(0);
  for (const word of words) {
    let node = root;
    for (const [symbol, depth] of symbolsOf(word, areWhole, isCaseSensitive === true)) {
      let next = node.next.get(symbol);
      if (next === undefined) {
        next = nodeAt(depth);
        node.next.set(symbol, next);
      }
      node = next;
    }
    node.longest = Math.max(node.longest, word.length);
  }
  const order: Node[] = [root];
  // The list grows while it is walked: level by level.
  for (const node of order) {
    for (const [symbol, next] of node.next) {
      let fail = node.fail;
      while (fail !== undefined && !fail.next.has(symbol)) fail = fail.fail;
      next.fail = fail?.next.get(symbol) ?? root;
      next.longest = Math.max(next.longest, next.fail.longest);
      order.push(next);
    }
  }
  return root;
}

/** The symbols of a word for the automaton, each with the number of characters of the word up to it. */
function* symbolsOf(word: string, areWhole: boolean, isCaseSensitive: boolean): Iterable<[number, number]> {
  let depth = 0;
  let before: number | undefined;
  for (const character of word) {
    const code = character.codePointAt(0) as number;
    if (areWhole) {
      if (before !== undefined && !isWordCode(code)) yield [mayEnd, depth];
      if (before === undefined || !isWordCode(before)) yield [mayBegin, depth];
    }
    depth += widthOf(code);
    yield [isCaseSensitive ? code : folded(code), depth];
    before = code;
  }
  if (areWhole) yield [mayEnd, depth];
}

const wordCharacter = /[\p{L}\p{M}\p{N}_]/u;

function isWordCode(code: number): boolean {
  if (code < 0x80) {
    const letter = code | 0x20;
    return (letter >= 0x61 && letter <= 0x7a) || (code >= 0x30 && code <= 0x39) || code === 0x5f;
  }
  return wordCharacter.test(String.fromCodePoint(code));
}

/** In lower case, where that takes as many characters. */
function folded(code: number): number {
  if (code < 0x80) return code >= 0x41 && code <= 0x5a ? code + 0x20 : code;
  const text = String.fromCodePoint(code);
  const lower = text.toLowerCase();
  return lower.length === text.length ? (lower.codePointAt(0) as number) : code;
}
