// Follows a regular expression through a text that still comes: the threads of its automaton, each with the place where it began.
import type { Automaton, State } from './automaton.ts';
import type { Follower } from './finder.ts';

export class PatternFollower implements Follower {
  begun = Number.POSITIVE_INFINITY;
  complete = Number.POSITIVE_INFINITY;
  readonly #automaton: Automaton;
  #state: State;
  /** Where each thread began. */
  #starts: number[] = [];
  #others: number[] = [];

  constructor(automaton: Automaton) {
    this.#automaton = automaton;
    this.#state = automaton.stateBehind(-1);
  }

  reset(before: number): void {
    this.begun = Number.POSITIVE_INFINITY;
    this.complete = Number.POSITIVE_INFINITY;
    this.#state = this.#automaton.stateBehind(before);
    this.#starts.length = 0;
  }

  step(code: number, at: number): void {
    const { to, from, complete } = this.#automaton.step(this.#state, code);
    const starts = this.#starts;
    const next = this.#others;
    if (complete !== -1) this.complete = Math.min(this.complete, starts[complete] ?? at);
    next.length = from.length;
    for (let index = 0; index < from.length; index += 1) next[index] = starts[from[index] as number] ?? at;
    this.#state = to;
    this.#starts = next;
    this.#others = starts;
    this.begun = next[0] ?? Number.POSITIVE_INFINITY;
  }
}
