// The order of the listing, when another one than that of subjects is asked for. Pure.
import type { MergedRule } from '../../../domain/rules/merge.ts';
import { readChoice } from '../records/read-query.ts';
import type { ListingParts } from './listing.ts';
import { shareUsed } from './rule-use.ts';
import type { Surroundings } from './search.ts';

export interface RuleOrder {
  /** Depends on what is used of the rules. */
  readonly isByUse: boolean;
  readonly sorted: (rules: ListingParts['rules'], around: Surroundings) => ListingParts['rules'];
}

/** What is larger comes later; undefined: last, either way. */
type Value = number | string | undefined;

const values: Readonly<Record<string, (rule: MergedRule, around: Surroundings) => Value>> = {
  subject: ({ subject }) => subject.toLowerCase(),
  use: (rule, { live, ...around }) => (live === undefined ? undefined : shareUsed(rule, { live, ...around })),
  refused: ({ key }, { live }) => live?.refused(key),
  source: ({ key }, { places }) => places.get(key),
};

/** Of a query: a name of `values`, with `-` before it the other way round. Throws 400 `invalid_query` for another one. */
export function readOrder(sort: string): RuleOrder {
  const falling = Object.keys(values).map((name) => `-${name}`);
  const chosen = readChoice('sort', sort, [...Object.keys(values), ...falling]);
  const [name, sign] = chosen.startsWith('-') ? [chosen.slice(1), -1] : [chosen, 1];
  const pick = values[name] ?? (() => undefined);
  return {
    isByUse: name === 'use',
    sorted: (rules, around) =>
      rules
        .map((rule) => ({ rule, value: pick(rule, around) }))
        .toSorted((a, b) => compare(a.value, b.value, sign))
        .map(({ rule }) => rule),
  };
}

function compare(one: Value, other: Value, sign: number): number {
  if (one === undefined || other === undefined) return Number(one === undefined) - Number(other === undefined);
  return one === other ? 0 : one < other ? -sign : sign;
}
