// Conditions of Portkey: one on the name of the model becomes an alias of this name; for others, clients choose among aliases.
import { foldCase } from '../../../domain/selector.ts';
import { literal, note } from '../draft.ts';
import { isOneModel, longestName } from '../names.ts';
import type { TreePiece } from '../source.ts';
import type { Level, Place, Portkey } from './target.ts';

interface Branches {
  readonly strategy: TreePiece | undefined;
  readonly places: readonly (Place & { readonly own: string })[];
}

/** Every target gets an alias of its own; the default is what the name of the config leads to. */
export function addConditions(
  portkey: Portkey,
  { name, node }: Level,
  { strategy, places }: Branches,
): Place | undefined {
  const { source } = portkey;
  const named = new Map<string, Place>();
  for (const place of places) {
    const alias = `${literal(`${name}-${place.own}`)}${place.isFamily ? '/*' : ''}`;
    named.set(place.own, { name: add(portkey, alias, place.name), isFamily: place.isFamily });
  }
  if (strategy === undefined) return undefined;
  for (const condition of source.trees(strategy, 'conditions')) {
    const then = source.text(condition, 'then');
    const place = then === undefined ? undefined : named.get(then);
    const query = source.tree(condition, 'query');
    const models = query === undefined ? undefined : modelsOf(query);
    if (place === undefined)
      note(portkey, 'lost', condition, { text: 'leads to a target that could not be taken over' });
    else if (models === undefined) {
      const text = `has no counterpart: clients that it is for ask for ${place.name}, or this alias gets user_paths`;
      note(portkey, 'decide', condition, { text });
    } else if (place.isFamily) {
      for (const model of models)
        note(portkey, 'decide', condition, {
          text: `leads to all models of a provider: an alias ${JSON.stringify(model)} needs the one that is meant`,
        });
    } else for (const model of models) add(portkey, literal(model), place.name);
  }
  const fallback = source.text(strategy, 'default');
  const place = fallback === undefined ? undefined : named.get(fallback);
  for (const piece of source.unread(strategy)) note(portkey, 'lost', piece, { text: 'has no counterpart' });
  if (place === undefined) {
    note(portkey, 'decide', node, { text: 'has no default that could be taken over: each of its targets is an alias' });
    return [...named.values()][0];
  }
  return place;
}

/** The alias that leads there; one that exists is left as it is. */
function add({ draft }: Portkey, source: string, model: string): string {
  const key = foldCase(source);
  const isThere = key === foldCase(model) || draft.aliases.some((alias) => foldCase(alias.source) === key);
  // An alias of the name of a target would lead to itself.
  const isTarget = draft.providers.some(({ name, models }) =>
    [...models.keys()].some((id) => foldCase(`${name}/${id}`) === key),
  );
  if (!isThere && !isTarget) draft.aliases.push({ source, targets: [{ model }] });
  return source;
}

/** The names of models that a query asks for, when it asks for nothing else. */
function modelsOf({ value }: TreePiece): string[] | undefined {
  const [[key, wanted] = [], another] = Object.entries(value);
  if (key !== 'params.model' || another !== undefined) return undefined;
  if (typeof wanted === 'string') return usable([wanted]);
  const [[operator, operand] = [], more] = Object.entries(wanted ?? {});
  if (more !== undefined) return undefined;
  if (operator === '$eq' && typeof operand === 'string') return usable([operand]);
  return operator === '$in' && Array.isArray(operand) && operand.every((each) => typeof each === 'string')
    ? usable(operand)
    : undefined;
}

function usable(models: string[]): string[] | undefined {
  return models.every((model) => isOneModel(model, longestName)) ? models : undefined;
}
