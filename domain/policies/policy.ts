// A policy, compiled, and asked of the entries of a configuration.
import type { Policy } from '../../schemas/types.ts';
import {
  ExpressionMistake,
  type ExpressionNode,
  longestExpression,
  parseTree,
  sayMistake,
} from '../../schemas/validation/parse-expression.ts';
import { escaped } from '../../schemas/validation/path.ts';
import { foldCase } from '../selector.ts';
import { compile } from './compile.ts';
import { type Compiled, compileAs, Run, type Scope, TooManySteps, type Variable } from './compiled.ts';
import { type AllFacts, type Facts, membersOfKinds, titleOf } from './kinds.ts';

/** Of one policy, and of all together: as many take a second or two. */
const mostSteps = 20_000_000;
const mostStepsOfAll = 100_000_000;
/** Of a value that is filled into a message. */
const longestValue = 120;

export interface CompiledPolicy {
  readonly policy: Policy;
  readonly where: Compiled | undefined;
  readonly expect: Compiled;
  /** Texts as they are, and what is filled in. */
  readonly message: readonly (string | Compiled)[];
  /** The member of the configuration that it asks first, such as `["audit", "retention"]`. */
  readonly asks: readonly string[];
}

/** A mistake in a policy: the end of a sentence about one of its keys. */
export interface PolicyMistake {
  readonly key: 'where' | 'expect' | 'message';
  readonly problem: string;
}

/** Never throws. `loadExpressionParser` must have ended before. */
export function compilePolicy(policy: Policy): CompiledPolicy | readonly PolicyMistake[] {
  const own: Variable = { type: { is: 'entry', members: membersOfKinds[policy.for] }, slot: 0 };
  const scope: Scope = { variables: new Map([[policy.for, own]]), compile };
  const mistakes: PolicyMistake[] = [];
  const attempt = <Result>(key: PolicyMistake['key'], step: () => Result): Result | undefined => {
    try {
      return step();
    } catch (error) {
      if (!(error instanceof ExpressionMistake)) throw error;
      mistakes.push({ key, problem: sayMistake(policy[key] ?? '', error) });
      return undefined;
    }
  };
  const { where: asked } = policy;
  const where = asked === undefined ? undefined : attempt('where', () => compileAs('flag', parseTree(asked), scope));
  const tree = attempt('expect', () => parseTree(policy.expect));
  const expect = tree && attempt('expect', () => compileAs('flag', tree, scope));
  const message = attempt('message', () => compileMessage(policy.message, scope));
  if (mistakes.length > 0 || tree === undefined || expect === undefined || message === undefined) return mistakes;
  return { policy, where, expect, message, asks: firstSetting(tree) };
}

/** `{{key.name}} has no end`: the texts between, and the expressions in braces. */
function compileMessage(text: string, scope: Scope): readonly (string | Compiled)[] {
  return text.split(/(\{\{.*?\}\})/s).map((part, index, parts) => {
    if (index % 2 === 0) return part;
    const start = parts.slice(0, index).join('').length + 2;
    try {
      const compiled = compile(parseTree(part.slice(2, -2).padEnd(1)), scope);
      if (compiled.type.is !== 'list' && compiled.type.is !== 'entry') return compiled;
      throw new ExpressionMistake('fill in a text or a number; of a list, its size', 0);
    } catch (error) {
      if (!(error instanceof ExpressionMistake)) throw error;
      throw new ExpressionMistake(error.message, Math.min(start + error.at, longestExpression));
    }
  });
}

function firstSetting(node: unknown): readonly string[] {
  if (Array.isArray(node)) return node.map(firstSetting).find((path) => path.length > 0) ?? [];
  if (typeof node !== 'object' || node === null || !('op' in node)) return [];
  const { op, args } = node as ExpressionNode;
  if (op !== '.') return firstSetting(args);
  const [of, name] = args;
  if (of.op === 'id') return of.args === 'config' ? [name] : [];
  const path = firstSetting(of);
  return path.length === 0 ? path : [...path, name];
}

/** What became of an entry: it breaks the policy, or cannot be judged, because a variable in it is not set here. */
export interface Finding {
  readonly entry: Facts;
  readonly is: 'breach' | 'unknown';
  /** Of a breach. */
  readonly message: string;
}

export interface Answer {
  readonly policy: CompiledPolicy;
  /** How many entries were asked. */
  readonly asked: number;
  readonly findings: readonly Finding[];
  /** Exceptions of no entry that was asked, and those of an entry that does not need one, by their place in `except`. */
  readonly idle: readonly number[];
  /** It was not asked to its end. */
  readonly isTooDear: boolean;
}

/** Asks every policy. `today`: YYYY-MM-DD; undefined: every exception counts. Never throws. */
export function askPolicies(policies: readonly CompiledPolicy[], facts: AllFacts, today?: string): Answer[] {
  let left = mostStepsOfAll;
  return policies.map((policy) => {
    const run = new Run(facts, Math.min(left, mostSteps));
    const before = run.left;
    const answer = ask(policy, run, today);
    left -= before - Math.max(run.left, 0);
    return answer;
  });
}

function ask(compiled: CompiledPolicy, run: Run, today: string | undefined): Answer {
  const { policy, where, expect } = compiled;
  const entries = policy.for === 'config' ? [run.facts.config] : run.facts[policy.for];
  const excepted = exceptionsOf(policy);
  const needed = new Set<number>();
  const findings: Finding[] = [];
  let asked = 0;
  const answer = (isTooDear: boolean): Answer => ({
    policy: compiled,
    asked,
    findings,
    idle: [...policy.except.keys()].filter((place) => !needed.has(place)),
    isTooDear,
  });
  try {
    for (const entry of entries) {
      run.isUnknown = false;
      run.values[0] = entry;
      run.spend((where?.weight ?? 0) + expect.weight);
      const isAsked = where === undefined || where.read(run) === true;
      if (!isAsked && !run.isUnknown) continue;
      asked += 1;
      const holds = isAsked && expect.read(run) === true;
      if (run.isUnknown) findings.push({ entry, is: 'unknown', message: '' });
      if (holds || run.isUnknown) continue;
      const place = excepted.get(foldCase(titleOf(entry)));
      const { until } = (place === undefined ? undefined : policy.except[place]) ?? {};
      const isOver = until !== undefined && today !== undefined && today > until;
      if (place !== undefined) needed.add(place);
      if (place !== undefined && !isOver) continue;
      const over = isOver ? `; its exception ended with ${until}` : '';
      findings.push({ entry, is: 'breach', message: `${fill(compiled.message, run)}${over}` });
    }
    return answer(false);
  } catch (error) {
    if (!(error instanceof TooManySteps)) throw error;
    return answer(true);
  }
}

/** By title in lower case: the place in `except`. */
function exceptionsOf({ except }: Policy): ReadonlyMap<string, number> {
  return new Map(except.map(({ entry }, place) => [foldCase(entry), place]));
}

function fill(message: CompiledPolicy['message'], run: Run): string {
  run.isShowing = true;
  const filled = message
    .map((part) => {
      if (typeof part === 'string') return part;
      const value = escaped(shown(part.read(run)));
      return value.length > longestValue ? `${value.slice(0, longestValue - 1)}…` : value;
    })
    .join('');
  run.isShowing = false;
  return filled;
}

function shown(value: unknown): string {
  if (typeof value === 'string') return value;
  return typeof value === 'number' || typeof value === 'boolean' ? value.toString() : '(none)';
}
