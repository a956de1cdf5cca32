// The part of CEL that a policy may use, as functions of the facts of a configuration. Types are checked here, so that no reading can fail. What is
// absent equals nothing, is in no list, and is neither more nor less than anything; a list that is absent is empty.
import type { ExpressionNode } from '../../schemas/validation/parse-expression.ts';
import { quote } from '../../schemas/validation/path.ts';
import { didYouMean } from '../../schemas/validation/suggest.ts';
import { compileCall } from './compile-call.ts';
import { compileComparison } from './compile-comparison.ts';
import { compileMember } from './compile-member.ts';
import { type Compiled, compileAs, type ListName, mistake, type Scope } from './compiled.ts';
import { type Kind, listNames, membersOfKinds } from './kinds.ts';
import { flag, listOf, number, type Type, text } from './type.ts';

type Of<Op extends ExpressionNode['op']> = Extract<ExpressionNode, { readonly op: Op }>;

const kindsOfLists = new Map<string, Exclude<Kind, 'config'>>(
  Object.entries(listNames).map(([kind, list]) => [list, kind as Exclude<Kind, 'config'>]),
);

/** The function of a tree. Throws an ExpressionMistake for what a policy may not say. */
export function compile(node: ExpressionNode, scope: Scope): Compiled {
  switch (node.op) {
    case 'value':
      return compileLiteral(node);
    case 'id':
      return compileName(node, scope);
    case '.':
      return compileMember(node, scope);
    case 'list':
      return compileList(node, scope);
    case '!_': {
      const of = compileAs('flag', node.args, scope);
      return { type: flag, weight: of.weight + 1, read: (run) => of.read(run) !== true };
    }
    case '-_': {
      const of = compileAs('number', node.args, scope);
      return { type: number, weight: of.weight + 1, read: (run) => minus(of.read(run)) };
    }
    case '&&':
    case '||':
      return compileBoth(node, scope);
    case '?:':
      return compileChoice(node, scope);
    case '+':
    case '-':
    case '*':
      return compileSum(node, scope);
    case 'call':
    case 'rcall':
      return compileCall(node, scope);
    case '==':
    case '!=':
    case '<':
    case '<=':
    case '>':
    case '>=':
    case 'in':
      return compileComparison(node, scope);
    default:
      throw mistake(`a policy cannot use ${sayOperator(node)}`, node);
  }
}

function sayOperator({ op }: ExpressionNode): string {
  if (op === 'map') return 'a map';
  return op === '[]' ? 'places in brackets; ask a list with exists, all or in' : quote(op.replace('_', ''));
}

function minus(value: unknown): number | undefined {
  return typeof value === 'number' ? -value : undefined;
}

function compileLiteral(node: Of<'value'>): Compiled {
  const value: unknown = node.args;
  if (typeof value === 'boolean') return { type: flag, weight: 1, read: () => value };
  if (typeof value === 'string') return { type: text, weight: 1, read: () => value };
  if (typeof value === 'bigint' || typeof value === 'number') {
    const figure = Number(value);
    return { type: number, weight: 1, read: () => figure };
  }
  if (value === null) throw mistake('there is no null here: write has(…) to ask whether a member is there', node);
  throw mistake('write a text, a number, true or false here', node);
}

function compileName({ args: name, ...node }: Of<'id'>, scope: Scope): Compiled {
  const variable = scope.variables.get(name);
  if (variable !== undefined) {
    const { slot, type } = variable;
    return { type, weight: 1, read: (run) => run.values[slot] };
  }
  const kind = kindsOfLists.get(name);
  if (kind !== undefined) {
    const of: Type = { is: 'entry', members: membersOfKinds[kind] };
    const list: ListName = kind;
    return { type: listOf(of), weight: 1, list, read: ({ facts }) => facts[list] };
  }
  if (name === 'config')
    return { type: { is: 'entry', members: membersOfKinds.config }, weight: 1, read: ({ facts }) => facts.config };
  const known = [...scope.variables.keys(), ...kindsOfLists.keys(), 'config'];
  const other = Object.hasOwn(listNames, name) ? listNames[name as keyof typeof listNames] : undefined;
  const meant = other === undefined ? didYouMean(name, known) : `; all of them are ${other}`;
  throw mistake(`there is no ${quote(name)} here${meant === '' ? `; known: ${known.join(', ')}` : meant}`, node);
}

function compileList(node: Of<'list'>, scope: Scope): Compiled {
  const items = node.args.map((each) => compile(each, scope));
  const [first = { type: text }] = items;
  const wrong = items.findIndex(({ type }) => type.is !== first.type.is || !['text', 'number'].includes(type.is));
  if (wrong !== -1) throw mistake('a list holds texts, or numbers', node.args[wrong] ?? node);
  const weight = items.reduce((sum, item) => sum + item.weight, 1);
  return { type: listOf(first.type), weight, read: (run) => items.map(({ read }) => read(run)) };
}

function compileBoth(node: Of<'&&' | '||'>, scope: Scope): Compiled {
  const [one, other] = node.args.map((each) => compileAs('flag', each, scope)) as [Compiled, Compiled];
  const weight = one.weight + other.weight + 1;
  return node.op === '&&'
    ? { type: flag, weight, read: (run) => one.read(run) === true && other.read(run) === true }
    : { type: flag, weight, read: (run) => one.read(run) === true || other.read(run) === true };
}

function compileChoice(node: Of<'?:'>, scope: Scope): Compiled {
  const [asked, then, otherwise] = node.args;
  const whether = compileAs('flag', asked, scope);
  const yes = compile(then, scope);
  const no = compileAs(yes.type.is, otherwise, scope);
  const weight = whether.weight + yes.weight + no.weight;
  return { type: yes.type, weight, read: (run) => (whether.read(run) === true ? yes.read(run) : no.read(run)) };
}

const sums: Readonly<Record<string, (one: number, other: number) => number>> = {
  '+': (one, other) => one + other,
  '-': (one, other) => one - other,
  '*': (one, other) => one * other,
};

function compileSum(node: Of<'+' | '-' | '*'>, scope: Scope): Compiled {
  const [one, other] = node.args.map((each) => compileAs('number', each, scope)) as [Compiled, Compiled];
  const of = sums[node.op] as (one: number, other: number) => number;
  const read: Compiled['read'] = (run) => {
    const [left, right] = [one.read(run), other.read(run)];
    return typeof left === 'number' && typeof right === 'number' ? of(left, right) : undefined;
  };
  return { type: number, weight: one.weight + other.weight + 1, read };
}
