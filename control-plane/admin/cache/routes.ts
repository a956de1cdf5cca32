// The route DELETE /admin/cache: lets proxies forget kept answers (reference: Response cache).
import type { FastifyPluginAsync } from 'fastify';
import { managedCacheResets } from '../../../schemas/documents/kinds.ts';
import { readKind } from '../../../schemas/documents/managed-kind.ts';
import { stateRevision } from '../../../schemas/state-revision.ts';
import { isInScope, isScoped } from '../../authenticate.ts';
import { refusal } from '../../errors.ts';
import { createCommitter, type DocumentStore } from '../commit.ts';
import { resetCache } from './changes.ts';
import { readReset } from './read-reset.ts';

/** A reset is data: every proxy hides the answers once it has the document. A scoped operator resets within its user path. */
export const cache: FastifyPluginAsync<{ readonly parts: { readonly store: DocumentStore } }> = async (
  app,
  { parts },
) => {
  const commit = createCommitter(parts.store, [managedCacheResets]);

  app.delete('/admin/cache', { config: { access: 'operator' } }, async (request, reply) => {
    const { id, about, userPath } = readReset(request.query);
    const { operator } = request;
    const isAllowed = userPath === undefined ? !isScoped(operator) : isInScope(operator, userPath);
    if (!isAllowed)
      throw refusal('admin_scope_denied', { fill: { what: 'reset cached answers outside of its user path' } });
    const { revision } = await commit((state) => ({
      changes: resetCache(readKind(managedCacheResets, state.documents).values, id),
    }));
    request.wrote(about);
    reply.headers({ 'cache-control': 'no-store', ...stateRevision(revision) });
    return { status: 'ok' };
  });
};
