// The names that a field may be filled in with: of models, providers, user paths, labels, keys and rules that there are. Pure.
import type { AuthKey } from '../../../domain/keys/auth-key.ts';
import type { MergedRule } from '../../../domain/rules/merge.ts';
import { ruleTitle } from '../../../domain/rules/rule.ts';
import { isInScope, isScoped, type Operator } from '../../authenticate.ts';
import { isVisible } from '../../managed/own-path.ts';

export const nameKinds = ['models', 'providers', 'user_paths', 'labels', 'keys', 'rules'] as const;
export type NameKind = (typeof nameKinds)[number];

/** A name, and what it stands for where it does not say that itself. */
export interface KnownName {
  readonly name: string;
  readonly title?: string;
}

/** What names are taken from. */
export interface NameSources {
  /** By provider, in order: its models. */
  readonly offered: ReadonlyMap<string, Iterable<string>>;
  /** Those in force. */
  readonly aliases: readonly string[];
  readonly rules: readonly MergedRule[];
  readonly budgets: readonly { readonly scope: string; readonly subject: string }[];
  readonly keys: readonly AuthKey[];
  /** User paths of requests of the last days. */
  readonly seenPaths: readonly string[];
}

/** Those that the operator may see; the same name may come more than once. */
export function* knownNames(kind: NameKind, sources: NameSources, operator: Operator): Generator<KnownName, void> {
  const { offered, aliases, rules, budgets, seenPaths } = sources;
  const keys = sources.keys.filter(({ userPath }) => isInScope(operator, userPath));
  if (kind === 'keys') yield* keys.map(({ id, name }) => ({ name: id, title: name }));
  if (kind === 'labels') {
    yield* keys.flatMap(({ labels }) => labels.map(named));
    if (!isScoped(operator)) yield* subjectsOf(budgets, 'label');
  }
  if (kind === 'rules')
    yield* rules
      .filter((rule) => isVisible(operator, rule))
      .map((rule) => ({ name: rule.name ?? rule.id, title: ruleTitle(rule) }));
  if (kind === 'user_paths') {
    const paths = [...keys.flatMap(({ userPath }) => userPath ?? []).map(named), ...subjectsOf(rules, 'user_path')];
    const all = [...paths, ...subjectsOf(budgets, 'user_path'), ...seenPaths.map(named)];
    yield* all.filter(({ name }) => isInScope(operator, name));
  }
  if (kind === 'providers' && !isScoped(operator)) yield* [...offered.keys()].map(named);
  if (kind === 'models') yield* modelsFor(operator, { offered, aliases });
}

/** An operator whose key may use some models alone is told of those. */
function* modelsFor(
  { key }: Operator,
  { offered, aliases }: Pick<NameSources, 'offered' | 'aliases'>,
): Generator<KnownName, void> {
  const allowed = key?.allowedModels ?? [];
  if (allowed.length > 0) {
    yield* allowed.filter((name) => !name.includes('*')).map(named);
    return;
  }
  yield* aliases.map(named);
  for (const [provider, models] of offered) for (const model of models) yield named(`${provider}/${model}`);
}

function subjectsOf(limits: NameSources['budgets'], wanted: string): KnownName[] {
  return limits.filter(({ scope }) => scope === wanted).map(({ subject }) => named(subject));
}

function named(name: string): KnownName {
  return { name };
}

/** At most `most` different names with this text in them, those that begin with it first. */
export function foundIn(names: Iterable<KnownName>, search: string, most: number): readonly KnownName[] {
  const sought = search.trim().toLowerCase();
  const [first, others] = [new Map<string, KnownName>(), new Map<string, KnownName>()];
  for (const each of names) {
    const text = each.name.toLowerCase();
    if (text.startsWith(sought)) first.set(text, each);
    else if (others.size < most && (text.includes(sought) || each.title?.toLowerCase().includes(sought) === true))
      others.set(text, each);
    if (first.size >= most) break;
  }
  return [...first.values(), ...others.values()].slice(0, most);
}
