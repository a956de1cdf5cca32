// Comparisons of a policy: values of one type, and lengths of time, sizes and moments with texts that the configuration could hold.
import { parseMoment } from '../../schemas/formats/moment.ts';
import { durationMs, retentionMs, sizeBytes } from '../../schemas/formats/units.ts';
import type { ExpressionNode } from '../../schemas/validation/parse-expression.ts';
import { quote } from '../../schemas/validation/path.ts';
import { didYouMean } from '../../schemas/validation/suggest.ts';
import { type Compiled, mistake, type Scope } from './compiled.ts';
import { flag, type Measure, sayType, type Type } from './type.ts';

type Comparison = Extract<ExpressionNode, { readonly op: '==' | '!=' | '<' | '<=' | '>' | '>=' | 'in' }>;
type Comparing = (one: unknown, other: unknown) => boolean;

/** Nothing is equal to what is absent, and nothing is more or less. */
const comparisons: Readonly<Record<string, Comparing>> = {
  '==': (one, other) => one !== undefined && one === other,
  '!=': (one, other) => one === undefined || one !== other,
  '<': (one, other) => isFigure(one) && isFigure(other) && one < other,
  '<=': (one, other) => isFigure(one) && isFigure(other) && one <= other,
  '>': (one, other) => isFigure(one) && isFigure(other) && one > other,
  '>=': (one, other) => isFigure(one) && isFigure(other) && one >= other,
};

function isFigure(value: unknown): value is number {
  return typeof value === 'number';
}

export function compileComparison(node: Comparison, scope: Scope): Compiled {
  const [left, right] = node.args;
  const [one, other] = [scope.compile(left, scope), scope.compile(right, scope)];
  if (node.op === 'in') return compileIn(node, one, other);
  for (const [{ type }, at] of [
    [one, left],
    [other, right],
  ] as const) {
    if (type.is === 'list') throw mistake('a list is asked with in, exists, all or size()', at);
    if (type.is === 'entry') throw mistake('compare a member of it', at);
  }
  const measure = measureOf(one.type) ?? measureOf(other.type);
  const [reading, asked] =
    measure === undefined ? [one, other] : [measured(one, left, measure), measured(other, right, measure)];
  if (measure === undefined) {
    if (!isAlike(one.type, other.type))
      throw mistake(`compares ${sayType(one.type)} with ${sayType(other.type)}`, node);
    if (node.op !== '==' && node.op !== '!=' && one.type.is !== 'number')
      throw mistake(`${node.op} compares numbers, lengths of time, sizes and moments`, node);
    checkWord(one.type, right);
    checkWord(other.type, left);
  }
  const compare = comparisons[node.op] as Comparing;
  const weight = one.weight + other.weight + 1;
  return { type: flag, weight, read: (run) => compare(reading.read(run), asked.read(run)) };
}

function isAlike(one: Type, other: Type): boolean {
  return one.is === other.is || one.is === 'any' || other.is === 'any';
}

/** A text that the member can never have is a slip. */
function checkWord(type: Type, node: ExpressionNode): void {
  const value: unknown = node.op === 'value' ? node.args : undefined;
  if (type.is !== 'text' || type.oneOf === undefined || typeof value !== 'string' || type.oneOf.includes(value)) return;
  const meant = didYouMean(value, type.oneOf);
  throw mistake(`it is never ${quote(value)}${meant === '' ? `; it is one of ${type.oneOf.join(', ')}` : meant}`, node);
}

function measureOf({ is }: Type): Measure | undefined {
  return is === 'time' || is === 'size' || is === 'moment' ? is : undefined;
}

/** What a text of a measure stands for: milliseconds, or bytes. */
const figures: Readonly<Record<Measure, (written: string) => number>> = {
  time: (written) => (written.endsWith('ms') ? durationMs(written) : retentionMs(written)),
  size: sizeBytes,
  moment: (written) => parseMoment(written) ?? Number.NaN,
};
const examples: Readonly<Record<Measure, string>> = {
  time: '"30s" or "90d"',
  size: '"10MiB"',
  moment: '"2027-06-30T00:00:00Z"',
};

function measured(compiled: Compiled, node: ExpressionNode, measure: Measure): Compiled {
  const literal: unknown = node.op === 'value' ? node.args : undefined;
  if (compiled.type.is !== measure && typeof literal !== 'string')
    throw mistake(
      `compares ${sayType({ is: measure })} with ${sayType(compiled.type)}; write ${examples[measure]}`,
      node,
    );
  if (typeof literal === 'string') {
    const figure = figureOf(literal, measure);
    if (figure === undefined)
      throw mistake(`${quote(literal)} is not ${sayType({ is: measure })}; write ${examples[measure]}`, node);
    return { ...compiled, read: () => figure };
  }
  return {
    ...compiled,
    read: (run) => {
      const value = compiled.read(run);
      return typeof value === 'string' ? figureOf(value, measure) : undefined;
    },
  };
}

function figureOf(written: string, measure: Measure): number | undefined {
  try {
    const figure = figures[measure](written);
    return Number.isNaN(figure) ? undefined : figure;
  } catch {
    return undefined;
  }
}

function compileIn({ args: [left, right] }: Comparison, one: Compiled, other: Compiled): Compiled {
  if (other.type.is !== 'list') throw mistake(`in asks a list, found ${sayType(other.type)}`, right);
  const { of } = other.type;
  if (one.type.is === 'entry' || !isAlike(one.type, of))
    throw mistake(`looks for ${sayType(one.type)} in a list whose entries are ${sayType(of)}`, left);
  checkWord(of, left);
  if (right.op === 'list') for (const each of right.args) checkWord(one.type, each);
  return {
    type: flag,
    weight: one.weight + other.weight + 1,
    read(run) {
      const list = (other.read(run) ?? []) as readonly unknown[];
      run.spend(list.length);
      return list.includes(one.read(run));
    },
  };
}
