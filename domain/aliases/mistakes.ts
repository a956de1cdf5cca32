// The mistakes of one alias, as ends of sentences about its members; for files and for the admin API.

import { quote } from '../../schemas/validation/path.ts';
import { parseSelector } from '../selector.ts';
import { type BadChain, mostInChain } from './chains.ts';
import type { Flattened } from './flatten.ts';
import { type AliasTargets, familyPrefix, type NamedAlias, type NameTable } from './name-table.ts';

/** The most models that one alias may lead to: each request orders them. */
export const mostLeaves = 1_000;
/** The most conditions of one alias, those of aliases that it leads to included: each request asks for all of them. */
export const mostConditions = 50;

/** The number of different conditions on the ways of an alias. */
export function conditionsIn({ leaves }: Flattened): number {
  return new Set(leaves.flatMap(({ when }) => when)).size;
}

/** The most names that all families together may stand for. */
export const mostFamilyNames = 100_000;
/** The most aliases of a chain that a sentence names. */
const mostNamed = mostInChain + 1;

/** Ends a sentence about an unknown word: with the closest of the candidates, or with nothing. */
export type Guess = (word: string, candidates: Iterable<string>) => string;

/**
 * Whether the table has all names. Names may be missing because a file could not be read; then no mistake is reported
 * about them.
 */
export interface Completeness {
  readonly providers: boolean;
  readonly aliases: boolean;
  /** Whether a model of this provider may be missing. */
  isVague(provider: string): boolean;
}

export const complete: Completeness = { providers: true, aliases: true, isVague: () => false };

/** The mistake in the source of an alias, as the end of a sentence; undefined for a valid source. */
export function sourceProblem(source: string): string | undefined {
  if (!source.includes('*') || familyPrefix(source) !== undefined) return undefined;
  return `has a * that stands for no family; expected something like "eu/*", with one part before it, found ${quote(source)}`;
}

/** Why an alias cannot have this target, as the end of a sentence; undefined when it can. */
export function targetProblem(
  { source }: Pick<AliasTargets, 'source'>,
  target: string,
  { table, guess, has }: { readonly table: NameTable; readonly guess: Guess; readonly has: Completeness },
): string | undefined {
  const isFamily = familyPrefix(source) !== undefined;
  const prefix = familyPrefix(target);
  if (isFamily && prefix === undefined)
    return `must be a family such as "openai/*", as ${quote(source)} is one; found ${quote(target)}`;
  if (!isFamily && target.includes('*'))
    return `must be one model, found ${quote(target)}; only an alias such as "eu/*" leads to a family`;
  if (table.leadOf(target) !== undefined) return undefined;
  const { offered, bare } = table.models;
  const { provider, model } = parseSelector(target) ?? {};
  if (model === undefined) return `must be a selector <provider>/<model>, found ${quote(target)}`;
  if (provider === undefined) {
    if (!has.providers || !has.aliases || table.mayLeadSomewhere(target)) return undefined;
    const candidates = [...bare.keys(), ...table.sources()];
    return `there is no alias ${quote(target)}, and no provider lists a model of this name${guess(target, candidates)}`;
  }
  const models = offered.get(provider);
  if (models === undefined) {
    if (!has.providers) return undefined;
    const meant = [guess(provider, offered.keys()), guess(target, bare.keys())].find((each) => each !== '');
    // It may be a bare id with a slash.
    if (meant === undefined && prefix === undefined && table.mayLeadSomewhere(target)) return undefined;
    return unknownProvider(provider, meant, [...offered.keys()]);
  }
  if (prefix !== undefined || has.isVague(provider) || table.mayLeadSomewhere(target)) return undefined;
  const meant = guess(model, models);
  return `the provider ${quote(provider)} does not list the model ${quote(model)}${meant === '' ? '; add it to its models' : meant}`;
}

/** Why an alias cannot have this mirror, as the end of a sentence; undefined when it can. */
export function mirrorProblem(target: string, parts: Parameters<typeof targetProblem>[2]): string | undefined {
  const problem = targetProblem({ source: '' }, target, parts);
  if (problem !== undefined) return problem;
  const { table } = parts;
  const isAlias = table.modelsOf(target) === undefined && table.leadOf(target)?.alias !== undefined;
  return isAlias ? `must be one model of a provider, found the alias ${quote(target)}` : undefined;
}

function unknownProvider(provider: string, meant: string | undefined, names: readonly string[]): string {
  const known = names.length === 0 ? '; no providers are configured' : `; known: ${names.slice(0, 20).join(', ')}`;
  return `there is no provider ${quote(provider)}${meant ?? known}`;
}

/**
 * The sentence about a bad chain. `named` returns the text for one alias, for example its source with its file and
 * line.
 */
export function sayChain({ aliases, isCycle }: BadChain, named: (alias: NamedAlias) => string): string {
  const [first] = aliases;
  if (first === undefined) return '';
  if (isCycle && aliases.length === 1) return `the alias ${quote(first.source)} leads to itself`;
  const shown = aliases.slice(0, mostNamed).map(named);
  if (aliases.length > mostNamed) shown.push(`${aliases.length - mostNamed} more`);
  const chain = shown.join(' → ');
  return isCycle
    ? `the alias ${quote(first.source)} leads to itself: ${chain} → ${quote(first.source)}`
    : `the alias ${quote(first.source)} leads through more than ${mostInChain} aliases: ${chain}`;
}
