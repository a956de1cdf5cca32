// What another catalogue says differently of models.
import { type Catalogue, factsById, type ModelFacts } from './model-facts.ts';

/** A model of which two catalogues say different things; `before`, `after`: the facts that differ, absent where the catalogue has no such model. */
export interface CatalogueChange {
  readonly type: string;
  readonly id: string;
  readonly before?: ModelFacts;
  readonly after?: ModelFacts;
}

/** Sorted by type and id. */
export function compareCatalogues(before: Catalogue, after: Catalogue): CatalogueChange[] {
  const types = [...new Set([...Object.keys(before.models), ...Object.keys(after.models)])].sort();
  return types.flatMap((type) => {
    const old = factsById(before.models[type] ?? []);
    const young = factsById(after.models[type] ?? []);
    const ids = [...new Set([...old.keys(), ...young.keys()])].sort();
    return ids.flatMap((id) => changeOf({ type, id }, old.get(id), young.get(id)) ?? []);
  });
}

function changeOf(
  model: Pick<CatalogueChange, 'type' | 'id'>,
  before: ModelFacts | undefined,
  after: ModelFacts | undefined,
): CatalogueChange | undefined {
  if (before === undefined) return after && { ...model, after };
  if (after === undefined) return { ...model, before };
  const names = new Set([...Object.keys(before), ...Object.keys(after)] as (keyof ModelFacts)[]);
  const differing = [...names].filter((name) => JSON.stringify(before[name]) !== JSON.stringify(after[name]));
  if (differing.length === 0) return undefined;
  const part = (facts: ModelFacts): ModelFacts =>
    Object.fromEntries(differing.flatMap((name) => (facts[name] === undefined ? [] : [[name, facts[name]]])));
  return { ...model, before: part(before), after: part(after) };
}
