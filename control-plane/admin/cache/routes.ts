// The routes of /admin/cache: show what the response cache has done, and make proxies forget kept answers (reference: Response cache).
import type { FastifyPluginAsync } from 'fastify';
import { managedCacheResets } from '../../../domain/documents/kinds.ts';
import type { EntryNames } from '../../../domain/keys/model-access.ts';
import { stateRevision } from '../../../schemas/state-revision.ts';
import { isInScope, isScoped } from '../../authenticate.ts';
import { refusal } from '../../errors.ts';
import type { Fleet } from '../../fleet.ts';
import { createCommitter, type DocumentStore } from '../../managed/commit.ts';
import { beyondModels, reaches } from '../../managed/reach.ts';
import { readQuery } from '../../managed/read-query.ts';
import { storedKind } from '../../managed/stored-kind.ts';
import { resetCache } from './changes.ts';
import { type CacheSources, cacheListing } from './listing.ts';
import { readReset } from './read-reset.ts';

/** The parts of the process that this resource uses. */
export interface CacheParts extends Pick<CacheSources, 'storeEngine'> {
  readonly store: DocumentStore;
  /** The section of the configuration in force. */
  readonly settings: () => CacheSources['settings'];
  /** The names of providers and aliases. */
  readonly known: () => EntryNames;
  readonly fleet: Pick<Fleet, 'refresh' | 'proxies'>;
  /** Unix milliseconds. */
  readonly nowMs: () => number;
}

/** A reset is data: every proxy hides the answers once it has the document. A scoped operator resets within its user path. */
export const cache: FastifyPluginAsync<{ readonly parts: CacheParts }> = async (app, { parts }) => {
  const commit = createCommitter(parts.store, [managedCacheResets]);

  app.get('/admin/cache', async ({ query }, reply) => {
    readQuery(query, []);
    const { settings, storeEngine, fleet, nowMs } = parts;
    await fleet.refresh().catch(() => undefined);
    void reply.header('cache-control', 'no-store');
    return cacheListing({ settings: settings(), storeEngine, proxies: fleet.proxies(), nowMs: nowMs() });
  });

  app.delete('/admin/cache', async (request, reply) => {
    const { id, about, userPath, model } = readReset(request.query);
    const { operator } = request;
    const isAllowed = userPath === undefined ? !isScoped(operator) : isInScope(operator, userPath);
    if (!isAllowed)
      throw refusal('admin_scope_denied', { fill: { what: 'reset cached answers outside of its user path' } });
    // Without a model, and for the root, it is about every answer of the gateway.
    const reach = model ?? (userPath === undefined || userPath === '/' ? '*' : undefined);
    if (reach !== undefined && !reaches(operator, reach, parts.known()))
      throw beyondModels(`reset ${about}`, model === undefined ? undefined : 'model');
    const { revision } = await commit((state) => ({
      changes: resetCache(storedKind(managedCacheResets, state).values(), id),
    }));
    request.wrote(about);
    reply.headers({ 'cache-control': 'no-store', ...stateRevision(revision) });
    return { status: 'ok' };
  });
};
