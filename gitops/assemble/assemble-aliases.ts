// Gives aliases the shape of the assembled configuration: a list of targets, normalised user paths, and no target of a provider that is left out.
import { type ModelOffer, modelNames } from '../../domain/aliases/model-names.ts';
import { type AliasTargets, familyPrefix, NameTable } from '../../domain/aliases/name-table.ts';
import { foldCase, isQualified, parseSelector } from '../../domain/selector.ts';
import { normaliseUserPath } from '../../domain/user-path.ts';
import type { Alias } from '../../schemas/types.ts';
import { type Path, quote } from '../../schemas/validation/path.ts';
import type { Problem } from '../read/problem.ts';
import type { DroppedTarget } from './assembled.ts';
import type { Sources } from './sources.ts';
import { listedTargets, targetsOf, type WrittenAlias } from './written-aliases.ts';

/**
 * The aliases of files without problems. `offer`: the providers that are not left out, and the names of all; `isPartial`: some are left
 * out. A target that leads only to those is dropped, and so is an alias without any other target; a warning says so.
 */
export function assembleAliases(
  written: readonly WrittenAlias[],
  { offer, isPartial }: { readonly offer: ModelOffer; readonly isPartial: boolean },
  sources: Sources,
): { aliases: Alias[]; dropped: DroppedTarget[]; warnings: Problem[] } {
  const dropped: DroppedTarget[] = [];
  const warnings: Problem[] = [];
  const warn = (path: Path, message: string): void => {
    warnings.push({ ...sources.problem(path, message), environmental: true });
  };
  const leads = isPartial ? createLeads(written.map(withTargets), offer) : () => true;
  const aliases = written.flatMap((alias, index): Alias[] => {
    const targets = targetsOf(alias, index).flatMap(({ path, ...target }) => {
      const { model } = target;
      if (leads(model)) return [target];
      const provider = parseSelector(model)?.provider;
      const isLeftOut = provider !== undefined && offer.providerNames?.includes(provider) === true;
      const reason = isLeftOut
        ? `the provider ${quote(provider)} is left out`
        : 'it leads only to providers that are left out';
      dropped.push([alias.source, model]);
      warn(path, `is dropped, because ${reason}`);
      return [];
    });
    const { mirror, ...unmirrored } = alias;
    const hasMirror = mirror !== undefined && leads(mirror.target);
    if (mirror !== undefined && !hasMirror)
      warn(['aliases', index, 'mirror', 'target'], 'is dropped, because it leads only to providers that are left out');
    if (targets.length > 0) return [assembled(hasMirror ? alias : unmirrored, targets)];
    const named = sources.quoted(['aliases', index, 'source']);
    warn(['aliases', index], `the alias ${named} is left out, because it has no target left`);
    return [];
  });
  return { aliases, dropped, warnings };
}

/** Whether a target leads to a model in the end. */
function createLeads(aliases: readonly AliasTargets[], offer: ModelOffer): (name: string) => boolean {
  const models = modelNames(offer);
  const providers = new Set((offer.providerNames ?? Object.keys(offer.providers)).map(foldCase));
  const table = new NameTable(aliases, models);
  const families = new Map([...table.families()].map((each) => [each.family.source, each]));
  // Chains of aliases have been checked: they are short and have no cycle.
  const leads = (name: string): boolean => {
    const prefix = familyPrefix(name);
    if (prefix !== undefined) {
      const known = families.get(name);
      if (known !== undefined) return known.models.size > 0 || known.family.targets.some(({ model }) => leads(model));
      return models.discovering.has(prefix) || (models.offered.get(prefix)?.size ?? 0) > 0;
    }
    const lead = table.leadOf(name);
    if (lead?.alias !== undefined) return lead.alias.targets.some(({ model }) => leads(model));
    // A bare id that no provider lists may be one of those that are asked.
    return lead !== undefined || (models.discovering.size > 0 && !isQualified(name, providers));
  };
  return leads;
}

function withTargets(alias: WrittenAlias): AliasTargets {
  return { source: alias.source, strategy: alias.strategy, targets: listedTargets(alias) };
}

function assembled(alias: WrittenAlias, targets: Alias['targets']): Alias {
  const { source, target: _, targets: _written, user_paths: userPaths, ...rest } = alias;
  if (userPaths === undefined) return { source, targets, ...rest };
  const paths = userPaths.map((text) => normaliseUserPath(text).path ?? text);
  return { source, targets, ...rest, user_paths: [...new Set(paths)] };
}
