// The providers of a draft: one for each address, key and manner of calling; named after their type and host.
import { foldCase } from '../../domain/selector.ts';
import type { Draft, DraftProvider, ProviderTraits } from './draft.ts';

const mostLetters = 63;

/** Finds the provider with these traits, or adds it. `hint`: what tells it from others of its type, such as a region; may be empty. */
export type FindProvider = (traits: ProviderTraits, hint: string) => DraftProvider;

/** `reserved`: names that no provider may have, in lower case. */
export function openBook(draft: Draft, reserved: ReadonlySet<string> = new Set()): FindProvider {
  const byTraits = new Map<string, DraftProvider>();
  const names = new Set(reserved);
  return (traits, hint) => {
    const key = JSON.stringify(traits);
    const known = byTraits.get(key);
    if (known !== undefined) return known;
    const provider: DraftProvider = {
      name: nameFor(traits.type, hint, names),
      traits,
      models: new Map(),
      patterns: new Set(),
      dialects: new Set(),
    };
    names.add(foldCase(provider.name));
    byTraits.set(key, provider);
    draft.providers.push(provider);
    return provider;
  };
}

function nameFor(type: string, hint: string, taken: ReadonlySet<string>): string {
  const said = hint.replaceAll(/[^A-Za-z0-9._-]+/g, '-').replaceAll(/^[^A-Za-z0-9]+|[^A-Za-z0-9]+$/g, '');
  const whole = said === '' || said === type ? type : said;
  for (let count = 1; ; count += 1) {
    const end = count === 1 ? '' : `-${count}`;
    const name = `${whole.slice(0, mostLetters - end.length)}${end}`;
    if (!taken.has(foldCase(name))) return name;
  }
}

/** Adds a model and gives its selector. */
export function addModel({ name, models }: DraftProvider, id: string): string {
  if (!models.has(id)) models.set(id, { id });
  return `${name}/${id}`;
}

/** Whether a provider is asked for its models, so that it lists none here. */
export function isDiscovering({ models, patterns }: DraftProvider): boolean {
  return patterns.size > 0 || models.size === 0;
}
