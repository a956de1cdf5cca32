// Reads the settings of the whole file of LiteLLM: the cache, the budget of all, limits of all, sizes, and what lies in variables here.
import { note, type Work } from '../draft.ts';
import { budgetPeriod } from '../periods.ts';
import type { Piece, TreePiece } from '../source.ts';
import type { Translator } from '../traits.ts';
import { settingWords } from './explanations.ts';

/** The endpoints whose answers LiteLLM keeps, by its names of calls. */
const endpoints: Readonly<Record<string, string>> = {
  completion: '/v1/chat/completions',
  acompletion: '/v1/chat/completions',
  text_completion: '/v1/completions',
  atext_completion: '/v1/completions',
  embedding: '/v1/embeddings',
  aembedding: '/v1/embeddings',
  responses: '/v1/responses',
  aresponses: '/v1/responses',
  anthropic_messages: '/v1/messages',
};

/** `litellm_settings.cache` with its parameters. */
export function readCache(translator: Translator, settings: TreePiece): void {
  const { source, draft } = translator;
  const piece = source.member(settings, 'cache');
  const isOn = source.flag(settings, 'cache');
  const params = source.tree(settings, 'cache_params');
  if (piece === undefined || isOn !== true) {
    if (params !== undefined)
      note(translator, 'lost', params, { text: 'is without effect there, because cache is not true' });
    return;
  }
  const cache: Record<string, unknown> = { enabled: true };
  draft.cache = cache;
  const about = cache;
  note(translator, 'decide', piece, {
    about,
    text: 'LiteLLM gives an answer to every caller who asks the same; here callers of one user path share them, with scope: gateway all do',
  });
  if (params === undefined) return;
  const kind = source.text(params, 'type');
  if (source.text(params, 'mode') === 'default_off') {
    cache['enabled'] = false;
    note(translator, 'decide', source.member(params, 'mode') ?? params, {
      about,
      text: 'asks each request whether it wants the cache, which has no counterpart: set enabled: true for all, and without for user paths that want none',
    });
  }
  const ttl = source.number(params, 'ttl');
  if (ttl !== undefined && ttl >= 1 && ttl <= 31_536_000) cache['ttl'] = `${Math.floor(ttl)}s`;
  readEndpoints(translator, params, cache);
  readSemantic(translator, params, cache);
  const type = source.member(params, 'type') ?? params;
  if (kind?.startsWith('redis') === true)
    note(translator, 'decide', type, {
      about,
      text: 'the cache lies in Redis where REDIS_URL is set for the proxies, else in the memory of each',
    });
  else if (kind !== undefined && !/^(local|in-memory|qdrant-semantic)$/.test(kind))
    note(translator, 'lost', type, {
      about,
      text: 'is a store that the cache has not: it lies in memory, or in Redis',
    });
  for (const left of source.unread(params)) {
    const text = /^(host|port|password|username|ssl.*|redis_.*|service_name|sentinel_.*|namespace|url)$/.test(
      String(left.path.at(-1)),
    )
      ? 'is a variable of the proxies: set REDIS_URL'
      : settingWords(String(left.path.at(-1)));
    note(translator, 'lost', left, { about, text });
  }
}

function readEndpoints({ source }: Translator, params: TreePiece, cache: Record<string, unknown>): void {
  const calls = source.texts(params, 'supported_call_types');
  const found = calls.flatMap((call) => (Object.hasOwn(endpoints, call) ? (endpoints[call] ?? []) : []));
  if (found.length > 0) cache['endpoints'] = [...new Set(found)];
}

function readSemantic(translator: Translator, params: TreePiece, cache: Record<string, unknown>): void {
  const { source } = translator;
  const model =
    source.text(params, 'redis_semantic_cache_embedding_model') ??
    source.text(params, 'qdrant_semantic_cache_embedding_model');
  const threshold = source.number(params, 'similarity_threshold');
  if (model === undefined) return;
  const isUsable = threshold !== undefined && threshold > 0 && threshold <= 1;
  cache['semantic'] = { model, ...(isUsable ? { threshold } : {}) };
}

/** `max_budget`, which holds for all requests together. */
export function readBudget(translator: Translator, settings: TreePiece): void {
  const { source } = translator;
  const piece = source.member(settings, 'max_budget');
  const amount = source.number(settings, 'max_budget');
  const period = source.text(settings, 'budget_duration');
  if (piece !== undefined && amount !== undefined) addBudget(translator, '/', { piece, amount, period });
}

/** Adds the budget of a user path. `period`: as LiteLLM writes it, such as `30d`. */
export function addBudget(
  work: Work,
  path: string,
  {
    piece,
    amount,
    period: text,
  }: { readonly piece: Piece; readonly amount: number; readonly period: string | undefined },
): void {
  if (amount < 1e-9 || amount > 9_000_000) {
    note(work, 'lost', piece, { text: 'is no amount from 0.000000001 to 9000000 US dollars' });
    return;
  }
  const period = text === undefined ? undefined : budgetPeriod(text);
  const limits = [{ ...(period ?? { period: 'monthly' }), amount }];
  work.draft.budgets.set(path, limits);
  if (period === undefined)
    note(work, 'decide', piece, {
      about: limits,
      text: 'has no period that is known, and every budget here has one: it was made monthly',
    });
}

/** Limits and sizes of general_settings. */
export function readGeneral(translator: Translator, settings: TreePiece): void {
  const { source, draft } = translator;
  const megabytes = source.number(settings, 'max_request_size_mb');
  if (megabytes !== undefined && megabytes >= 1 && megabytes <= 1024)
    draft.server = { body_limit: `${Math.floor(megabytes)}MiB` };
  const parallel = source.number(settings, 'global_max_parallel_requests');
  if (parallel !== undefined && parallel >= 1)
    draft.pathLimits.set('/', [{ period: 'concurrent', max_requests: Math.floor(parallel) }]);
  const each = source.member(settings, 'max_parallel_requests');
  if (each !== undefined)
    note(translator, 'lost', each, {
      text: 'is a rule for each model here: rate_limits.models with the period concurrent',
    });
}

/** Notes what is left of settings. */
export function noteUnread(translator: Translator, settings: TreePiece): void {
  for (const piece of translator.source.unread(settings))
    note(translator, 'lost', piece, { text: settingWords(String(piece.path.at(-1))) });
}
