// The routes GET /admin/config/drift, /admin/config/overrides and /admin/config/patch: what runs beside git, and what operators have set as entries of
// the configuration, and as a patch of its files.
import type { FastifyPluginAsync } from 'fastify';
import { mayDo } from '../../../domain/keys/role.ts';
import { type OverrideKind, overrideKinds } from '../../../gitops/drift/override.ts';
import { bodyOf, LongList, longListType } from '../../managed/long-list.ts';
import { invalidQuery, readQuery } from '../../managed/read-query.ts';
import { readStored, staleHeader } from '../../managed/read-stored.ts';
import { readChoice } from '../records/read-query.ts';
import { type DriftParts, describeDrift } from './describe.ts';
import { keyOverrides, overridesOf } from './overrides.ts';
import { describePatch, type PatchParts } from './patch.ts';

export interface DriftRouteParts extends DriftParts, PatchParts {}

/** While the store is down, they tell of the documents in force here. */
export const driftRoutes: FastifyPluginAsync<{ parts: DriftRouteParts }> = async (app, { parts }) => {
  app.get('/admin/config/drift', async ({ query }, reply) => {
    readQuery(query, []);
    const { state, isStale } = await readStored(parts.rules.store);
    reply.headers({ 'cache-control': 'no-store', ...staleHeader(isStale) });
    return describeDrift(parts, state, isStale);
  });

  app.get('/admin/config/overrides', async ({ query }, reply) => {
    const kinds = readKinds(query);
    const { state, isStale } = await readStored(parts.rules.store);
    const set = [...overridesOf(parts, state), ...(kinds.has('key') ? keyOverrides(parts, state) : [])];
    const rows = set.filter(({ kind }) => kinds.has(kind)).map((row) => JSON.stringify(row));
    reply.headers({ 'cache-control': 'no-store', ...staleHeader(isStale) });
    const { configRevision } = parts.desired();
    const list = LongList.in('overrides', rows, {
      config_revision: configRevision,
      ...(isStale ? { stale: true } : {}),
    });
    return reply.type(longListType).send(bodyOf(list));
  });

  app.get('/admin/config/patch', async ({ query, operator }, reply) => {
    const { kinds, id } = readPatchQuery(query);
    const { state, isStale } = await readStored(parts.rules.store);
    reply.headers({ 'cache-control': 'no-store', ...staleHeader(isStale) });
    // A hash of a key lets it into another gateway.
    const keys = kinds.has('key') && mayDo(operator.role, 'admin') ? keyOverrides(parts, state) : [];
    const wanted = [...overridesOf(parts, state), ...keys].filter(({ kind }) => kinds.has(kind));
    const chosen = id === undefined ? wanted : wanted.filter((each) => each.id === id);
    if (id !== undefined && chosen.length === 0) throw invalidQuery('id', 'names nothing that operators have set');
    return describePatch(parts, chosen);
  });
};

/** Throws 400 `invalid_query`. */
function readPatchQuery(query: unknown): {
  readonly kinds: ReadonlySet<OverrideKind>;
  readonly id: string | undefined;
} {
  const { kind, id } = readQuery(query, ['kind', 'id']);
  if (kind === undefined && id !== undefined) throw invalidQuery('id', 'needs a kind beside it');
  const kinds = kind === undefined ? overrideKinds : [readChoice('kind', kind, overrideKinds)];
  return { kinds: new Set(kinds), id };
}

/** The kinds that `kinds` names, all of them without it. Throws 400 `invalid_query` for another name. */
function readKinds(query: unknown): ReadonlySet<OverrideKind> {
  const { kinds } = readQuery(query, ['kinds']);
  if (kinds === undefined) return new Set(overrideKinds);
  return new Set(kinds.split(',').map((kind) => readChoice('kinds', kind.trim(), overrideKinds)));
}
