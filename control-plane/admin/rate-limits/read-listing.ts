// Reads the query of the listing: which rules, and which page of them. Pure.
import { invalidQuery, readQuery } from '../../managed/read-query.ts';
import { type Page, readPage } from '../records/read-query.ts';
import { filterNames, type RuleFilter, readFilter } from './filter.ts';
import { type RuleSearch, readSearch, searchNames } from './search.ts';

export interface ListingQuery {
  readonly filter: RuleFilter;
  readonly search: RuleSearch;
  /** Undefined: every rule is listed. */
  readonly page: Page | undefined;
}

/** Throws 400 `invalid_query` for an unknown or repeated parameter, and for a value that means nothing. */
export function readListing(query: unknown): ListingQuery {
  const given = readQuery(query, [...filterNames, ...searchNames, 'limit', 'offset']);
  const { limit, offset } = given;
  if (limit === undefined && offset !== undefined) throw invalidQuery('offset', 'needs a limit beside it');
  const page = limit === undefined ? undefined : readPage(given, Number(limit));
  return { filter: readFilter(given), search: readSearch(given), page };
}
