// Reads a text piece by piece, and puts something in the place of what is found. What it gives does not depend on where the pieces end.
import { codeAt, codeBefore, type Finder, type Follower, type Found, widthOf } from './finder.ts';
import type { TextReader } from './json-scanner.ts';

/** The replacement of a finding. */
export type Replace = (found: Found, value: string) => string;

/** Characters may be read again so many times on average, after what began like something and was nothing. */
const mostReadings = 4;
/** The number of characters that may be read again in any text. */
const freeReadings = 65_536;

/** Holds back what may be the beginning of something, at most the window of its finder. */
export class TextScanner implements TextReader {
  readonly #finder: Finder;
  readonly #replace: Replace;
  readonly #follower: Follower;
  /** The character in front of what is held. */
  #before = '';
  #held = '';
  /** The offset in the whole text where it begins. */
  #base = 0;
  /** The number of characters that were followed. */
  #at = 0;
  /** Characters that were followed, some of them several times. */
  #readings = 0;
  #furthest = 0;

  constructor(finder: Finder, replace: Replace) {
    this.#finder = finder;
    this.#replace = replace;
    this.#follower = finder.follow();
    this.#follower.reset(-1);
  }

  push(text: string): string {
    this.#held += text;
    let told = '';
    while (this.#at < this.#held.length) {
      const code = codeAt(this.#held, this.#at);
      // Half a character waits for the other one.
      if (this.#at === this.#held.length - 1 && (code & 0xfc00) === 0xd800) break;
      this.#follower.step(code, this.#base + this.#at);
      this.#at += widthOf(code);
      this.#readings += 1;
      const { begun, complete } = this.#follower;
      const first = Math.min(begun, complete);
      if (complete < begun || this.#base + this.#at - first > this.#finder.window) told += this.#decide(first);
    }
    this.#furthest = Math.max(this.#furthest, this.#base + this.#at);
    const first = Math.min(this.#follower.begun, this.#follower.complete);
    return told + this.#release(Math.min(first - this.#base, this.#at));
  }

  whole(text: string): string {
    return this.#finder.mayFind(text) ? this.push(text) + this.end() : text;
  }

  end(): string {
    let told = '';
    const view = this.#before + this.#held;
    let from = this.#before.length;
    for (let found = this.#finder.find(view, from); found !== undefined; found = this.#finder.find(view, from)) {
      told += view.slice(from, found.start) + this.#replace(found, view.slice(found.start, found.end));
      from = found.end;
    }
    this.#held = '';
    this.#before = '';
    return told + view.slice(from);
  }

  /** Decides about the match at `first`, which is complete or too long. */
  #decide(first: number): string {
    const view = this.#before + this.#held.slice(0, this.#at);
    const shift = this.#before.length;
    const found = this.#finder.find(view, shift);
    if (found !== undefined) {
      const value = view.slice(found.start, found.end);
      const told = view.slice(shift, found.start) + this.#replace(found, value);
      this.#restart(found.end - shift);
      return told;
    }
    this.#furthest = Math.max(this.#furthest, this.#base + this.#at);
    this.#readings += view.length;
    const isSpent = this.#readings > freeReadings + mostReadings * this.#furthest;
    const start = first - this.#base;
    const end = isSpent ? this.#at : start + widthOf(codeAt(this.#held, start));
    const told = this.#held.slice(0, end);
    this.#restart(end);
    return told;
  }

  /** Begins anew behind so many of the characters that are held. */
  #restart(length: number): void {
    this.#release(length);
    this.#at = 0;
    this.#follower.reset(codeBefore(this.#before, this.#before.length));
  }

  /** Releases the first `length` held characters. */
  #release(length: number): string {
    if (length === 0) return '';
    const told = this.#held.slice(0, length);
    // Two characters: one may be a half.
    this.#before = (this.#before + told.slice(-2)).slice(-2);
    this.#held = this.#held.slice(length);
    this.#base += length;
    this.#at -= length;
    return told;
  }
}
