// The targets of aliases that are left out until a provider says that it has the model. Pure.
import type { Alias } from '../types.ts';
import { quote } from '../validation/path.ts';
import type { ModelNames } from './model-names.ts';
import { familyPrefix, NameTable } from './name-table.ts';

/** The most lines in the log. */
const mostSaid = 20;

/** A sentence for each such target of an alias that is enabled; none where it is not known what providers said. */
export function sayUndiscovered(aliases: readonly Alias[], models: ModelNames): string[] {
  if (models.discovering.size === 0 || !models.isDiscovered) return [];
  const enabled = aliases.filter((alias) => alias.enabled);
  const table = new NameTable(enabled, models);
  const said: string[] = [];
  let more = 0;
  for (const { source, targets } of enabled) {
    for (const { model } of targets) {
      const isOpen = familyPrefix(model) === undefined && table.leadOf(model) === undefined;
      if (!isOpen || !table.mayLeadSomewhere(model)) continue;
      if (said.length < mostSaid)
        said.push(`the alias ${quote(source)} is without its target ${quote(model)} until a provider has this model`);
      else more += 1;
    }
  }
  return more > 0 ? [...said, `${more} more targets of aliases are left out until a provider has the model`] : said;
}
