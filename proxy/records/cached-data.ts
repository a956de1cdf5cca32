// What the cache was to a request, as its record says it.
import type { AuditData, RequestRecord } from '../../domain/records/request-record.ts';
import type { CachedFacts } from '../../store/cache/answer-cache.ts';
import type { LoggedTrip } from './logged-trip.ts';

/** `hit`: the kept answer that it got. `semantic`: what was found among requests that mean the same; absent: the semantic cache was not asked. */
export interface RecordedCaching extends NonNullable<LoggedTrip['caching']> {
  readonly hit: { readonly facts: CachedFacts } | undefined;
  readonly semantic?: (NonNullable<AuditData['semantic_cache']> & { readonly place?: object | undefined }) | undefined;
}

/** Undefined: it got no kept answer. */
export function cacheTypeOf(caching: RecordedCaching | undefined): RequestRecord['cache_type'] {
  if (caching?.hit === undefined) return undefined;
  return caching.semantic?.outcome === 'hit' ? 'semantic' : 'exact';
}

export function cachedData(caching: RecordedCaching | undefined): Partial<AuditData> {
  if (caching?.semantic === undefined) return {};
  const { place: _place, ...decision } = caching.semantic;
  return { semantic_cache: decision };
}
