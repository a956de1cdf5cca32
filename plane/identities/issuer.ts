// The keys of one issuer: fetched ahead of requests, kept for a stated time while it is down, and fetched again for a key that is not known
// yet, at most so often that a flood of made-up tokens does not reach the issuer.
import type { createLocalJWKSet, JWK } from 'jose';
import type { Identity } from '../../domain/identities/identity.ts';
import { type FetchOptions, FetchTrouble, fetchJson } from './fetch-json.ts';
import { publicKeysOf } from './public-keys.ts';

/** Finds the key of a token, as jose does. */
export type KeyOfToken = ReturnType<typeof createLocalJWKSet>;

/** The keys of an issuer, and when they were fetched. */
export interface FetchedKeys {
  readonly keys: readonly JWK[];
  /** Unix milliseconds. */
  readonly atMs: number;
}

/** Times of fetching, in milliseconds; tests replace them. */
export interface IssuerTimes {
  /** Between two fetches while all is well, and while the issuer does not answer. */
  readonly freshMs: number;
  readonly retryMs: number;
  /** Fetches for keys that are not known: so many at once, and then one in so long. */
  readonly burst: number;
  readonly refillMs: number;
  /** The longest fetch, and the longest wait of a request for one. */
  readonly timeoutMs: number;
  readonly waitMs: number;
}

export const issuerTimes: IssuerTimes = {
  freshMs: 600_000,
  retryMs: 10_000,
  burst: 3,
  refillMs: 10_000,
  timeoutMs: 5_000,
  waitMs: 2_000,
};

/** Requests that may wait for a fetch of one issuer. */
const mostWaiting = 256;
const mostBytes = 512 * 1024;

export interface IssuerParts {
  /** Unix milliseconds. */
  readonly nowMs: () => number;
  readonly times: IssuerTimes;
  readonly resolve: FetchOptions['resolve'];
  /** Makes of keys what finds one of them. */
  readonly finder: (keys: readonly JWK[]) => KeyOfToken;
  /** Keys were fetched; they may be others. */
  readonly fetched: () => void;
  /** The issuer does not answer any more, or does again (undefined). Told once. */
  readonly trouble: (sentence: string | undefined) => void;
}

/** Where the keys of an identity come from: two identities with the same source share them. */
export function sourceOf({ issuer, jwksUri, allowPrivate }: Identity): string {
  return JSON.stringify([issuer, jwksUri ?? null, allowPrivate]);
}

export class Issuer {
  readonly #from: Pick<Identity, 'issuer' | 'jwksUri' | 'allowPrivate'>;
  readonly #parts: IssuerParts;
  #known: FetchedKeys | undefined;
  #find: KeyOfToken | undefined;
  #fetching: Promise<void> | undefined;
  #waiting = 0;
  #timer: NodeJS.Timeout | undefined;
  #credit: number;
  #creditAtMs: number;
  #lastError: string | undefined;
  readonly #closed = new AbortController();

  constructor(from: Identity, kept: FetchedKeys | undefined, parts: IssuerParts) {
    this.#from = from;
    this.#parts = parts;
    this.#known = kept;
    this.#credit = parts.times.burst;
    this.#creditAtMs = parts.nowMs();
    void this.#fetch();
  }

  /** The keys as they were fetched last; undefined: never. */
  get known(): FetchedKeys | undefined {
    return this.#known;
  }

  /** Of the last fetch: a sentence without its end; undefined: it went well. */
  get lastError(): string | undefined {
    return this.#lastError;
  }

  /** The keys, unless they were fetched too long ago. */
  usable(keptForMs: number): FetchedKeys | undefined {
    const known = this.#known;
    return known === undefined || this.#parts.nowMs() - known.atMs > keptForMs ? undefined : known;
  }

  /** What finds the key of a token; undefined: no keys are usable. */
  finder(keptForMs: number): KeyOfToken | undefined {
    const known = this.usable(keptForMs);
    if (known === undefined) return undefined;
    this.#find ??= this.#parts.finder(known.keys);
    return this.#find;
  }

  /** Fetches again for a key that is not known. True: that has ended in time. False: it is too soon for it, too many wait, or it takes too long. */
  async again(): Promise<boolean> {
    if (this.#fetching === undefined && !this.#take()) return false;
    if (this.#waiting >= mostWaiting) return false;
    this.#waiting += 1;
    let timer: NodeJS.Timeout | undefined;
    try {
      const tooLong = new Promise<false>((resolve) => {
        timer = setTimeout(resolve, this.#parts.times.waitMs, false);
      });
      return await Promise.race([this.#fetch().then(() => true), tooLong]);
    } finally {
      clearTimeout(timer);
      this.#waiting -= 1;
    }
  }

  close(): void {
    this.#closed.abort();
    clearTimeout(this.#timer);
  }

  #take(): boolean {
    const { burst, refillMs } = this.#parts.times;
    const now = this.#parts.nowMs();
    const gained = Math.floor(Math.max(0, now - this.#creditAtMs) / refillMs);
    if (gained > 0) {
      this.#credit = Math.min(burst, this.#credit + gained);
      this.#creditAtMs = now;
    }
    if (this.#credit === 0) return false;
    this.#credit -= 1;
    return true;
  }

  /** One at a time. Never rejects. */
  #fetch(): Promise<void> {
    this.#fetching ??= this.#renew().finally(() => {
      this.#fetching = undefined;
    });
    return this.#fetching;
  }

  async #renew(): Promise<void> {
    clearTimeout(this.#timer);
    const { times, nowMs, trouble, fetched } = this.#parts;
    const before = this.#lastError;
    try {
      const keys = await this.#keys();
      this.#known = { keys, atMs: nowMs() };
      this.#find = undefined;
      this.#lastError = undefined;
      if (before !== undefined) trouble(undefined);
      if (!this.#closed.signal.aborted) fetched();
    } catch (error) {
      this.#lastError = error instanceof FetchTrouble ? error.message : 'an unexpected failure';
      if (before === undefined && !this.#closed.signal.aborted) trouble(this.#lastError);
    }
    if (this.#closed.signal.aborted) return;
    const waitMs = this.#lastError === undefined ? times.freshMs : times.retryMs;
    this.#timer = setTimeout(() => void this.#fetch(), waitMs).unref();
  }

  async #keys(): Promise<readonly JWK[]> {
    const { issuer, jwksUri, allowPrivate } = this.#from;
    const { times, resolve } = this.#parts;
    const options = { allowPrivate, timeoutMs: times.timeoutMs, mostBytes, resolve, closed: this.#closed.signal };
    if (jwksUri !== undefined) return publicKeysOf(await fetchJson(jwksUri, options));
    const metadata = await fetchJson(`${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`, options);
    const { issuer: named, jwks_uri: uri } = (metadata ?? {}) as {
      readonly issuer?: unknown;
      readonly jwks_uri?: unknown;
    };
    if (named !== issuer) throw new FetchTrouble('its metadata name another issuer');
    if (typeof uri !== 'string') throw new FetchTrouble('its metadata name no address of its keys (jwks_uri)');
    return publicKeysOf(await fetchJson(uri, options));
  }
}
