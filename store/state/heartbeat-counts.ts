// Counts in a heartbeat: of the response cache and of guardrails since the start of the proxy, of requests since its revision is in force.

/** Where answers lie in Redis, all proxies say the same of what it holds. */
export interface CacheFacts {
  readonly entries: number;
  readonly bytes: number;
  readonly evicted: number;
  readonly dropped: number;
  /** By endpoint, in alphabetical order. */
  readonly requests: readonly CacheCount[];
  readonly saved_tokens: number;
  /** Billionths of a US dollar. */
  readonly saved_nano_dollars: number;
}

export type CacheCount = readonly [endpoint: string, hits: number, misses: number, bypasses: number];

/** How often a guardrail has said something; see the metric of guardrails. */
export type VerdictCount = readonly [guardrail: string, phase: string, outcome: string, count: number];

/** See `RevisionCounts`. `sinceMs`: when the revision came in force, in Unix milliseconds. */
export type RevisionCountsRow = readonly [
  sinceMs: number,
  requests: number,
  errors: number,
  refusals: number,
  firstBytes: readonly number[],
];

/** Counts beyond these are left out of a heartbeat. */
export const mostVerdictCounts = 1_000;

/** False for what is no `CacheFacts`. */
export function isCacheFacts(value: unknown): value is CacheFacts {
  if (typeof value !== 'object' || value === null) return false;
  const { requests, ...numbers } = value as Partial<Record<keyof CacheFacts, unknown>>;
  const { entries, bytes, evicted, dropped, saved_tokens, saved_nano_dollars } = numbers;
  return (
    [entries, bytes, evicted, dropped, saved_tokens, saved_nano_dollars].every(isCount) &&
    Array.isArray(requests) &&
    requests.every((each) => isRow(each, 1, 3))
  );
}

/** False for what are no `VerdictCount`s. */
export function areVerdictCounts(value: unknown): value is readonly VerdictCount[] {
  return Array.isArray(value) && value.every((each) => isRow(each, 3, 1));
}

/** False for what is no `RevisionCountsRow`. */
export function isCountsOfRevision(value: unknown): value is RevisionCountsRow {
  if (!Array.isArray(value)) return false;
  const [sinceMs, requests, errors, refusals, firstBytes] = value as unknown[];
  return [sinceMs, requests, errors, refusals].every(isCount) && Array.isArray(firstBytes) && firstBytes.every(isCount);
}

/** Whether a value is a list of `texts` texts, then `counts` counts. */
function isRow(value: unknown, texts: number, counts: number): boolean {
  if (!Array.isArray(value) || value.length !== texts + counts) return false;
  return value.every((each, index) => (index < texts ? typeof each === 'string' : isCount(each)));
}

function isCount(value: unknown): boolean {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}
