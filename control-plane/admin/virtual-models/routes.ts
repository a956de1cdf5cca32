// The routes of /admin/virtual-models: list, put and delete aliases (spec: What the service does 4).
import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify';
import { aliasKey } from '../../../domain/aliases/manual-alias.ts';
import { manualAliases } from '../../../domain/documents/kinds.ts';
import { stateRevision } from '../../../schemas/state-revision.ts';
import type { Change, StoredState } from '../../../store/state/state-store.ts';
import { who } from '../../authenticate.ts';
import { createCommitter, stateAfter } from '../../managed/commit.ts';
import { checkPrecondition, entityTag } from '../../managed/entity-tag.ts';
import { readQuery } from '../../managed/read-query.ts';
import { readStored, staleHeader } from '../../managed/read-stored.ts';
import { deleteAlias, putAlias } from './changes.ts';
import { delegatedAlias } from './delegation.ts';
import { type KnownAliases, knownAliases, merged, type VirtualModelParts } from './known.ts';
import { aliasMembers, listing } from './listing.ts';
import { readDelete, readWrite } from './read-write.ts';

type Documents = Pick<StoredState, 'documents' | 'kinds'>;

/** Aliases are for the whole gateway: operators of a user path have no access, and those of some models only as far as their models reach. */
export const virtualModels: FastifyPluginAsync<{ readonly parts: VirtualModelParts }> = async (app, { parts }) => {
  const commit = createCommitter(parts.store, [manualAliases]);
  const config = { access: 'admin' } as const;
  const nowMs = (): number => Math.floor(parts.nowMs());
  const knownOf = (state: Pick<StoredState, 'documents'>): KnownAliases => {
    const { aliases, models } = parts.configAliases();
    return knownAliases(state, aliases, models, nowMs());
  };
  const show = (reply: FastifyReply, state: Documents, isStale: boolean): object => {
    const { places } = parts.configAliases();
    reply.headers({ etag: entityTag(state, manualAliases), 'cache-control': 'no-store', ...staleHeader(isStale) });
    return listing({ aliases: merged(knownOf(state)), places, nowMs: nowMs(), isStale });
  };
  const change = async (
    request: FastifyRequest,
    reply: FastifyReply,
    [source, decide]: [source: string, decide: (known: KnownAliases) => Change[]],
  ): Promise<object> => {
    const about = aliasKey(source);
    const { state, decision, revision } = await commit((current) => {
      checkPrecondition(request.headers['if-match'], entityTag(current, manualAliases));
      const known = knownOf(current);
      return { changes: delegatedAlias(known, source, decide(known), request.operator) };
    });
    const next = stateAfter(state, decision.changes, revision);
    request.wrote(about, { before: factsOf(knownOf(state), about), after: factsOf(knownOf(next), about) });
    reply.headers(stateRevision(revision));
    return show(reply, next, false);
  };

  app.get('/admin/virtual-models', { config }, async ({ query }, reply) => {
    readQuery(query, []);
    const { state, isStale } = await readStored(parts.store);
    return show(reply, state, isStale);
  });

  app.put('/admin/virtual-models', { config }, async (request, reply) => {
    const write = readWrite(request.body);
    return change(request, reply, [write.alias.source, (known) => putAlias(known, write, who(request))]);
  });

  app.delete('/admin/virtual-models', { config }, async (request, reply) => {
    const source = readDelete(request.body);
    const { places } = parts.configAliases();
    return change(request, reply, [source, (known) => deleteAlias(known, source, places)]);
  });
};

/** What the log says of an alias: what is in force, and who manages it; null: nothing is. */
function factsOf(known: KnownAliases, key: string): object | null {
  const row = merged(known).find((each) => each.key === key && each.enforced);
  if (row === undefined) return null;
  return { managed_by: row.manual === undefined ? 'config' : 'manual', ...aliasMembers(row.alias) };
}
