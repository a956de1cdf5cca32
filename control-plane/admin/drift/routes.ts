// The routes GET /admin/config/drift and /admin/config/overrides: what runs beside git, and what operators have set as entries of the configuration.
import type { FastifyPluginAsync } from 'fastify';
import { type OverrideKind, overrideKinds } from '../../../gitops/drift/override.ts';
import { bodyOf, LongList, longListType } from '../../managed/long-list.ts';
import { readQuery } from '../../managed/read-query.ts';
import { readStored, staleHeader } from '../../managed/read-stored.ts';
import { readChoice } from '../records/read-query.ts';
import { type DriftParts, describeDrift } from './describe.ts';
import { keyOverrides, overridesOf } from './overrides.ts';

/** While the store is down, they tell of the documents in force here. */
export const driftRoutes: FastifyPluginAsync<{ parts: DriftParts }> = async (app, { parts }) => {
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
};

/** The kinds that `kinds` names, all of them without it. Throws 400 `invalid_query` for another name. */
function readKinds(query: unknown): ReadonlySet<OverrideKind> {
  const { kinds } = readQuery(query, ['kinds']);
  if (kinds === undefined) return new Set(overrideKinds);
  return new Set(kinds.split(',').map((kind) => readChoice('kinds', kind.trim(), overrideKinds)));
}
