// Calls of a policy: loops over lists, questions to texts, and has().
import { compilePattern } from '../../schemas/formats/pattern.ts';
import type { ExpressionNode } from '../../schemas/validation/parse-expression.ts';
import { quote } from '../../schemas/validation/path.ts';
import { didYouMean } from '../../schemas/validation/suggest.ts';
import { isWithin, normaliseUserPath } from '../user-path.ts';
import { compileTo } from './compile-member.ts';
import { type Compiled, compileAs, mistake, type Run, type Scope } from './compiled.ts';
import { flag, listOf, number, type Type } from './type.ts';

type Call = Extract<ExpressionNode, { readonly op: 'call' | 'rcall' }>;

/** Loops within loops. */
const deepest = 3;
/** Of a text: one step of a question to it. Characters. */
const charactersPerStep = 64;

/** An entry of a list that is made takes memory. */
const stepsOfKept = 8;

const texts: Readonly<Record<string, (value: string, argument: string) => boolean>> = {
  startsWith: (value, argument) => value.startsWith(argument),
  endsWith: (value, argument) => value.endsWith(argument),
  contains: (value, argument) => value.includes(argument),
  within: isWithin,
};
const loops = ['exists', 'all', 'filter', 'map'];
const known = [...loops, ...Object.keys(texts), 'matches', 'size', 'sum', 'has'];

export function compileCall(node: Call, scope: Scope): Compiled {
  const [name] = node.args;
  const [of, given] = node.op === 'rcall' ? [node.args[1], node.args[2]] : [node.args[1][0], node.args[1].slice(1)];
  const [first, second] = given;
  if (name === 'has' && node.op === 'call' && of !== undefined && given.length === 0) return compileHas(of, scope);
  if (name === 'size' && of !== undefined && given.length === 0) return compileSize(of, scope);
  if (node.op === 'rcall' && of !== undefined) {
    if (name === 'sum' && given.length === 0) return compileTotal(of, scope);
    if (loops.includes(name) && first?.op === 'id' && second !== undefined && given.length === 2)
      return compileLoop(name, of, { variable: first.args, body: second }, scope);
    if (first !== undefined && given.length === 1) {
      if (name === 'matches') return compileMatches(of, first, scope);
      if (Object.hasOwn(texts, name)) return compileText(name, of, first, scope);
    }
  }
  if (loops.includes(name)) throw mistake(`${name} is called like rules.${name}(r, r.mode == "shadow")`, node);
  if (name === 'has') throw mistake('has is called like has(key.expires_at)', node);
  if (known.includes(name)) throw mistake(`${name} is called like x.${name}(…)`, node);
  const meant = didYouMean(name, known);
  throw mistake(`there is no ${name}()${meant === '' ? `; known: ${known.join(', ')}` : meant}`, node);
}

function compileHas(of: ExpressionNode, scope: Scope): Compiled {
  if (of.op !== '.') throw mistake('has asks for a member, as in has(key.expires_at)', of);
  const { read, weight } = compileTo(of, scope);
  return { type: flag, weight: weight + 1, read: (run) => read(run) !== undefined };
}

function compileSize(node: ExpressionNode, scope: Scope): Compiled {
  const of = scope.compile(node, scope);
  if (of.type.is !== 'list' && of.type.is !== 'text') throw mistake('size is of a list or a text', node);
  const read: Compiled['read'] = (run) => (of.read(run) as { readonly length: number } | undefined)?.length ?? 0;
  return { type: number, weight: of.weight + 1, read };
}

function compileTotal(node: ExpressionNode, scope: Scope): Compiled {
  const of = compileAs('list', node, scope);
  if (of.type.is === 'list' && of.type.of.is !== 'number') throw mistake('sum adds a list of numbers', node);
  const read = (run: Run): number => {
    const list = (of.read(run) ?? []) as readonly (number | undefined)[];
    run.spend(list.length);
    return list.reduce<number>((sum, each) => sum + (each ?? 0), 0);
  };
  return { type: number, weight: of.weight + 1, read };
}

function compileText(name: string, node: ExpressionNode, argument: ExpressionNode, scope: Scope): Compiled {
  const [of, wanted] = [compileAs('text', node, scope), compileAs('text', argument, scope)];
  const asks = texts[name] as (value: string, argument: string) => boolean;
  const literal: unknown = argument.op === 'value' ? argument.args : undefined;
  const path = name === 'within' && typeof literal === 'string' ? normaliseUserPath(literal) : undefined;
  if (path?.problem !== undefined) throw mistake(`${quote(String(literal))} ${path.problem}`, argument);
  const read = (run: Run): boolean => {
    const [value, other] = [of.read(run), path?.path ?? wanted.read(run)];
    if (typeof value !== 'string' || typeof other !== 'string') return false;
    run.spend(Math.ceil((value.length + other.length) / charactersPerStep));
    return asks(value, other);
  };
  return { type: flag, weight: of.weight + wanted.weight + 1, read };
}

function compileMatches(node: ExpressionNode, pattern: ExpressionNode, scope: Scope): Compiled {
  const of = compileAs('text', node, scope);
  const literal: unknown = pattern.op === 'value' ? pattern.args : undefined;
  if (typeof literal !== 'string') throw mistake('the pattern of matches is written as a text', pattern);
  const compiled = patternOf(literal, pattern);
  const read = (run: Run): boolean => {
    const value = of.read(run);
    if (typeof value !== 'string') return false;
    // Each character costs as much as a step or more.
    run.spend(value.length);
    return compiled.matcher(value).find();
  };
  return { type: flag, weight: of.weight + 1, read };
}

function patternOf(literal: string, node: ExpressionNode): ReturnType<typeof compilePattern> {
  try {
    return compilePattern(literal);
  } catch (error) {
    if (error instanceof RangeError) throw mistake(`the pattern ${error.message}`, node);
    throw error;
  }
}

type Equality = Extract<ExpressionNode, { readonly op: '==' }>;

interface Loop {
  /** The name of an entry in the body. */
  readonly variable: string;
  readonly body: ExpressionNode;
}

function compileLoop(name: string, node: ExpressionNode, { variable, body }: Loop, scope: Scope): Compiled {
  const of = compileAs('list', node, scope);
  if (scope.variables.has(variable))
    throw mistake(`${quote(variable)} has a meaning here already; take another name`, body);
  const slot = scope.variables.size;
  if (slot > deepest) throw mistake(`loops are nested more than ${deepest} deep`, node);
  const type = of.type.is === 'list' ? of.type.of : of.type;
  const within: Scope = { ...scope, variables: new Map([...scope.variables, [variable, { type, slot }]]) };
  const inner = name === 'map' ? scope.compile(body, within) : compileAs('flag', body, within);
  const weight = of.weight + inner.weight;
  const entriesOf = lookUp(name, of, { variable, body }, scope) ?? of.read;
  const each = (run: Run): readonly unknown[] => (entriesOf(run) ?? []) as readonly unknown[];
  const isKept = name === 'map' || name === 'filter';
  const ask = (run: Run, entry: unknown): unknown => {
    run.spend(inner.weight + (isKept ? stepsOfKept : 0));
    run.values[slot] = entry;
    return inner.read(run);
  };
  const results: Readonly<Record<string, [Type, Compiled['read']]>> = {
    exists: [flag, (run) => each(run).some((entry) => ask(run, entry) === true)],
    all: [flag, (run) => each(run).every((entry) => ask(run, entry) === true)],
    filter: [of.type, (run) => each(run).filter((entry) => ask(run, entry) === true)],
    map: [listOf(inner.type), (run) => each(run).map((entry) => ask(run, entry))],
  };
  const [result, read] = results[name] as [Type, Compiled['read']];
  return { type: result, weight, read };
}

/**
 * For a search of a whole list for entries with a given member, such as `rules.exists(r, r.provider == provider.name && …)`: reads only those
 * with the member, from an index. Undefined: every entry must be asked.
 */
function lookUp(
  name: string,
  { list, type }: Compiled,
  { variable, body }: Loop,
  scope: Scope,
): Compiled['read'] | undefined {
  if (list === undefined || type.is !== 'list' || (name !== 'exists' && name !== 'filter')) return undefined;
  // A literal, such as a mode, is that of many entries.
  const equalities = conditionsIn(body).filter(({ op }) => op === '==') as Equality[];
  const hasLiteral = ({ args }: Equality): boolean => args.some(({ op }) => op === 'value');
  for (const { args } of equalities.toSorted((a, b) => Number(hasLiteral(a)) - Number(hasLiteral(b)))) {
    for (const [side, other] of [args, args.toReversed()] as Equality['args'][]) {
      const member = memberOf(side, variable);
      if (member === undefined || names(other).has(variable)) continue;
      const { is } = type.of.is === 'entry' ? (type.of.members[member] ?? type.of) : type.of;
      if (is !== 'text' && is !== 'number' && is !== 'flag') continue;
      const wanted = scope.compile(other, scope);
      return (run) => run.matching(list, member, wanted.read(run));
    }
  }
  return undefined;
}

/** All of which must be true. */
function conditionsIn(node: ExpressionNode): ExpressionNode[] {
  return node.op === '&&' ? node.args.flatMap(conditionsIn) : [node];
}

function memberOf(node: ExpressionNode, variable: string): string | undefined {
  if (node.op !== '.') return undefined;
  const [of, name] = node.args;
  return of.op === 'id' && of.args === variable ? name : undefined;
}

/** All names in a tree. */
function names(node: unknown): ReadonlySet<string> {
  if (Array.isArray(node)) return new Set(node.flatMap((each) => [...names(each)]));
  if (typeof node !== 'object' || node === null || !('op' in node)) return new Set();
  const { op, args } = node as ExpressionNode;
  return op === 'id' ? new Set([args]) : names(args);
}
