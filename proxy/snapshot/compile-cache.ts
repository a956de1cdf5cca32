// The cache section of the config → what is kept of answers, and for whom.
import type { CacheResets } from '../../domain/cache/cache-reset.ts';
import { normaliseUserPath } from '../../domain/user-path.ts';
import { durationMs, retentionMs, sizeBytes } from '../../schemas/formats/units.ts';
import type { Config } from '../../schemas/types.ts';
import type { Operation } from '../dialects/dialect.ts';
import type { CacheSettings, SemanticSettings } from './snapshot.ts';

/** The operations of each endpoint, by its path and by its former name. */
const operationsOf: Readonly<Record<Config['cache']['endpoints'][number], readonly Operation[]>> = {
  '/v1/chat/completions': ['chat', 'chat_of_input'],
  '/v1/completions': ['completions'],
  '/v1/responses': ['responses'],
  '/v1/messages': ['messages'],
  '/v1/embeddings': ['embeddings'],
  chat: ['chat', 'chat_of_input'],
  completions: ['completions'],
  responses: ['responses'],
  messages: ['messages'],
  embeddings: ['embeddings'],
};

/** Paths that are none were refused with the config. */
export function compileCache(cache: Config['cache'], resets: CacheResets): CacheSettings {
  const operations = new Set(cache.endpoints.flatMap((endpoint) => operationsOf[endpoint]));
  return Object.freeze({
    isEnabled: cache.enabled,
    ttlMs: retentionMs(cache.ttl),
    mostBytes: sizeBytes(cache.max_bytes),
    mostEntryBytes: sizeBytes(cache.max_entry_bytes),
    scope: cache.scope,
    operations: Object.freeze(operations),
    onlyDeterministic: cache.only_deterministic,
    sharesCalls: cache.share_concurrent,
    sharePatienceMs: durationMs(cache.share_patience),
    engine: cache.engine,
    semantic: compileSemantic(cache.semantic),
    without: Object.freeze(cache.without.flatMap((text) => normaliseUserPath(text).path ?? [])),
    resets,
  });
}

function compileSemantic(semantic: Config['cache']['semantic']): SemanticSettings | undefined {
  if (semantic === undefined) return undefined;
  const { model, threshold, engine } = semantic;
  return Object.freeze({
    model,
    threshold,
    mostTurns: semantic.max_turns,
    withSystem: semantic.with_system,
    engine,
    timeoutMs: semantic.timeout_ms,
    mostEntries: semantic.max_entries,
  });
}
