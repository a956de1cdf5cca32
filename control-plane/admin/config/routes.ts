// The routes of /admin/config: the configuration in force, where each entry is declared, its files, and what differs on disk.
import type { FastifyPluginAsync } from 'fastify';
import { singleFlight } from '../../../store/single-flight.ts';
import { readQuery } from '../../managed/read-query.ts';
import { readStored, staleHeader } from '../../managed/read-stored.ts';
import { readChoice } from '../records/read-query.ts';
import { type ConfigParts, describeConfig, type ListName, listNames } from './describe.ts';
import { type DifferenceParts, describeDifferences } from './differences.ts';
import { describeFiles } from './files.ts';
import { type RevisionRouteParts, revisionRoutes } from './revisions/routes.ts';

export interface ConfigRouteParts extends ConfigParts {
  readonly differences: DifferenceParts;
  readonly revisions: RevisionRouteParts['revisions'];
  /** Those that this process knows: none of them is shown. */
  readonly secrets: () => readonly string[];
}

/** Answers with `schemas/admin/config.schema.json`. While the store is down, with the manual rules in force here. */
export const configRoutes: FastifyPluginAsync<{ parts: ConfigRouteParts }> = async (app, { parts }) => {
  // The directory may be large: requests at the same time share one reading.
  const differences = singleFlight(() => describeDifferences(parts.differences));

  app.get('/admin/config', async ({ query }, reply) => {
    const wanted = readLists(query);
    const known = await readStored(parts.rules.store);
    reply.headers({ 'cache-control': 'no-store', ...staleHeader(known.isStale) });
    return describeConfig(parts, known, wanted);
  });

  app.get('/admin/config/files', async ({ query }, reply) => {
    const { file } = readQuery(query, ['file']);
    void reply.header('cache-control', 'no-store');
    return describeFiles(parts.differences, file, parts.secrets());
  });

  app.get('/admin/config/differences', async ({ query }, reply) => {
    readQuery(query, []);
    void reply.header('cache-control', 'no-store');
    return differences.next();
  });

  const { settings, nowMs } = parts.differences;
  const { revisions, secrets } = parts;
  await app.register(revisionRoutes, { parts: { revisions, settings, status: parts.status, secrets, nowMs } });
};

/** The lists that `lists` names, all of them without it. Throws 400 `invalid_query` for another name. */
function readLists(query: unknown): ReadonlySet<ListName> {
  const { lists } = readQuery(query, ['lists']);
  if (lists === undefined) return new Set(listNames);
  return new Set(lists.split(',').map((name) => readChoice('lists', name.trim(), listNames)));
}
