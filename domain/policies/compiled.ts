// An expression of a policy as functions, and what one run of it may cost.
import { ExpressionMistake, type ExpressionNode } from '../../schemas/validation/parse-expression.ts';
import { type AllFacts, type Facts, notKnown } from './kinds.ts';
import { sayType, type Type } from './type.ts';

/** A part of an expression. `read` gives undefined for what is absent. */
export interface Compiled {
  readonly type: Type;
  readonly read: (run: Run) => unknown;
  /** How many parts it has: what one reading costs at most, apart from loops. */
  readonly weight: number;
  /** For a whole list of the configuration: its name. */
  readonly list?: ListName;
}

export type ListName = Exclude<keyof AllFacts, 'config'>;

/** A name of an expression: that of the entry, or of a loop. */
export interface Variable {
  readonly type: Type;
  /** Its place among the values of a run. */
  readonly slot: number;
}

/** Where a part of an expression stands. */
export interface Scope {
  readonly variables: ReadonlyMap<string, Variable>;
  /** The function of a tree. Throws an ExpressionMistake for what a policy may not say. */
  readonly compile: (node: ExpressionNode, scope: Scope) => Compiled;
}

/** It took more steps than it may: with as many entries it would take seconds. */
export class TooManySteps extends Error {}

/** One policy being asked. */
export class Run {
  /** Of variables, by their slots. */
  readonly values: unknown[] = [];
  readonly facts: AllFacts;
  /** How many steps are left. */
  left: number;
  /** A message is made: what holds a variable is read as it is written. */
  isShowing = false;
  /** A member was read whose value is not known here. */
  isUnknown = false;
  readonly #indexes = new Map<string, ReadonlyMap<unknown, readonly Facts[]>>();

  constructor(facts: AllFacts, steps: number) {
    this.facts = facts;
    this.left = steps;
  }

  /** Throws TooManySteps. */
  spend(steps: number): void {
    this.left -= steps;
    if (this.left < 0) throw new TooManySteps();
  }

  /** The entries of a list whose member has this value: found without a search. */
  matching(list: ListName, member: string, value: unknown): readonly Facts[] {
    const key = `${list}.${member}`;
    let index = this.#indexes.get(key);
    if (index === undefined) {
      index = Map.groupBy(this.facts[list], (entry) => entry[member]);
      this.spend(this.facts[list].length);
      this.#indexes.set(key, index);
    }
    // A member that is not known here may have any value.
    return value === undefined ? [] : [...(index.get(value) ?? []), ...(index.get(notKnown) ?? [])];
  }
}

export function mistake(message: string, { start }: Pick<ExpressionNode, 'start'>): ExpressionMistake {
  return new ExpressionMistake(message, start);
}

const expected: Readonly<Partial<Record<Type['is'], string>>> = {
  flag: 'true or false',
  number: 'a number',
  text: 'a text',
  list: 'a list',
};

/** A part that must be of this type. */
export function compileAs(is: Type['is'], node: ExpressionNode, scope: Scope): Compiled {
  const compiled = scope.compile(node, scope);
  if (compiled.type.is === is || (compiled.type.is === 'any' && is === 'flag')) return compiled;
  throw mistake(`expected ${expected[is] ?? is}, found ${sayType(compiled.type)}`, node);
}
