// Leaves providers out of a configuration, with everything that leads to them alone.
import { parseSelector } from '../../domain/selector.ts';
import type { AssembledConfig, DroppedTarget } from './assembled.ts';

/** Without these providers, without the targets of aliases there, and without the aliases that have no other target. */
export function leaveOut(config: AssembledConfig, names: ReadonlySet<string>): AssembledConfig {
  if (names.size === 0) return config;
  const { providers, providerNames = Object.keys(providers), aliases } = config;
  const leadsAway = ({ model }: { readonly model: string }): boolean => names.has(parseSelector(model)?.provider ?? '');
  const dropped = aliases.flatMap(({ source, targets }) =>
    targets.filter(leadsAway).map(({ model }): DroppedTarget => [source, model]),
  );
  return {
    ...config,
    ...(dropped.length === 0 ? {} : { droppedTargets: [...(config.droppedTargets ?? []), ...dropped] }),
    providerNames,
    providers: Object.fromEntries(Object.entries(providers).filter(([name]) => !names.has(name))),
    aliases: aliases.flatMap((alias) => {
      const targets = alias.targets.filter((target) => !leadsAway(target));
      return targets.length === 0 ? [] : [{ ...alias, targets }];
    }),
  };
}

/** The names of the declared providers that are left out. */
export function namesLeftOut({ providers, providerNames = [] }: AssembledConfig): readonly string[] {
  return providerNames.filter((name) => !Object.hasOwn(providers, name));
}
