// Finds targets of aliases that no provider reports, and names of families beyond the bound. Pure.
import type { Alias } from '../../schemas/types.ts';
import { quote } from '../../schemas/validation/path.ts';
import { mostFamilyNames } from './mistakes.ts';
import type { ModelNames } from './model-names.ts';
import { familyPrefix, NameTable } from './name-table.ts';

/** The most lines in the log. */
const mostSaid = 20;

/**
 * One sentence per target of an enabled alias that no provider has, at most 20 and one about the rest; none where the
 * reports of providers are not known.
 */
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
  if (more > 0) said.push(`${more} more targets of aliases are left out until a provider has the model`);
  let names = 0;
  for (const family of table.families()) names += family.models.size;
  if (names > mostFamilyNames)
    said.push(`the families stand for ${names} names: those beyond ${mostFamilyNames} are left out; filter the models`);
  return said;
}
