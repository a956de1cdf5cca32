// The route GET /admin/config: what is in force, and where it is declared or who wrote it.
import type { FastifyPluginAsync } from 'fastify';
import { readQuery } from '../read-query.ts';
import { readStored, staleHeader } from '../read-stored.ts';
import { type ConfigParts, describeConfig } from './describe.ts';

/** Answers with `schemas/admin/config.schema.json`. While the store is down, with the manual rules in force here. */
export const configRoutes: FastifyPluginAsync<{ parts: ConfigParts }> = async (app, { parts }) => {
  app.get('/admin/config', { config: { access: 'admin' } }, async ({ query }, reply) => {
    readQuery(query, []);
    const known = await readStored(parts.rules.store);
    reply.headers({ 'cache-control': 'no-store', ...staleHeader(known.isStale) });
    return describeConfig(parts, known);
  });
};
