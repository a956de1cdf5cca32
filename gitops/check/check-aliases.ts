// Checks of aliases that the schema cannot express: names, targets that exist, chains of aliases.
import { findBadChains } from '../../domain/aliases/chains.ts';
import {
  mirrorProblem,
  mostFamilyNames,
  sayChain,
  sourceProblem,
  targetProblem,
} from '../../domain/aliases/mistakes.ts';
import { modelNames } from '../../domain/aliases/model-names.ts';
import { type AliasTargets, familyPrefix, type NamedAlias, NameTable } from '../../domain/aliases/name-table.ts';
import { foldCase } from '../../domain/selector.ts';
import { failureKindOf } from '../../domain/targets/failure-kind.ts';
import { normaliseUserPath } from '../../domain/user-path.ts';
import { type Path, quote } from '../../schemas/validation/path.ts';
import { didYouMean } from '../../schemas/validation/suggest.ts';
import type { Sources } from '../assemble/sources.ts';
import {
  type AliasFindings,
  type IndexedAlias,
  type KnownNames,
  listedTargets,
  targetsOf,
  type WrittenAlias,
} from '../assemble/written-aliases.ts';
import { checkStrategies } from './check-alias-strategies.ts';
import { checkConditions } from './check-conditions.ts';

/** Limits the number of sentences, because each suggestion costs time. */
const enough = 100;

/** Checks every alias; those that are not enabled, too. */
export function checkAliases(
  aliases: readonly WrittenAlias[],
  known: Omit<KnownNames, 'aliases'>,
  sources: Sources,
): AliasFindings {
  const list = aliases.map((written, index): IndexedAlias => {
    return { source: written.source, strategy: written.strategy, targets: listedTargets(written), index, written };
  });
  const table = new NameTable(
    list.filter(({ index }) => !sources.isUnknown(['aliases', index, 'source'])),
    modelNames(known),
  );
  const findings: AliasFindings = { problems: [], warnings: [] };
  checkSources(list, table, sources, findings);
  checkUserPaths(aliases, sources, findings);
  checkFailureWords(aliases, sources, findings);
  checkConditions(aliases, sources, findings);
  checkTargets(list, table, { known, sources, findings });
  checkChains(list, table, sources, findings);
  // Only aliases that lead somewhere in the end can be judged further.
  if (findings.problems.length === 0 && known.areComplete && known.areAliasesComplete) {
    const { problems, warnings } = checkStrategies(list, table, {
      providers: known.providers,
      usage: known.usage,
      sources,
    });
    findings.problems.push(...problems);
    findings.warnings.push(...warnings);
  }
  findings.problems.splice(enough);
  return findings;
}

function checkSources(
  list: readonly IndexedAlias[],
  table: NameTable,
  sources: Sources,
  { problems, warnings }: AliasFindings,
): void {
  const declared = new Map<string, { source: string; path: Path }>();
  for (const { source, index } of list) {
    const path = ['aliases', index, 'source'];
    if (sources.isUnknown(path)) continue;
    const twin = declared.get(foldCase(source));
    if (twin === undefined) declared.set(foldCase(source), { source, path });
    else problems.push(sources.problem(path, sayTwin(source, path, twin)));
    const problem = sourceProblem(source);
    if (problem !== undefined) problems.push(sources.problem(path, problem));
    const prefix = familyPrefix(source);
    const quoted = sources.quoted(path);
    if (prefix !== undefined && table.models.offered.has(prefix))
      warnings.push(sources.problem(path, `${quoted} begins with the name of a provider; its names win`));
    else if (isListed(source, table))
      warnings.push(sources.problem(path, `${quoted} is also a model of a provider; the alias wins`));
  }

  function sayTwin(source: string, path: Path, twin: { source: string; path: Path }): string {
    const [alias, other, place] = [sources.quoted(path), sources.quoted(twin.path), sources.place(twin.path)];
    if (source === twin.source) return `the alias ${alias} is already declared in ${place}`;
    return `the alias ${alias} differs from ${other} in ${place} only in letter case, which does not count`;
  }
}

/** Whether a provider is known to have a model of this name. */
function isListed(name: string, table: NameTable): boolean {
  const found = table.modelsOf(name) ?? [];
  return found.some(({ provider, model }) => table.models.offered.get(provider)?.has(model));
}

function checkUserPaths(aliases: readonly WrittenAlias[], sources: Sources, { problems }: AliasFindings): void {
  aliases.forEach(({ user_paths: userPaths = [] }, index) => {
    userPaths.forEach((text, position) => {
      const path = ['aliases', index, 'user_paths', position];
      const { problem } = normaliseUserPath(text);
      if (problem !== undefined && !sources.isUnknown(path))
        problems.push(sources.problem(path, `${sources.quoted(path)} ${problem}`));
    });
  });
}

/** Former words of `retry.on` stay valid. */
function checkFailureWords(aliases: readonly WrittenAlias[], sources: Sources, { warnings }: AliasFindings): void {
  aliases.forEach(({ retry }, index) => {
    retry?.on?.forEach((word, position) => {
      const now = failureKindOf(word);
      if (now === word) return;
      const path = ['aliases', index, 'retry', 'on', position];
      warnings.push(sources.problem(path, `${quote(word)} is called ${quote(now)} now; both mean the same`));
    });
  });
}

function checkTargets(
  list: readonly IndexedAlias[],
  table: NameTable,
  {
    known,
    sources,
    findings: { problems },
  }: { known: Omit<KnownNames, 'aliases'>; sources: Sources; findings: AliasFindings },
): void {
  const vague = new Map<string, boolean>();
  const has = {
    providers: known.areComplete,
    aliases: known.areAliasesComplete,
    /** Whether a provider lists a model whose text is unknown because of a variable: it may be the missing model. */
    isVague(provider: string): boolean {
      const { models = [] } = known.providers[provider] ?? {};
      const found =
        vague.get(provider) ?? models.some((_, at) => sources.isUnknown(['providers', provider, 'models', at]));
      vague.set(provider, found);
      return found;
    },
  };
  for (const { written, index } of list) {
    for (const { model, path } of targetsOf(written, index)) {
      if (sources.isUnknown(path) || problems.length >= enough) continue;
      const message = targetProblem(written, model, { table, guess: didYouMean, has });
      if (message !== undefined) problems.push(sources.problem(path, message));
    }
    const path = ['aliases', index, 'mirror', 'target'];
    if (written.mirror === undefined || sources.isUnknown(path) || problems.length >= enough) continue;
    const [copied] = table.modelsOf(written.mirror.target) ?? [];
    const isOfClients = known.providers[copied?.provider ?? '']?.auth === 'client';
    const message = isOfClients
      ? 'is asked with credentials of clients (auth: client), which copies of requests do not carry'
      : mirrorProblem(written.mirror.target, { table, guess: didYouMean, has });
    if (message !== undefined) problems.push(sources.problem(path, message));
  }
}

function checkChains(
  list: readonly IndexedAlias[],
  table: NameTable,
  sources: Sources,
  { problems }: AliasFindings,
): void {
  const indices = new Map<AliasTargets, number>(list.map((alias) => [alias, alias.index]));
  const indexOf = (alias: NamedAlias): number => indices.get(alias.family ?? alias) ?? 0;
  const placeOf = (alias: NamedAlias): Path => ['aliases', indexOf(alias), 'source'];
  const named = (alias: NamedAlias): string => {
    const quoted = alias.family === undefined ? sources.quoted(placeOf(alias)) : quote(alias.source);
    return `${quoted} (${sources.place(placeOf(alias))})`;
  };
  for (const chain of findBadChains(list, table).slice(0, enough)) {
    const [first] = chain.aliases;
    if (first === undefined) continue;
    const index = indexOf(first);
    const written = list[index]?.written;
    const targets = written === undefined || first.family !== undefined ? [] : targetsOf(written, index);
    const path = targets[chain.target]?.path ?? placeOf(first);
    problems.push(sources.problem(path, sayChain(chain, named)));
  }
  if (problems.length > 0) return;
  let count = 0;
  for (const { models } of table.families()) count += models.size;
  if (count > mostFamilyNames) {
    const message = `the families stand for ${count} names; at most ${mostFamilyNames} are supported`;
    problems.push(sources.problem(['aliases'], message, 'key'));
  }
}
