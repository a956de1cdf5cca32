// Within stage 4: the answer to an earlier request that means the same. What fails, or takes too long, is a miss.

import { setTimeout as pause } from 'node:timers/promises';
import type { CachedAnswer } from '../../../store/cache/answer-cache.ts';
import type { VectorPlace } from '../../../store/cache/semantic/neighbours.ts';
import { cacheKey, canonicalJson } from '../../cache/cache-key.ts';
import type { Caching } from '../../cache/caching.ts';
import { type ComparedText, comparedText } from '../../cache/compared-text.ts';
import { type Embedder, readEmbedding } from '../../cache/embedding.ts';
import type { ResponseCache } from '../../cache/response-cache.ts';
import type { SemanticLook, SemanticOutcome } from '../../cache/semantic-layer.ts';
import { Refusal, refusal } from '../../errors.ts';
import type { SemanticSettings } from '../../snapshot/snapshot.ts';
import type { Guarded } from '../guard.ts';
import { type Asking, decidingMembers, headOf } from './request-key.ts';

/** A request for which no equal one was found. */
export interface Unequalled {
  readonly asked: Guarded;
  readonly trip: Asking & { embedder(model: string): Embedder };
  readonly caching: Caching;
  readonly parts: { readonly cache: ResponseCache };
}

/** A place is not that of another version. Raise it with every change of what partitions are made of. */
const partitionVersion = '2';

/** At once where nothing is asked. Rejects with 499 `client_left`, and with nothing else. */
export function findSimilar(
  settings: SemanticSettings,
  sought: Unequalled,
): Promise<CachedAnswer | undefined> | undefined {
  const { asked, trip, caching, parts } = sought;
  const { engine, semantic: layer } = parts.cache;
  const members = decidingMembers(asked, trip, caching);
  if (members === undefined || engine?.isAway !== false || layer.neighbours === undefined) return undefined;
  const look: SemanticLook = { outcome: 'skipped', threshold: settings.threshold };
  caching.semantic = look;
  const compared = comparedText(asked.call, members, trip.row.operation, settings);
  if (compared === undefined) return undefined;
  const turnedAway = layer.enter();
  look.outcome = turnedAway ?? 'miss';
  return turnedAway === undefined ? searched(compared, look, settings, sought) : undefined;
}

async function searched(
  compared: ComparedText,
  look: SemanticLook,
  settings: SemanticSettings,
  sought: Unequalled,
): Promise<CachedAnswer | undefined> {
  const { cache } = sought.parts;
  try {
    const endMs = cache.nowMs() + settings.timeoutMs;
    const place = await placed(compared, settings, sought);
    look.place = place;
    const found = await nearest(place, endMs, look, sought);
    cache.semantic.worked();
    return found;
  } catch (error) {
    look.outcome = outcomeOf(error);
    if (look.outcome === 'cancelled') throw error;
    if (look.outcome !== 'refused') cache.semantic.failed(error);
    return undefined;
  } finally {
    cache.semantic.leave();
  }
}

/** Where the request stands among others: what must be equal is its partition. */
async function placed(
  { text, rest, members }: ComparedText,
  { model, timeoutMs }: SemanticSettings,
  { asked, trip, caching }: Unequalled,
): Promise<VectorPlace> {
  const embedder = trip.embedder(model);
  const embedding = readEmbedding(await embedder.embed(text, timeoutMs));
  if (embedding === undefined) throw new Error(`the model ${model} gave no embedding that can be compared`);
  const { vector, model: told } = embedding;
  const made = JSON.stringify([partitionVersion, embedder.identity, told, vector.length, canonicalJson(rest)]);
  const head = headOf(asked, trip, caching);
  return { vector, partition: cacheKey(`${head}\0${made}\0`, asked.call.body, members) };
}

async function nearest(
  place: VectorPlace,
  endMs: number,
  look: SemanticLook,
  { trip, parts }: Unequalled,
): Promise<CachedAnswer | undefined> {
  const { semantic, engine, nowMs } = parts.cache;
  const neighbour = await within(endMs - nowMs(), semantic.neighbours?.nearest(place, nowMs()));
  if (trip.exchange.gone) throw refusal('client_left');
  if (neighbour === undefined) return undefined;
  look.similarity = neighbour.similarity;
  look.matched = neighbour.key;
  if (neighbour.similarity < look.threshold) return undefined;
  const found = await engine?.get(neighbour.key, nowMs());
  // Its answer had to make room for another.
  if (found === undefined && engine?.isAway === false) semantic.neighbours?.forget(place.partition, neighbour.key);
  return found;
}

class Late extends Error {
  override readonly name = 'Late';
}

/** The value, if it comes in time. Rejects with `Late`. */
async function within<Value>(ms: number, coming: Promise<Value> | undefined): Promise<Value | undefined> {
  const given = new AbortController();
  const late = pause(Math.max(1, ms), undefined, { signal: given.signal }).then(() => {
    throw new Late('the nearest embedding was not found in time');
  });
  // The rejection of the second one is not handled elsewhere.
  late.catch(() => undefined);
  coming?.catch(() => undefined);
  try {
    return await Promise.race([coming, late]);
  } finally {
    given.abort();
  }
}

function outcomeOf(error: unknown): SemanticOutcome {
  if (error instanceof Late) return 'timeout';
  if (!(error instanceof Refusal)) return 'failed';
  const { code } = error;
  if (code === 'client_left') return 'cancelled';
  if (code === 'auxiliary_timeout' || code === 'upstream_timeout') return 'timeout';
  return code === 'rate_limit_exceeded' || code === 'budget_exceeded' ? 'refused' : 'failed';
}
