// A condition of an alias or of a target, compiled.

import {
  ExpressionMistake,
  parseExpression,
  sayMistake,
  type Vocabulary,
} from '../../schemas/validation/parse-expression.ts';
import { compileNode, type Used } from './compile-node.ts';
import { type Facts, factTypes } from './facts.ts';
import { type Foreseen, foresee } from './foresee.ts';

export interface Condition {
  /** The claims that it asks for, as a person reads them; of a condition about a request none. */
  readonly claims: readonly string[];
  /** As it is written. */
  readonly text: string;
  /** Undefined: that depends on a fact that is not known. Never throws. */
  readonly holds: (facts: Facts) => boolean | undefined;
}

/** A condition, and whether it is the same for every request; or the mistake in it, as the end of a sentence. */
export type ReadCondition =
  | { readonly condition: Condition; readonly foreseen: Foreseen; readonly problem?: undefined }
  | { readonly condition?: undefined; readonly problem: string };

const vocabularies: Readonly<Record<Used['about'], Vocabulary>> = {
  request: { names: factTypes, methods: ['string.within(string): bool'] },
  claims: { names: { claims: 'map<string, dyn>' }, methods: [] },
};

/** By text. Configurations repeat their conditions, and each is read by several readers. */
const known = new Map<string, ReadCondition>();
const mostKnown = 10_000;

/** Never throws. `loadExpressionParser` must have ended before. */
export function readCondition(text: string): ReadCondition {
  const before = known.get(text);
  if (before !== undefined) return before;
  const read = compile(text, 'request');
  if (known.size >= mostKnown) known.clear();
  if (read.condition !== undefined) known.set(text, read);
  return read;
}

/** For conditions that were checked when they were written. One that cannot be read any more holds for no request. */
export function conditionOf(text: string): Condition {
  return readCondition(text).condition ?? { text, holds: () => false, claims: [] };
}

/** `readCondition` of one about the claims of a token. */
export function readClaimCondition(text: string): ReadCondition {
  return compile(text, 'claims');
}

function compile(text: string, about: Used['about']): ReadCondition {
  const used: Used = { about, claims: new Set(), names: new Set(), headers: new Set(), numbers: new Set() };
  try {
    let read: ReturnType<typeof compileNode> | undefined;
    parseExpression(text, vocabularies[about], (root) => {
      read = compileNode(root, used);
    });
    const holds = read as Condition['holds'];
    return { condition: { text, holds, claims: [...used.claims] }, foreseen: foresee(holds, used) };
  } catch (error) {
    if (!(error instanceof ExpressionMistake)) throw error;
    return { problem: sayMistake(text, error) };
  }
}
