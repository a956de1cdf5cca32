// What a policy may be asked of: the kinds of entries, and what is known of each.
import type { Policy } from '../../schemas/types.ts';
import { flag, listOf, type Members, membersIn, number, type Type, text } from './type.ts';

export type Kind = Policy['for'];

/** What every entry has: what messages and exceptions call it, and the file that declares it, within the directory. */
const always: Members = { title: text, file: text };

function without(members: Members, ...names: readonly string[]): Members {
  return Object.fromEntries(Object.entries(members).filter(([name]) => !names.includes(name)));
}

const model: Members = {
  ...membersIn('providers', '#/$defs/model'),
  ...always,
  name: text,
  provider: text,
  priced: flag,
};

/** By kind: its members. */
export const membersOfKinds: Readonly<Record<Kind, Members>> = {
  provider: {
    ...membersIn('providers', '#/$defs/provider'),
    ...always,
    name: text,
    models: listOf({ is: 'entry', members: model }),
  },
  model,
  alias: {
    ...without(membersIn('aliases', '#/$defs/alias'), 'target'),
    ...always,
    providers: listOf(text),
  },
  rule: {
    ...membersIn('rate-limits', '#/$defs/limit'),
    ...always,
    user_path: text,
    provider: text,
    model: text,
    per_child: flag,
    seconds: number,
  },
  budget: {
    ...membersIn('budgets', '#/$defs/budget_limit'),
    ...always,
    user_path: text,
    label: text,
    per_child: flag,
    seconds: number,
  },
  guardrail: { ...membersIn('guardrails', '#/$defs/guardrail'), ...always, kind: text },
  key: { ...membersIn('keys', '#/$defs/key'), ...always, days_left: number },
  identity: { ...membersIn('identities', '#/$defs/identity'), ...always, name: text },
  user_path: { ...always, path: text, parent: text, depth: number },
  config: {
    server: section('server'),
    admin: section('admin'),
    usage: section('usage'),
    audit: section('audit'),
    cache: section('cache'),
    rate_limits: section('rate-limits', 'user_paths', 'providers', 'models'),
    budgets: section('budgets', 'user_paths', 'labels'),
  },
};

function section(file: string, ...lists: readonly string[]): Type {
  return { is: 'entry', members: without(membersIn(file, '#'), ...lists) };
}

/** The name of the list of all entries of a kind; the configuration is one. */
export const listNames = {
  provider: 'providers',
  model: 'models',
  alias: 'aliases',
  rule: 'rules',
  budget: 'budgets',
  guardrail: 'guardrails',
  key: 'keys',
  identity: 'identities',
  user_path: 'user_paths',
} as const satisfies Record<Exclude<Kind, 'config'>, string>;

/** The facts of one entry. A member that is absent is undefined, or not there. */
export interface Facts {
  readonly [member: string]: unknown;
  /** What messages show of members in place of their values: these may hold the value of a variable. */
  readonly [written]?: Readonly<Record<string, unknown>>;
}

/** The key of what is written in place of values. */
export const written: unique symbol = Symbol('written');

/** All facts of a configuration. */
export type AllFacts = Readonly<Record<Exclude<Kind, 'config'>, readonly Facts[]>> & { readonly config: Facts };

/** The value of a member that is not known, because a variable in it is not set here. */
export const notKnown: unique symbol = Symbol('not known');

/** What messages and exceptions call an entry; empty for the configuration. */
export function titleOf({ title }: Facts): string {
  return typeof title === 'string' ? title : '';
}
