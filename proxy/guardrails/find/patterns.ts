// Finds regular expressions. Its time is linear in the text.
import type { RE2JS } from 're2js';
import { compilePatterns } from '../../../schemas/guardrails/pattern.ts';
import { Automaton } from './automaton.ts';
import type { Finder, Follower, Found } from './finder.ts';
import { PatternFollower } from './pattern-follower.ts';

/** The leftmost match of any of them; of several that begin there, that of the first pattern. Empty matches are none. */
export class PatternFinder implements Finder {
  readonly window: number;
  readonly #reason: string;
  readonly #pattern: RE2JS;
  readonly #automaton: Automaton;

  /** Throws a RangeError for what is no pattern. */
  constructor(patterns: readonly string[], window: number, reason: string) {
    this.window = window;
    this.#reason = reason;
    this.#pattern = compilePatterns(patterns);
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
