// The search of the listing: by what a rule says of itself, where it comes from, and how it stands. Pure.
import type { MergedRule } from '../../../domain/rules/merge.ts';
import { invalidQuery } from '../../managed/read-query.ts';
import { type Given, readChoice } from '../records/read-query.ts';
import type { ListingParts } from './listing.ts';
import { isUsedUp } from './rule-use.ts';

/** The facts that a search uses besides the rule. */
export type Surroundings = Pick<ListingParts, 'live' | 'places' | 'counting' | 'shared'>;

/** Whether a rule is listed. */
export type RuleTest = (rule: MergedRule, around: Surroundings) => boolean;

/** A search: by what rules are, and then by how they stand. */
export interface RuleSearch {
  readonly finds: RuleTest;
  readonly stands: RuleTest;
  /** How they stand depends on what is used of them. */
  readonly isByUse: boolean;
}

/** The parameters that search. */
export const searchNames = ['search', 'rule', 'source', 'state'] as const;

/** By the values of `source`. */
const origins: Readonly<Record<string, (rule: MergedRule) => boolean>> = {
  config: ({ source }) => source === 'config',
  manual: ({ source }) => source === 'manual',
  override: ({ overridesConfig }) => overridesConfig,
};

/** By the values of `state`. */
const standings: Readonly<Record<string, RuleTest>> = {
  used_up: (rule, { live, ...around }) => live !== undefined && isUsedUp(rule, { live, ...around }),
  refused: ({ key }, { live }) => (live?.refused(key) ?? 0) > 0,
  shadow: ({ mode }) => mode === 'shadow',
  unenforced: ({ enforced }) => !enforced,
  ending: ({ manual }) => manual?.expiresAt !== undefined,
};

/**
 * The search of a query; all of its parameters must hold. `search` is looked for in subject, name, reason and place, in any letter case;
 * `rule` is a name or an id. Throws 400 `invalid_query` for a value that means nothing.
 */
export function readSearch({
  search = '',
  rule: named,
  source,
  state,
}: Given<(typeof searchNames)[number]>): RuleSearch {
  if (named === '') throw invalidQuery('rule', 'must be the name or the id of a rule');
  const comesFrom = source === undefined ? undefined : origins[readChoice('source', source, Object.keys(origins))];
  const stands = state === undefined ? undefined : standings[readChoice('state', state, Object.keys(standings))];
  const sought = search.trim().toLowerCase();
  const finds: RuleTest = (rule, around) =>
    (named === undefined || rule.id === named || rule.name === named) &&
    (comesFrom === undefined || comesFrom(rule)) &&
    (sought === '' || says(rule, around.places.get(rule.key), sought));
  return { finds, stands: stands ?? (() => true), isByUse: state === 'used_up' };
}

function says({ subject, name, manual }: MergedRule, place: string | undefined, sought: string): boolean {
  return [subject, name, manual?.reason, place].some((text) => text?.toLowerCase().includes(sought) === true);
}
