// The part of CEL that a condition may use, as functions of the facts of a request. What is not written here is refused: no regular expressions, no
// macros, no arithmetic. So nothing can fail while a request is served, and the cost of a condition is bounded by its length. Conditions about the
// claims of a token are compiled here, too; their types are known only from the token.

import { ExpressionMistake, type ExpressionNode } from '../../schemas/validation/parse-expression.ts';
import { quote } from '../../schemas/validation/path.ts';
import { didYouMean } from '../../schemas/validation/suggest.ts';
import { isWithin, normaliseUserPath } from '../user-path.ts';
import { type ClaimPath, claimAt, showClaimPath } from './claim-path.ts';
import { type FactName, type Facts, factTypes, weekdays } from './facts.ts';

type Value = boolean | number | string | readonly string[];
/** Undefined: it depends on a fact that is not known. */
type Read<Result extends Value = Value> = (facts: Facts) => Result | undefined;
type Literal = boolean | number | string;
type Comparing = (one: Value, other: Value) => boolean;

/** What a condition asks about, and the facts that were met. */
export interface Used {
  readonly about: 'request' | 'claims';
  /** The claims, as a person reads them. */
  readonly claims: Set<string>;
  readonly names: Set<FactName>;
  readonly headers: Set<string>;
  /** The whole numbers in it. */
  readonly numbers: Set<number>;
}

/** Headers that hold a secret. */
const secretHeaders: ReadonlySet<string> = new Set(
  'authorization proxy-authorization cookie x-api-key api-key x-goog-api-key x-csrf-token'.split(' '),
);
const headerName = /^[!#$%&'*+.^_`|~0-9a-z-]{1,128}$/;

const comparisons = new Map<string, Comparing>([
  ['==', (one, other) => one === other],
  ['!=', (one, other) => one !== other],
  ['<', (one, other) => one < other],
  ['<=', (one, other) => one <= other],
  ['>', (one, other) => one > other],
  ['>=', (one, other) => one >= other],
]);
const methods = new Map<string, (text: string, argument: string) => boolean>([
  ['startsWith', (text, argument) => text.startsWith(argument)],
  ['endsWith', (text, argument) => text.endsWith(argument)],
  ['contains', (text, argument) => text.includes(argument)],
  ['within', isWithin],
]);
const known = [...Object.keys(factTypes), ...methods.keys(), 'size', 'in', 'true', 'false'];

/** The function of a tree whose types were checked, or are checked later. Throws an ExpressionMistake for what a condition may not use. */
export function compileNode(node: ExpressionNode, used: Used): Read {
  switch (node.op) {
    case 'value':
    case 'id':
      return compileLeaf(node, used);
    case '[]':
    case '.':
      return compileMember(node, used);
    case '!_': {
      const of = compileNode(node.args, used);
      return (facts) => {
        const value = of(facts);
        return typeof value === 'boolean' ? !value : undefined;
      };
    }
    case '&&':
      return compileBoth(node.args, false, used);
    case '||':
      return compileBoth(node.args, true, used);
    case '?:':
      return compileChoice(node.args, used);
    case 'in':
      return compileIn(node.args, used);
    case 'call':
    case 'rcall':
      return compileCall(node, used);
    default:
      return compileComparison(node, used);
  }
}

type Of<Op extends ExpressionNode['op']> = Extract<ExpressionNode, { readonly op: Op }>;
type Pair = Of<'&&'>['args'];

function compileLeaf(node: Of<'value' | 'id'>, used: Used): Read {
  if (node.op === 'value') {
    const literal = literalOf(node, used);
    return () => literal;
  }
  const name = node.args;
  if (used.about === 'claims') {
    if (name === 'claims') throw new ExpressionMistake('name one claim, as in claims.email', node.start);
    throw new ExpressionMistake(`there is no ${quote(name)} here; claims are asked as in claims.email`, node.start);
  }
  if (name === 'headers') throw new ExpressionMistake('name one header, as in headers["x-tier"]', node.start);
  if (!isFact(name)) throw unknown(name, node.start);
  used.names.add(name);
  return (facts) => facts[name];
}

function isFact(name: string): name is Exclude<FactName, 'headers'> {
  return Object.hasOwn(factTypes, name) && name !== 'headers';
}

function unknown(word: string, at: number): ExpressionMistake {
  const names = Object.keys(factTypes).join(', ');
  const meant = didYouMean(word, known);
  return new ExpressionMistake(`there is no ${quote(word)} here${meant === '' ? `; known: ${names}` : meant}`, at);
}

function literalOf(node: ExpressionNode, used: Used): Literal {
  const value: unknown = node.op === 'value' ? node.args : undefined;
  if (typeof value === 'boolean' || typeof value === 'string') return value;
  if (typeof value === 'bigint' && value <= Number.MAX_SAFE_INTEGER) {
    used.numbers.add(Number(value));
    return Number(value);
  }
  throw new ExpressionMistake('write a text, a whole number, true or false here', node.start);
}

function compileMember(node: Of<'[]' | '.'>, used: Used): Read {
  if (used.about === 'claims') return compileClaim(node, used);
  const [of, member] = node.args;
  const isHeader = of.op === 'id' && of.args === 'headers';
  if (!isHeader) throw new ExpressionMistake('only headers have members, as in headers["x-tier"]', node.start);
  const name: unknown = typeof member === 'string' ? member : member.op === 'value' ? member.args : undefined;
  const at = typeof member === 'string' ? node.start : member.start;
  if (typeof name !== 'string') throw new ExpressionMistake('write the name of the header as a text', at);
  const folded = name.toLowerCase();
  if (!headerName.test(folded)) throw new ExpressionMistake(`${quote(name)} is no name of a header`, at);
  if (secretHeaders.has(folded)) throw new ExpressionMistake(`the header ${quote(folded)} holds a secret`, at);
  used.names.add('headers');
  used.headers.add(folded);
  return (facts) => facts.header(folded);
}

function compileClaim(node: Of<'[]' | '.'>, used: Used): Read {
  const path = claimPathOf(node);
  used.claims.add(showClaimPath(path));
  return ({ claims }) => (claims === undefined ? undefined : (claimAt(claims, path) as Value | undefined));
}

function claimPathOf(node: Of<'[]' | '.'>): ClaimPath {
  const [of, member] = node.args;
  const name: unknown = typeof member === 'string' ? member : member.op === 'value' ? member.args : undefined;
  const step = typeof name === 'bigint' ? Number(name) : name;
  if (typeof step !== 'string' && !(Number.isSafeInteger(step) && Number(step) >= 0))
    throw new ExpressionMistake('write the name of a claim, or a place in a list', node.start);
  if (of.op === 'id' && of.args === 'claims' && typeof step === 'string') return [step];
  if (of.op === '.' || of.op === '[]') return [...claimPathOf(of), step as string | number];
  throw new ExpressionMistake('only claims have members, as in claims.email', of.start);
}

/** `decisive`: the value of one side that decides. */
function compileBoth([left, right]: Pair, decisive: boolean, used: Used): Read {
  const [one, other] = [compileNode(left, used), compileNode(right, used)];
  return (facts) => {
    const first = one(facts);
    if (first === decisive) return decisive;
    const second = other(facts);
    if (second === decisive) return decisive;
    return typeof first === 'boolean' && typeof second === 'boolean' ? !decisive : undefined;
  };
}

function compileChoice([condition, then, otherwise]: Of<'?:'>['args'], used: Used): Read {
  const [if_, yes, no] = [compileNode(condition, used), compileNode(then, used), compileNode(otherwise, used)];
  return (facts) => {
    const value = if_(facts);
    if (value !== undefined) return value === true ? yes(facts) : no(facts);
    const [one, other] = [yes(facts), no(facts)];
    return one === other ? one : undefined;
  };
}

function compileComparison(node: ExpressionNode, used: Used): Read {
  const compare = comparisons.get(node.op);
  if (compare === undefined) throw new ExpressionMistake(`a condition cannot use ${wordOf(node)}`, node.start);
  const [left, right] = node.args as Pair;
  for (const side of [left, right]) {
    if (side.op === 'list' || (side.op === 'id' && side.args === 'labels'))
      throw new ExpressionMistake('a list is asked with in, as in "gold" in labels', side.start);
  }
  checkLiteral(left, right, used);
  checkLiteral(right, left, used);
  const [one, other] = [compileNode(left, used), compileNode(right, used)];
  return (facts) => {
    const first = one(facts);
    const second = other(facts);
    return isComparable(first, second) ? compare(first as Value, second as Value) : undefined;
  };
}

/** Claims may have any type: what is of two types, or a list or an object, is not compared. */
function isComparable(one: Value | undefined, other: Value | undefined): boolean {
  return one !== undefined && typeof one === typeof other && typeof one !== 'object';
}

function wordOf({ op }: ExpressionNode): string {
  return op === 'list' ? 'a list here' : op === 'map' ? 'a map' : quote(op.replace('_', ''));
}

function compileIn([item, list]: Pair, used: Used): Read {
  if (list.op === 'id' && list.args === 'headers')
    throw new ExpressionMistake(
      'a header that was not sent is the empty text: write headers["x-tier"] != ""',
      list.start,
    );
  const of = compileNode(item, used);
  if (list.op !== 'list') {
    const read = compileNode(list, used);
    return (facts) => {
      const [value, values] = [of(facts), read(facts)];
      return value === undefined || !Array.isArray(values) ? undefined : values.includes(value);
    };
  }
  const literals = list.args.map((each) => {
    checkLiteral(item, each, used);
    return literalOf(each, used);
  });
  return (facts) => {
    const value = of(facts);
    return value === undefined ? undefined : literals.includes(value as Literal);
  };
}

function compileCall(node: Of<'call' | 'rcall'>, used: Used): Read {
  const [name] = node.args;
  const [of, given] = node.op === 'rcall' ? [node.args[1], node.args[2]] : [node.args[1][0], node.args[1].slice(1)];
  if (name === 'size' && of !== undefined && given.length === 0) return compileSize(of, used);
  const method = node.op === 'rcall' ? methods.get(name) : undefined;
  const [argument] = given;
  if (method === undefined || of === undefined || argument === undefined) throw refusedCall(name, node.start);
  // Letter case does not count there.
  if (name !== 'within') checkLiteral(of, argument, used);
  const text = literalOf(argument, used);
  if (typeof text !== 'string') throw new ExpressionMistake(`${name} takes a text`, argument.start);
  const path = name === 'within' ? normaliseUserPath(text) : undefined;
  if (path?.problem !== undefined) throw new ExpressionMistake(`${quote(text)} ${path.problem}`, argument.start);
  const wanted = path?.path ?? text;
  const read = compileNode(of, used);
  return (facts) => {
    const value = read(facts);
    return typeof value === 'string' ? method(value, wanted) : undefined;
  };
}

function compileSize(of: ExpressionNode, used: Used): Read {
  if (used.about === 'claims' && (of.op === '.' || of.op === '[]')) {
    const read = compileClaim(of, used);
    return (facts) => (read(facts) as Partial<readonly unknown[]> | undefined)?.length;
  }
  if (of.op !== 'id' || of.args !== 'labels') throw new ExpressionMistake('size is for labels', of.start);
  used.names.add('labels');
  return ({ labels }) => labels?.length;
}

function refusedCall(name: string, at: number): ExpressionMistake {
  if (name === 'matches')
    return new ExpressionMistake('matches is not supported; use startsWith, endsWith, contains or within', at);
  if (methods.has(name) || name === 'size') return new ExpressionMistake(`${name} is called like path.${name}(…)`, at);
  const meant = didYouMean(name, [...methods.keys(), 'size']);
  return new ExpressionMistake(
    `there is no ${name}()${meant === '' ? '; known: startsWith, endsWith, contains, within, size' : meant}`,
    at,
  );
}

/** Whether a literal is one that the fact it is compared with can have. */
function checkLiteral(fact: ExpressionNode, literal: ExpressionNode, used: Used): void {
  if (fact.op !== 'id' || literal.op !== 'value') return;
  const value = literalOf(literal, used);
  if (typeof value !== 'string') return;
  const days: readonly string[] = weekdays;
  if (fact.args === 'weekday' && !days.includes(value))
    throw new ExpressionMistake(`a weekday is one of ${days.join(', ')}${didYouMean(value, days)}`, literal.start);
  if (fact.args === 'endpoint' && !value.startsWith('/'))
    throw new ExpressionMistake('an endpoint is its path, such as "/v1/chat/completions"', literal.start);
  if (fact.args === 'path' && value !== value.toLowerCase())
    throw new ExpressionMistake(
      `user paths are in lower case here: write ${quote(value.toLowerCase())}`,
      literal.start,
    );
}
