// Reads the query of the listing: which rules, and which page of them. Pure.
import { normaliseSubject, type Scope } from '../../../domain/rules/scope.ts';
import { invalidQuery, readQuery } from '../../managed/read-query.ts';
import { filterNames, readSubjectFilter, type Scopes, type SubjectFilter } from '../../managed/subject-filter.ts';
import { type Page, readPage } from '../records/read-query.ts';
import { type RuleOrder, readOrder } from './order.ts';
import { type RuleSearch, readSearch, searchNames } from './search.ts';

export interface ListingQuery {
  readonly filter: SubjectFilter['shows'];
  readonly search: RuleSearch;
  /** Undefined: by subject, as rules are kept. */
  readonly order: RuleOrder | undefined;
  /** Undefined: every rule is listed. */
  readonly page: Page | undefined;
}

const scopes: Scopes<Scope> = { names: ['user_path', 'provider', 'model'], normalise: normaliseSubject };

/** Throws 400 `invalid_query` for an unknown or repeated parameter, and for a value that means nothing. */
export function readListing(query: unknown): ListingQuery {
  const given = readQuery(query, [...filterNames, ...searchNames, 'sort', 'limit', 'offset']);
  const { sort, limit, offset } = given;
  if (limit === undefined && offset !== undefined) throw invalidQuery('offset', 'needs a limit beside it');
  const page = limit === undefined ? undefined : readPage(given, Number(limit));
  const order = sort === undefined ? undefined : readOrder(sort);
  return { filter: readSubjectFilter(given, scopes).shows, search: readSearch(given), order, page };
}
