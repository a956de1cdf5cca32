// Stage 8 and 9 for the cache: an answer is taken as it passes, and kept when it came completely.

import type { CachedAnswer, CachedFacts } from '../../../store/cache/answer-cache.ts';
import type { VectorPlace } from '../../../store/cache/semantic/neighbours.ts';
import { AnswerTap } from '../../cache/answer-tap.ts';
import type { Caching } from '../../cache/caching.ts';
import type { FlightEnd } from '../../cache/flights.ts';
import { KeptFacts } from '../../cache/kept-facts.ts';
import type { LatePut, ResponseCache } from '../../cache/response-cache.ts';
import type { Call } from '../../call/call.ts';
import type { Operation } from '../../dialects/dialect.ts';
import type { Exchange } from '../../http/exchange.ts';
import { longestWaitingText } from '../../pacing/batch.ts';
import type { RecordedEnd } from '../../records/record-of-trip.ts';
import type { TokenUsage, UsageSource } from '../../tokens/token-usage.ts';
import type { Accepted } from '../attempts.ts';
import type { Delivery, Ending } from '../relay.ts';
import { cacheHeader } from './look-up.ts';

/** A request whose answer may be kept. */
export interface Kept {
  readonly row: { readonly path: string; readonly operation: Operation };
  readonly caching: Caching | undefined;
}

/** A request whose answer is kept, when it is over. */
export interface Over extends Kept {
  readonly exchange: Pick<Exchange, 'id' | 'gone' | 'waiting' | 'response'>;
  readonly call: Call | undefined;
  readonly accepted: Accepted | undefined;
  /** Several targets told it: it is not the answer of any, and is not kept. */
  readonly rescued?: unknown;
  readonly failed: readonly unknown[];
  readonly ending: Ending;
  readonly usage: Pick<UsageSource, 'heldBytes'> | undefined;
}

/** The end of a request whose answer is kept. */
type KeptEnd = Pick<RecordedEnd, 'usage' | 'nowMs'>;

interface KeepingParts {
  readonly cache: ResponseCache;
  /** Tells the operator of an unexpected failure. */
  readonly reportFailure: (error: unknown, requestId: string) => void;
}

/** The delivery with a tap nearest to the client, where the answer may be kept, and with a word about the cache. */
export function takeForCache(delivery: Delivery, { row, caching }: Kept, { cache }: KeepingParts): Delivery {
  if (caching === undefined) return delivery;
  const { answer } = delivery;
  const { provider, holder } = delivery;
  const headers = [...delivery.headers, cacheHeader, caching.outcome];
  if (caching.key === undefined || answer.status !== 200) return { ...delivery, headers };
  const { mostEntryBytes: mostBytes } = caching.settings;
  const { operation } = row;
  caching.tap = new AnswerTap(answer, { operation, budget: cache.captures, mostBytes });
  return { answer, provider, taps: [...delivery.taps, caching.tap], headers, holder };
}

/** The request is over: counts what the cache was to it, keeps its answer, and tells those that wait for it. `end` undefined: it could not be counted. */
export function settleCache(trip: Over, end: KeptEnd | undefined, parts: KeepingParts): void {
  const { row, caching } = trip;
  if (caching === undefined) return;
  const { cache } = parts;
  cache.note(row.path, caching.outcome);
  if (caching.hit !== undefined) cache.noteSaved(caching.hit);
  const { key, leads, tap, semantic } = caching;
  if (semantic !== undefined) cache.semantic.note(semantic.outcome);
  if (key === undefined) return;
  const keeping = tap && end && new Keeping(trip, { key, tap, place: semantic?.place, end }, parts);
  if (keeping === undefined) tap?.release();
  // Those that wait, and those whose requests only mean the same, would not find what is kept later.
  if (!leads && semantic === undefined) {
    if (keeping !== undefined) cache.putLater(keeping, mayWait(trip));
    return;
  }
  const made = keeping?.put();
  if (!leads) return;
  const isShared = made !== undefined && cache.flights.isFollowed(key, trip.exchange);
  cache.flights.landed(key, trip.exchange, isShared ? made : endOf(trip));
}

/** Whether what it is made of is short. */
function mayWait({ call, usage }: Over): boolean {
  return Math.max(call?.body.length ?? 0, usage?.heldBytes ?? 0) <= longestWaitingText;
}

/** How the answer is kept. */
interface CachePlace {
  readonly key: string;
  readonly tap: AnswerTap;
  /** The entry of the index of meanings. */
  readonly place: VectorPlace | undefined;
  readonly end: KeptEnd;
}

/** An answer that has passed, on its way into the cache. */
class Keeping implements LatePut {
  readonly #trip: Over;
  readonly #place: CachePlace;
  readonly #parts: KeepingParts;

  constructor(trip: Over, place: CachePlace, parts: KeepingParts) {
    this.#trip = trip;
    this.#place = place;
    this.#parts = parts;
  }

  get key(): string {
    return this.#place.key;
  }

  /** Gives what was kept; undefined: it may not be kept. */
  put(): CachedAnswer | undefined {
    const { key, tap, place } = this.#place;
    const { cache } = this.#parts;
    const made = this.#make();
    tap.release();
    if (made === undefined) return undefined;
    const { storedAtMs, expiresAtMs } = made;
    cache.engine?.put(key, made, storedAtMs);
    if (place !== undefined) cache.semantic.neighbours?.put({ ...place, key, expiresAtMs }, storedAtMs);
    return made;
  }

  /** The answer, as it is kept. */
  #make(): CachedAnswer | undefined {
    const { caching, call, accepted, exchange, ending, rescued } = this.#trip;
    const isWhole = ending.status === 200 && ending.refused === undefined && !exchange.gone && rescued === undefined;
    if (!isWhole || call === undefined || accepted === undefined || caching === undefined) return undefined;
    const { tap, end } = this.#place;
    const storedAtMs = Math.floor(end.nowMs);
    try {
      const { usage } = end;
      const body = tap.answer({ requestBody: call.body, model: call.model, nowMs: storedAtMs, usage });
      if (body === undefined) return undefined;
      const expiresAtMs = storedAtMs + caching.settings.ttlMs;
      return { storedAtMs, expiresAtMs, facts: factsOf(accepted, usage), body };
    } catch (error) {
      // The client has its answer.
      this.#parts.reportFailure(error, exchange.id);
      return undefined;
    }
  }
}

function factsOf({ target, named, upstreamId }: Accepted, usage: TokenUsage | undefined): CachedFacts {
  const { upstream, model } = target;
  if (usage === undefined) return { provider: upstream.name, type: upstream.type, model };
  return new KeptFacts(target, usage, named.answer?.id ?? upstreamId);
}

function endOf({ exchange, accepted, failed, ending }: Over): FlightEnd {
  if (exchange.gone || (accepted === undefined && failed.length === 0)) return 'left';
  return ending.refused === undefined && accepted !== undefined ? 'unkept' : 'failed';
}
