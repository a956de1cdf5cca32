// Checks of aliases that the schema cannot express: a target exists, and is not another alias.
import { foldCase, parseSelector } from '../schemas/selector.ts';
import type { Config } from '../schemas/types.ts';
import { type Path, quote } from '../schemas/validation/path.ts';
import { didYouMean } from '../schemas/validation/suggest.ts';
import type { Problem } from './problem.ts';
import type { Sources } from './sources.ts';

/** An alias as the document has it: `target` is short for one entry of `targets`. */
export interface WrittenAlias {
  source: string;
  target?: string;
  targets?: Config['aliases'][number]['targets'];
  strategy: Config['aliases'][number]['strategy'];
}

/** What the files that could be read declare. */
export interface KnownNames {
  providers: Config['providers'];
  aliases: readonly WrittenAlias[];
  /** Whether these are all providers; if not, nothing is said about providers and models that are missing. */
  areComplete: boolean;
}

/** Limits the number of suggestions, because each suggestion costs time. */
const enough = 100;

/** Checks every alias. */
export function checkAliases(
  aliases: readonly WrittenAlias[],
  { providers, areComplete }: KnownNames,
  sources: Sources,
): { problems: Problem[]; warnings: Problem[] } {
  const problems: Problem[] = [];
  const warnings: Problem[] = [];
  const offered = new Map(Object.entries(providers).map(([name, { models }]) => [name, new Set(models)]));
  const bare = new Set([...offered.values()].flatMap((models) => [...models]));
  const vague = new Map<string, boolean>();
  const declared = new Map<string, { source: string; path: Path }>();

  aliases.forEach(({ source }, index) => {
    const path = ['aliases', index, 'source'];
    if (sources.isUnknown(path)) return;
    const twin = declared.get(foldCase(source));
    if (twin === undefined) declared.set(foldCase(source), { source, path });
    else if (problems.length < enough) problems.push(sources.problem(path, sayTwin(source, path, twin)));
    const { provider, model } = parseSelector(source) ?? {};
    const isReal =
      bare.has(source) || (provider !== undefined && model !== undefined && offered.get(provider)?.has(model) === true);
    if (isReal)
      warnings.push(sources.problem(path, `${sources.quoted(path)} is also a model of a provider; the alias wins`));
  });

  aliases.forEach((alias, index) => {
    for (const { model, path } of targetsOf(alias, index)) {
      if (sources.isUnknown(path) || problems.length >= enough) continue;
      const message = problemOfTarget(alias.source, ['aliases', index, 'source'], model, path);
      if (message !== undefined) problems.push(sources.problem(path, message));
    }
  });
  return { problems, warnings };

  function sayTwin(source: string, path: Path, twin: { source: string; path: Path }): string {
    const [alias, other, place] = [sources.quoted(path), sources.quoted(twin.path), sources.place(twin.path)];
    if (source === twin.source) return `the alias ${alias} is already declared in ${place}`;
    return `the alias ${alias} differs from ${other} in ${place} only in letter case, which does not count`;
  }

  function problemOfTarget(source: string, sourcePath: Path, target: string, path: Path): string | undefined {
    const other = declared.get(foldCase(target));
    if (foldCase(target) === foldCase(source)) return `the alias ${sources.quoted(sourcePath)} leads to itself`;
    if (other !== undefined) {
      return `leads to the alias ${sources.quoted(other.path)} (${sources.place(other.path)}); an alias must lead to a <provider>/<model>`;
    }
    const { provider, model } = parseSelector(target) ?? {};
    const isQualified = provider !== undefined && offered.has(provider);
    const owner = isQualified ? undefined : [...offered].find(([, models]) => models.has(target))?.[0];
    // A bare id may contain a slash, where no provider is named like its first part.
    if (provider === undefined || model === undefined || owner !== undefined) {
      const guess = owner === undefined ? '' : `; did you mean ${quote(`${owner}/${target}`)}?`;
      return `must be a selector <provider>/<model>, found ${sources.quoted(path)}${guess}`;
    }
    const models = offered.get(provider);
    if (models === undefined) {
      if (!areComplete) return undefined;
      const guess = didYouMean(provider, offered.keys());
      const known =
        offered.size === 0
          ? '; no providers are configured'
          : `; known: ${[...offered.keys()].slice(0, 20).join(', ')}`;
      return `there is no provider ${quote(provider)}${guess === '' ? known : guess}`;
    }
    if (models.has(model) || isVague(provider)) return undefined;
    const guess = didYouMean(model, models);
    return `the provider ${quote(provider)} does not list the model ${quote(model)}${guess === '' ? '; add it to its models' : guess}`;
  }

  /** Whether a provider lists a model whose text is unknown because of a variable: it may be the missing model. */
  function isVague(provider: string): boolean {
    const models = providers[provider]?.models ?? [];
    const found =
      vague.get(provider) ?? models.some((_, at) => sources.isUnknown(['providers', provider, 'models', at]));
    vague.set(provider, found);
    return found;
  }
}

/** Every target of an alias with the path where it is written. */
export function targetsOf(alias: WrittenAlias, index: number): { model: string; weight: number; path: Path }[] {
  const { target, targets } = alias;
  if (target !== undefined) return [{ model: target, weight: 1, path: ['aliases', index, 'target'] }];
  return (targets ?? []).map(({ model, weight }, position) => {
    return { model, weight, path: ['aliases', index, 'targets', position, 'model'] };
  });
}
