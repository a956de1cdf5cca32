// Stage 4: an answer that was kept. It comes before budgets and limits, and counts nothing (spec, Limits 9); what it does not have is asked
// for, and kept on its way to the client.

import type { CachedAnswer } from '../../../store/cache/answer-cache.ts';
import { wholeAnswer } from '../../answer.ts';
import { readCacheControl } from '../../cache/cache-control.ts';
import type { Caching } from '../../cache/caching.ts';
import type { Embedder } from '../../cache/embedding.ts';
import type { Landing } from '../../cache/flights.ts';
import type { ResponseCache } from '../../cache/response-cache.ts';
import type { Operation, Surface } from '../../dialects/dialect.ts';
import type { Exchange } from '../../http/exchange.ts';
import { followed } from '../../pacing/slices.ts';
import { wholeHeaderOf } from '../../records/header-of.ts';
import type { Route } from '../../snapshot/snapshot.ts';
import { idHeaders } from '../announce.ts';
import type { Principal } from '../authenticate.ts';
import type { Guarded } from '../guard.ts';
import type { Delivery } from '../relay.ts';
import { findSimilar } from './find-similar.ts';
import { keyOf } from './request-key.ts';

/** Tells what the cache was to a request. */
export const cacheHeader = 'x-gateway-cache';

/** A call, and the answer that was found for it. */
export interface Looked extends Guarded {
  kept?: Delivery;
}

/** Who asks, and how. */
export interface Looking {
  readonly row: { readonly path: string; readonly operation: Operation; readonly surface: Surface };
  readonly exchange: Exchange;
  readonly principal: Principal | undefined;
  readonly caching: Caching | undefined;
  /** Asks a model for embeddings in its name. */
  embedder(model: string): Embedder;
  /** Where it leads, for the record; set where an answer is found. */
  route: Route | undefined;
}

interface LookUpParts {
  readonly cache: ResponseCache;
  /** Tells the operator of an unexpected failure. */
  readonly reportFailure: (error: unknown, requestId: string) => void;
}

/**
 * Looks for the answer; at once where nothing must be fetched. Guardrails are no part of its key: those of a request have changed its call
 * already, and those of an answer look at each one that is served, as the provider gave it.
 */
export function lookUp(asked: Looked, trip: Looking, parts: LookUpParts): Looked | Promise<Looked> {
  const { caching } = trip;
  if (caching === undefined) return asked;
  const { isFresh, isPrivate, maxAgeSeconds } = readCacheControl(
    wholeHeaderOf(trip.exchange.request.rawHeaders, 'cache-control'),
  );
  const { engine } = parts.cache;
  if (isPrivate || engine === undefined || engine.isAway) return asked;
  const key = keyOf(asked, trip, caching);
  caching.key = key;
  if (key === undefined || isFresh) return asked;
  const sought: Sought = { asked, trip, caching, key, maxAgeSeconds, parts };
  const found = parts.cache.find(engine, key);
  return followed(found, (come) => judge(come, sought));
}

/** A request whose answer was looked for. */
interface Sought {
  readonly asked: Looked;
  readonly trip: Looking;
  readonly caching: Caching;
  readonly key: string;
  readonly maxAgeSeconds: number;
  readonly parts: LookUpParts;
}

function judge(found: CachedAnswer | undefined, sought: Sought): Looked | Promise<Looked> {
  return followed(serveYoung(found, sought), (isServed) => (isServed ? sought.asked : miss(sought)));
}

function miss(sought: Sought): Looked | Promise<Looked> {
  const { caching, parts } = sought;
  caching.outcome = parts.cache.engine?.isAway === false ? 'miss' : 'bypass';
  return caching.settings.sharesCalls ? share(sought) : lookSimilar(sought);
}

/** An equal request may be under way. */
function share(sought: Sought): Looked | Promise<Looked> {
  const { asked, trip, caching, key, parts } = sought;
  const landed = (landing: Landing): Looked | Promise<Looked> => {
    caching.leads = landing === 'lead';
    if (typeof landing === 'string') return lookSimilar(sought);
    return followed(serveYoung(landing, sought), (isServed) => {
      if (isServed) caching.semantic = landing.similar;
      return asked;
    });
  };
  return followed(parts.cache.flights.join(key, trip.exchange, caching.settings.sharePatienceMs), landed);
}

/** Looks for an earlier request with this meaning. */
function lookSimilar(sought: Sought): Looked | Promise<Looked> {
  const { asked, trip, caching, key, parts } = sought;
  const finding = caching.settings.semantic && findSimilar(caching.settings.semantic, sought);
  if (finding === undefined) return asked;
  return finding.then(async (found) => {
    const isServed = await serveYoung(found, sought);
    const { semantic } = caching;
    if (!isServed || found === undefined || semantic === undefined) return asked;
    semantic.outcome = 'hit';
    if (caching.leads) parts.cache.flights.landed(key, trip.exchange, { ...found, similar: semantic });
    return asked;
  });
}

/** Serves the answer, unless there is none, or it is older than the client takes. */
function serveYoung(found: CachedAnswer | undefined, sought: Sought): boolean | Promise<boolean> {
  if (found === undefined) return false;
  const { maxAgeSeconds, parts } = sought;
  return parts.cache.nowMs() - found.storedAtMs <= maxAgeSeconds * 1000 && serve(found, sought);
}

/** Gives the answer as this request wants it. False: it cannot be told so. A promise only where a long one becomes a stream. */
function serve(kept: CachedAnswer, sought: Sought): boolean | Promise<boolean> {
  const { asked, trip, parts } = sought;
  const { stream, wantsUsage } = asked.call;
  const nowMs = parts.cache.nowMs();
  const wish = { key: keyOfKept(sought), operation: trip.row.operation, wantsUsage };
  const body = stream ? parts.cache.replays.stream(kept, wish, nowMs) : kept.body;
  return followed(body, (told) => told !== undefined && put(kept, told, sought));
}

/** The answer that was found becomes that of the request. `body`: as it wants it. */
function put(hit: CachedAnswer, body: Buffer, { asked, trip, caching, parts }: Sought): true {
  const { row, exchange } = trip;
  const { stream } = asked.call;
  caching.outcome = 'hit';
  caching.hit = hit;
  caching.key = undefined;
  trip.route = asked.named;
  const ageSeconds = Math.max(0, Math.floor((parts.cache.nowMs() - hit.storedAtMs) / 1000));
  const contentType = stream ? 'text/event-stream; charset=utf-8' : 'application/json; charset=utf-8';
  const headers = [...idHeaders(row.surface, exchange.id), cacheHeader, 'hit', 'age', String(ageSeconds)];
  const answer = wholeAnswer(body, { contentType, stream });
  asked.kept = { answer, provider: undefined, taps: [], headers, holder: undefined };
  return true;
}

/** The key of the answer that was found. */
function keyOfKept({ caching, key }: Sought): string {
  return caching.semantic?.matched ?? key;
}
