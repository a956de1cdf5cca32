// The API's data of the response cache, and the words for it. Pure.

export interface Counts {
  readonly hits: number;
  readonly misses: number;
  readonly bypasses: number;
}

export interface CacheState extends Counts {
  readonly settings: {
    readonly enabled: boolean;
    readonly ttl: string;
    readonly max_bytes: string;
    readonly max_entry_bytes: string;
    readonly scope: 'gateway' | 'user_path' | 'key';
    readonly endpoints: readonly string[];
    readonly only_deterministic: boolean;
    readonly share_concurrent: boolean;
    readonly engine: 'memory' | 'redis';
    readonly without: readonly string[];
  };
  readonly entries: number;
  readonly bytes: number;
  readonly evicted: number;
  readonly dropped: number;
  readonly saved_tokens: number;
  readonly saved_cost: number;
  readonly endpoints: readonly (Counts & { readonly endpoint: string })[];
  readonly proxies: readonly (Counts & {
    readonly instance: string;
    readonly started_at: string;
    readonly entries: number;
    readonly bytes: number;
  })[];
}

/** The share of requests that got a kept answer, of those that might have; undefined without any. */
export function hitRatio({ hits, misses }: Counts): number | undefined {
  return hits + misses === 0 ? undefined : hits / (hits + misses);
}

export const scopeWords: Readonly<Record<CacheState['settings']['scope'], string>> = {
  gateway: 'Everyone who may use the model',
  user_path: 'Requests of the same user path',
  key: 'Requests with the same key and user path',
};

/** `4.2 MB`. */
export function size(bytes: number): string {
  const units = ['B', 'KB', 'MB', 'GB', 'TB'];
  const power = bytes < 1 ? 0 : Math.min(units.length - 1, Math.floor(Math.log10(bytes) / 3));
  const number = bytes / 1000 ** power;
  return `${number < 10 && power > 0 ? number.toFixed(1) : Math.round(number)} ${units[power]}`;
}
