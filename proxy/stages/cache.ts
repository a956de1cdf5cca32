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
  readonly kept: Delivery | undefined;
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

/** Looks for the answer; at once where nothing must be fetched. `guardrails`: what says which of them the request has passed. */
export function lookUp(asked: Guarded, trip: Looking, parts: Parts, guardrails = ''): Looked | Promise<Looked> {
  const none = { ...asked, kept: undefined };
  const { caching } = trip;
  if (caching === undefined) return none;
  const { isFresh, isPrivate, maxAgeSeconds } = readCacheControl(
    headerOf(trip.exchange.request.rawHeaders, 'cache-control'),
  );
  const { engine } = parts.cache;
  if (isPrivate || engine === undefined || engine.isAway) return none;
  const key = keyOf(asked, trip, caching, guardrails);
  caching.key = key;
  if (key === undefined || isFresh) return none;
  const nowMs = parts.cache.nowMs();
  const judge = (found: CachedAnswer | undefined): Looked | Promise<Looked> => {
    const isYoung = found !== undefined && nowMs - found.storedAtMs <= maxAgeSeconds * 1000;
    const kept = isYoung ? serve(found, asked, trip, parts) : undefined;
    if (kept !== undefined) return { ...asked, kept };
    caching.outcome = engine.isAway ? 'bypass' : 'miss';
    return caching.settings.sharesCalls ? share(key, none, trip, parts) : none;
  };
  const found = engine.get(key, nowMs);
  return found instanceof Promise ? found.then(judge) : judge(found);
}

/** An equal request may be under way. */
function share(key: string, asked: Looked, trip: Looking, parts: Parts): Looked | Promise<Looked> {
  const landed = (landing: Landing): Looked => {
    if (trip.caching !== undefined) trip.caching.leads = landing === 'lead';
    if (typeof landing === 'string') return asked;
    return { ...asked, kept: serve(landing, asked, trip, parts) };
  };
  const landing = parts.cache.flights.join(key, trip.exchange);
  return typeof landing === 'string' ? landed(landing) : landing.then(landed);
}

/** The answer as this request wants it; undefined: it cannot be told so. */
function serve(hit: CachedAnswer, { call, named }: Guarded, trip: Looking, { cache }: Parts): Delivery | undefined {
  const { stream, wantsUsage } = call;
  const { caching, row, exchange } = trip;
  const body = stream ? replayed(row.operation, hit.body, wantsUsage) : hit.body;
  if (body === undefined || caching === undefined) return undefined;
  caching.outcome = 'hit';
  caching.hit = hit;
  caching.key = undefined;
  trip.route = named;
  const ageSeconds = Math.max(0, Math.floor((cache.nowMs() - hit.storedAtMs) / 1000));
  const contentType = stream ? 'text/event-stream; charset=utf-8' : 'application/json; charset=utf-8';
  const headers = [...idHeaders(row.surface, exchange.id), cacheHeader, 'hit', 'age', String(ageSeconds)];
  return {
    answer: wholeAnswer(body, { contentType, stream }),
    provider: undefined,
    taps: [],
    headers,
    keyId: undefined,
  };
}

/** Undefined: the answer must not be another's. */
function keyOf(
  { call, home, named }: Guarded,
  trip: Looking,
  caching: Caching,
  guardrails: string,
): string | undefined {
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
  const headers: string[] = [];
  if (forwarded.length > 0) addForwarded(headers, exchange.request.rawHeaders, forwarded);
  const parts = [keyVersion, row.operation, text, scope, path, key, mark, guardrails, call.model, ...headers];
  // No part has a NUL: neither names of models, nor paths, nor headers.
  return cacheKey(`${parts.join('\0')}\0\0`, call.body, normalised.members);
}
