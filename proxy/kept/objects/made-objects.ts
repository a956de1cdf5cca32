// Which objects an answer of a provider has made, or names as made of one: from then on they are their caller's.
import { isObject, type JsonObject, type JsonValue, listOf, textOf } from '../../dialects/json/json.ts';
import { type FamilyName, families } from './families.ts';

export interface MadeObject {
  readonly family: FamilyName;
  readonly id: string;
}

/** Of one answer that are remembered. */
const mostMade = 256;

/** The object that a record is, and those that it holds. */
export function objectsIn(family: FamilyName, record: JsonObject): readonly MadeObject[] {
  const { named = ['id', 'name'] } = families[family];
  const own = named.flatMap((path) => valuesAt(record, path)).map((id) => ({ family, id: lastSegment(id) }));
  return [...own.slice(0, 1), ...heldIn(family, record)];
}

/** Those that a record of the family holds. */
export function heldIn(family: FamilyName, record: JsonObject): readonly MadeObject[] {
  const held = Object.entries(families[family].holds ?? {}).flatMap(([path, of]) =>
    valuesAt(record, path).map((id) => ({ family: of, id })),
  );
  return held.slice(0, mostMade);
}

/** The texts at a path of members; `*` stands for each of a list. */
function valuesAt(record: JsonObject, path: string): string[] {
  let values: readonly JsonValue[] = [record];
  for (const step of path.split('.')) {
    values = values.flatMap((value) =>
      step === '*' ? (listOf(value) ?? []) : isObject(value) ? [value[step] ?? null] : [],
    );
  }
  return values.flatMap((value) => textOf(value) ?? []).filter((text) => text !== '');
}

/** `files/abc` is `abc`. */
function lastSegment(id: string): string {
  return id.slice(id.lastIndexOf('/') + 1);
}
