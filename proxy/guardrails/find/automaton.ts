// The automaton of a regular expression, for following it through a text that still comes: where its threads are after each character. What
// was worked out once is remembered, so that a character costs one look into a table.
import type { RE2JS } from 're2js';

/** Instructions of RE2JS (Inst.js). */
const alt = 1;
const altMatch = 2;
const capture = 3;
const emptyWidth = 4;
const match = 6;
const nop = 7;
const firstRune = 8;
const runeAny = 10;
const runeAnyButNewline = 11;

interface Instruction {
  readonly op: number;
  readonly out: number;
  readonly arg: number;
  matchRune(code: number): boolean;
}

/** Threads at different places, the one that began first in front, behind a character of one sort. */
export interface State {
  readonly places: readonly number[];
  /** The sort of the character before. */
  readonly before: number;
  readonly steps: Map<number, Step>;
}

/** The transition of one character. */
export interface Step {
  readonly to: State;
  /** Of each thread of `to`, which one it was; the number of them all: it begins with this character. */
  readonly from: readonly number[];
  /** The first thread that has found its end; -1: none. Also one that ended before the character. */
  readonly complete: number;
}

/** Sorts of characters, as far as conditions tell them apart. */
const beginning = 0;
const newline = 1;
const word = 2;
const other = 3;

/** Threads of all states and steps of one automaton, each with a share for what stands around them; then all are worked out anew. Some megabytes. */
const mostThreads = 500_000;
const shareOfAny = 20;

export class Automaton {
  readonly #instructions: readonly Instruction[];
  readonly #start: number;
  /** Whether the end can be reached from a place at once, whatever comes; and whether something may follow there. */
  readonly #ends: readonly boolean[];
  readonly #goesOn: readonly boolean[];
  #states = new Map<string, State>();
  /** Threads of all that is remembered. */
  #remembered = 0;

  constructor(pattern: RE2JS) {
    const { inst, start } = pattern.re2().prog as { inst: Instruction[]; start: number };
    this.#instructions = inst;
    this.#start = start;
    this.#ends = placesBefore(inst, (op) => op === match);
    this.#goesOn = placesBefore(inst, (op) => op >= firstRune || op === emptyWidth);
  }

  /** Without threads, behind a code point; -1: at the beginning of a text. */
  stateBehind(code: number): State {
    return this.#stateOf([], sortOf(code));
  }

  step(state: State, code: number): Step {
    const known = state.steps.get(code);
    if (known !== undefined) return known;
    const step = this.#work(state, code);
    this.#remember(step.from.length);
    state.steps.set(code, step);
    return step;
  }

  #stateOf(places: readonly number[], before: number): State {
    const key = `${before} ${places.join()}`;
    let state = this.#states.get(key);
    if (state === undefined) {
      this.#remember(places.length);
      state = { places, before, steps: new Map() };
      this.#states.set(key, state);
    }
    return state;
  }

  #remember(threads: number): void {
    this.#remembered += threads + shareOfAny;
    if (this.#remembered < mostThreads) return;
    for (const { steps } of this.#states.values()) steps.clear();
    this.#states.clear();
    this.#remembered = 0;
  }

  #work({ places, before }: State, code: number): Step {
    const sort = sortOf(code);
    const conditions = conditionsBetween(before, sort);
    const holds = (condition: number): boolean => (condition & ~conditions) === 0;
    const seen = new Set<number>();
    const arrived = new Map<number, number>();
    let complete = -1;
    for (const [thread, from] of [...places, this.#start].entries()) {
      for (const place of this.#closure(from, holds, seen)) {
        const instruction = this.#instructions[place] as Instruction;
        const isFresh = thread === places.length;
        if (instruction.op === match && !isFresh && complete === -1) complete = thread;
        if (!takes(instruction, code) || arrived.has(instruction.out)) continue;
        arrived.set(instruction.out, thread);
        if (this.#ends[instruction.out] && (complete === -1 || thread < complete)) complete = thread;
      }
    }
    const going = [...arrived].filter(([place]) => this.#goesOn[place]).sort((a, b) => a[1] - b[1]);
    const to = this.#stateOf(
      going.map(([place]) => place),
      sort,
    );
    return { to, from: going.map(([, thread]) => thread), complete };
  }

  /** The places that are reached without a character, but for those that are `seen`: of two threads at one place the first counts. */
  #closure(from: number, holds: (condition: number) => boolean, seen: Set<number> = new Set()): Set<number> {
    const reached = new Set<number>();
    if (!seen.has(from)) reached.add(from);
    for (const place of reached) {
      seen.add(place);
      const { op, out, arg } = this.#instructions[place] as Instruction;
      if (!isFree(op) && !(op === emptyWidth && holds(arg))) continue;
      if (!seen.has(out)) reached.add(out);
      if ((op === alt || op === altMatch) && !seen.has(arg)) reached.add(arg);
    }
    return reached;
  }
}

/** Whether an instruction leads on without a character and without a condition. */
function isFree(op: number): boolean {
  return op === alt || op === altMatch || op === capture || op === nop;
}

/** Of each place, whether it is or leads to a wanted one without a character and without a condition. One walk backwards. */
function placesBefore(instructions: readonly Instruction[], isWanted: (op: number) => boolean): boolean[] {
  const before = instructions.map((): number[] => []);
  for (const [place, { op, out, arg }] of instructions.entries()) {
    if (!isFree(op)) continue;
    before[out]?.push(place);
    if (op === alt || op === altMatch) before[arg]?.push(place);
  }
  const isBefore = instructions.map(({ op }) => isWanted(op));
  const reached = isBefore.flatMap((is, place) => (is ? [place] : []));
  // The list grows while it is walked.
  for (const place of reached) {
    for (const from of before[place] ?? []) {
      if (isBefore[from]) continue;
      isBefore[from] = true;
      reached.push(from);
    }
  }
  return isBefore;
}

function takes(instruction: Instruction, code: number): boolean {
  const { op } = instruction;
  if (op === runeAny) return true;
  if (op === runeAnyButNewline) return code !== 0x0a;
  return op >= firstRune && instruction.matchRune(code);
}

function sortOf(code: number): number {
  if (code === -1) return beginning;
  if (code === 0x0a) return newline;
  const letter = code | 0x20;
  const isWord = (letter >= 0x61 && letter <= 0x7a) || (code >= 0x30 && code <= 0x39) || code === 0x5f;
  return isWord && code < 0x80 ? word : other;
}

/** The conditions of RE2JS (Utils.js) that hold between two characters. */
function conditionsBetween(before: number, sort: number): number {
  const beginsLine = before === beginning ? 4 | 1 : before === newline ? 1 : 0;
  const endsLine = sort === newline ? 2 : 0;
  return beginsLine | endsLine | ((before === word) === (sort === word) ? 32 : 16);
}
