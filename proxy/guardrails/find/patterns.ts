// Finds regular expressions. Its time is linear in the text.
import type { RE2JS } from 're2js';
import { compilePatterns } from '../../../schemas/formats/pattern.ts';
import { Automaton } from './automaton.ts';
import { type Finder, type Follower, type Found, usualSlice } from './finder.ts';
import { PatternFollower } from './pattern-follower.ts';

/** Characters times instructions of a slice. In the worst case each character costs a step of each thread, some 0.1 µs. */
const sliceSteps = 1_000_000;
const shortestSlice = 256;
/** The beginning or end of a text or line; `[^` opens a class. */
const anchor = /\\[AzZ]|\$|(?<!(?<!\\)\[)\^/;

/** The leftmost match of any of them; of several that begin there, that of the first pattern. Empty matches are none. */
export class PatternFinder implements Finder {
  readonly window: number;
  readonly slice: number;
  readonly isAnchored: boolean;
  readonly #reason: string;
  readonly #pattern: RE2JS;
  readonly #automaton: Automaton;

  /** Throws a RangeError for what is no pattern. */
  constructor(patterns: readonly string[], window: number, reason: string) {
    this.window = window;
    this.#reason = reason;
    this.isAnchored = patterns.some((pattern) => anchor.test(pattern));
    this.#pattern = compilePatterns(patterns);
    const steps = Math.floor(sliceSteps / this.#pattern.programSize());
    this.slice = Math.max(shortestSlice, Math.min(usualSlice, steps));
    this.#automaton = new Automaton(this.#pattern);
  }

  mayFind(text: string): boolean {
    return this.#pattern.test(text);
  }

  find(text: string, from: number): Found | undefined {
    const matcher = this.#pattern.matcher(text);
    for (let isFound = from <= text.length && matcher.find(from); isFound; isFound = matcher.find()) {
      const start = matcher.start();
      const end = matcher.end();
      if (end > start) return { start, end, reason: this.#reason };
    }
    return undefined;
  }

  follow(): Follower {
    return new PatternFollower(this.#automaton);
  }
}
