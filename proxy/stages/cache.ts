// Stage 4: an answer that was kept. It comes before budgets and limits, and counts nothing (spec, Limits 9); what it does not have is asked
// for, and kept on its way to the client.
import type { CachedAnswer } from '../../store/cache/answer-cache.ts';
import { wholeAnswer } from '../answer.ts';
import { readCacheControl } from '../cache/cache-control.ts';
import { cacheKey } from '../cache/cache-key.ts';
import type { Caching } from '../cache/caching.ts';
import type { Landing } from '../cache/flights.ts';
import { normalise } from '../cache/normalised-body.ts';
import { replayed } from '../cache/replay.ts';
import { routeIdentity } from '../cache/route-identity.ts';
import { largeBytes } from '../call/call.ts';
import { addForwarded } from '../call/forwarded-headers.ts';
import type { Exchange } from '../connection/exchange.ts';
import type { Operation, Surface } from '../dialects/dialect.ts';
import type { Gateway } from '../gateway.ts';
import { headerOf } from '../records/header-of.ts';
import type { Route } from '../snapshot/snapshot.ts';
import { idHeaders } from './announce.ts';
import type { Principal } from './authenticate.ts';
import type { Guarded } from './guard.ts';
import type { Delivery } from './relay.ts';

/** Raise it with every change of what keys are made of. */
const keyVersion = '1';
/** Tells what the cache was to a request. */
export const cacheHeader = 'x-gateway-cache';

/** The same, with the answer that was found. */
export interface Looked extends Guarded {
  kept?: Delivery;
}

/** Who asks, and how. */
export interface Looking {
  readonly row: { readonly path: string; readonly operation: Operation; readonly surface: Surface };
  readonly exchange: Exchange;
  readonly principal: Principal | undefined;
  readonly caching: Caching | undefined;
  /** Where it leads, for the record; set where an answer is found. */
  route: Route | undefined;
}

type Parts = Pick<Gateway, 'cache'>;

/**
 * Looks for the answer; at once where nothing must be fetched. Guardrails are no part of its key: those of a request have changed its call
 * already, and those of an answer look at each one that is served, as the provider gave it.
 */
export function lookUp(asked: Looked, trip: Looking, parts: Parts): Looked | Promise<Looked> {
  const { caching } = trip;
  if (caching === undefined) return asked;
  const { isFresh, isPrivate, maxAgeSeconds } = readCacheControl(
    headerOf(trip.exchange.request.rawHeaders, 'cache-control'),
  );
  const { engine } = parts.cache;
  if (isPrivate || engine === undefined || engine.isAway) return asked;
  const key = keyOf(asked, trip, caching);
  caching.key = key;
  if (key === undefined || isFresh) return asked;
  const found = engine.get(key, parts.cache.nowMs());
  if (found instanceof Promise)
    return found.then((come) => judge(come, maxAgeSeconds, { asked, trip, caching, key, parts }));
  return judge(found, maxAgeSeconds, { asked, trip, caching, key, parts });
}

/** A request whose answer was looked for. */
interface Sought {
  readonly asked: Looked;
  readonly trip: Looking;
  readonly caching: Caching;
  readonly key: string;
  readonly parts: Parts;
}

function judge(found: CachedAnswer | undefined, maxAgeSeconds: number, sought: Sought): Looked | Promise<Looked> {
  const { asked, caching, parts } = sought;
  const { engine, nowMs } = parts.cache;
  if (found !== undefined && nowMs() - found.storedAtMs <= maxAgeSeconds * 1000 && serve(found, sought)) return asked;
  caching.outcome = engine?.isAway === false ? 'miss' : 'bypass';
  return caching.settings.sharesCalls ? share(sought) : asked;
}

/** An equal request may be under way. */
function share(sought: Sought): Looked | Promise<Looked> {
  const { asked, trip, caching, key, parts } = sought;
  const landed = (landing: Landing): Looked => {
    caching.leads = landing === 'lead';
    if (typeof landing !== 'string') serve(landing, sought);
    return asked;
  };
  const landing = parts.cache.flights.join(key, trip.exchange);
  return typeof landing === 'string' ? landed(landing) : landing.then(landed);
}

/** Gives the answer as this request wants it. False: it cannot be told so. */
function serve(hit: CachedAnswer, { asked, trip, caching, parts }: Sought): boolean {
  const { row, exchange } = trip;
  const { stream, wantsUsage } = asked.call;
  const body = stream ? replayed(row.operation, hit.body, wantsUsage) : hit.body;
  if (body === undefined) return false;
  caching.outcome = 'hit';
  caching.hit = hit;
  caching.key = undefined;
  trip.route = asked.named;
  const ageSeconds = Math.max(0, Math.floor((parts.cache.nowMs() - hit.storedAtMs) / 1000));
  const contentType = stream ? 'text/event-stream; charset=utf-8' : 'application/json; charset=utf-8';
  const headers = [...idHeaders(row.surface, exchange.id), cacheHeader, 'hit', 'age', String(ageSeconds)];
  const answer = wholeAnswer(body, { contentType, stream });
  asked.kept = { answer, provider: undefined, taps: [], headers, keyId: undefined };
  return true;
}

/** Undefined: the answer must not be another's. */
function keyOf({ call, home, named }: Guarded, trip: Looking, caching: Caching): string | undefined {
  const { row, exchange, principal } = trip;
  const { scope, resets, onlyDeterministic } = caching.settings;
  // A long body would hold others up while it is hashed.
  if (home !== undefined || principal === undefined || call.body.length > largeBytes) return undefined;
  const normalised = normalise(call, row.operation);
  if (normalised === undefined || (onlyDeterministic && !normalised.isDeterministic)) return undefined;
  const { text, models, forwarded } = routeIdentity(named, row.operation);
  const { kind, keyId = '', userPath } = principal;
  const path = scope === 'gateway' ? '' : userPath;
  const key = scope === 'key' ? `${kind} ${keyId}` : '';
  const mark = resets.isEmpty ? '' : resets.markOf(userPath, [call.model, ...models]);
  const head = `${keyVersion}\0${row.operation}\0${text}\0${scope}\0${path}\0${key}\0${mark}\0${call.model}\0`;
  // No part has a NUL: neither names of models, nor paths, nor headers.
  return cacheKey(`${head}${headersIn(exchange, forwarded)}\0`, call.body, normalised.members);
}

/** What providers would see of the client's headers. */
function headersIn({ request }: Exchange, names: readonly string[]): string {
  if (names.length === 0) return '';
  const headers: string[] = [];
  addForwarded(headers, request.rawHeaders, names);
  return headers.map((text) => `${text}\0`).join('');
}
