// How many model requests ended how: plain numbers found without making a text of the labels, because every request counts.

/** The labels of one count. */
export interface RequestLabels {
  readonly endpoint: string;
  readonly provider: string;
  readonly status: number;
}

/** Nothing is counted at first. */
export class RequestTally {
  readonly #byEndpoint = new Map<string, Map<string, Map<number, number>>>();

  add(endpoint: string, provider: string, status: number): void {
    const statuses = entryOf(entryOf(this.#byEndpoint, endpoint), provider);
    statuses.set(status, (statuses.get(status) ?? 0) + 1);
  }

  *counts(): Generator<{ labels: RequestLabels; count: number }, void> {
    for (const [endpoint, providers] of this.#byEndpoint) {
      for (const [provider, statuses] of providers) {
        for (const [status, count] of statuses) yield { labels: { endpoint, provider, status }, count };
      }
    }
  }
}

/** The map under a key, made when it is missing. */
function entryOf<Key, Value>(maps: Map<string, Map<Key, Value>>, key: string): Map<Key, Value> {
  let found = maps.get(key);
  if (found === undefined) {
    found = new Map();
    maps.set(key, found);
  }
  return found;
}
