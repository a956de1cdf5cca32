// Serves a kind of documents that operators list and write: query, condition, commit, record, entity tag and answer.
import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify';
import { stateRevision } from '../../schemas/state-revision.ts';
import { who } from '../authenticate.ts';
import { createCommitter, type KnownState } from './commit.ts';
import { checkPrecondition, entityTag } from './entity-tag.ts';
import { bodyOf, LongList, longListType } from './long-list.ts';
import { readQuery } from './read-query.ts';
import { readStored, staleHeader, unlessUnavailable } from './read-stored.ts';
import {
  type KnownDocuments,
  knownAfter,
  type ManagedParts,
  type ManagedResource,
  type ManagedWrite,
  type Shown,
} from './resource.ts';

/**
 * The routes of a resource: GET lists, and each of its writes decides on the stored documents of that moment and answers with the listing
 * after it. While the store cannot be read, the documents in force here are listed.
 */
export function managedRoutes<
  Parts extends ManagedParts,
  Known extends KnownDocuments<unknown>,
  Query = undefined,
  Figures = undefined,
>(resource: ManagedResource<Parts, Known, Query, Figures>): FastifyPluginAsync<{ readonly parts: NoInfer<Parts> }> {
  const { path, kind, figures: counted, isUntagged = false } = resource;
  return async (app, { parts }) => {
    const commit = createCommitter(parts.store, [kind, ...(resource.others ?? [])]);
    const nowMs = (): number => Math.floor(parts.nowMs());
    const count = async (): Promise<Figures | undefined> => counted?.read(parts);

    const show = async (
      reply: FastifyReply,
      state: KnownState,
      shown: Omit<Shown<Query, Figures>, 'nowMs'>,
      answer?: object,
    ): Promise<object> => {
      const isStale = shown.isStale || (counted !== undefined && shown.figures === undefined);
      if (!isUntagged) reply.header('etag', entityTag(state, kind));
      reply.headers({ 'cache-control': 'no-store', ...staleHeader(isStale) });
      const body = answer ?? (await resource.list(parts, state, { ...shown, nowMs: nowMs() }));
      return body instanceof LongList ? reply.type(longListType).send(bodyOf(body)) : body;
    };

    const change = async (
      request: FastifyRequest,
      reply: FastifyReply,
      write: ManagedWrite<Parts, Known>,
    ): Promise<object> => {
      const { operator, headers } = request;
      const { '*': rest = '' } = request.params as { readonly '*'?: string };
      const wanted = await write.read(request.body, nowMs(), rest);
      write.admit?.(wanted, operator, parts);
      // Nothing may fail after the commit.
      const early = counted?.isNeeded ? await count() : undefined;
      const { state, decision, revision } = await commit((current) => {
        if (!isUntagged) checkPrecondition(headers['if-match'], entityTag(current, kind));
        const known = resource.known(parts, current, nowMs());
        const changes = write.decide(known, wanted, { operator, name: who(request) });
        const isChanged = changes.some((each) => each.kind === kind.kind);
        return { changes, facts: isChanged ? resource.facts(known, knownAfter(known, kind, changes), wanted) : {} };
      });
      request.wrote(resource.title(wanted), decision.facts);
      // A reset changes what is counted.
      const figures = early ?? (await unlessUnavailable(count()));
      reply.headers(stateRevision(revision));
      return show(reply, state, { operator, query: undefined, figures, isStale: false }, write.answer);
    };

    app.get(path, async ({ query, operator }, reply) => {
      if (resource.readQuery === undefined) readQuery(query, []);
      const asked = resource.readQuery?.(query);
      const [{ state, isStale }, figures] = await Promise.all([readStored(parts.store), unlessUnavailable(count())]);
      return show(reply, state, { operator, query: asked, figures, isStale });
    });
    for (const write of resource.writes) {
      app.route({
        method: write.method,
        url: path + (write.suffix ?? ''),
        handler: (request, reply) => change(request, reply, write),
      });
    }
  };
}
