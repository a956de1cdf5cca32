// The routes of /admin/guardrails: list, put and delete guardrails.
import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify';
import { manualGuardrails } from '../../../domain/documents/kinds.ts';
import { readKind } from '../../../domain/documents/managed-kind.ts';
import { kindOf, type MergedGuardrail, mergeGuardrails } from '../../../domain/guardrails/merge-guardrails.ts';
import type { EntryNames } from '../../../domain/keys/model-access.ts';
import { timestamp } from '../../../domain/timestamp.ts';
import { stateRevision } from '../../../schemas/state-revision.ts';
import type { Guardrail } from '../../../schemas/types.ts';
import type { Change, StoredState } from '../../../store/state/state-store.ts';
import { who } from '../../authenticate.ts';
import { refusal } from '../../errors.ts';
import type { Fleet } from '../../fleet.ts';
import { createCommitter, type DocumentStore, stateAfter } from '../../managed/commit.ts';
import { checkPrecondition, entityTag } from '../../managed/entity-tag.ts';
import { readQuery } from '../../managed/read-query.ts';
import { readStored, staleHeader } from '../../managed/read-stored.ts';
import { deleteGuardrail, type KnownGuardrails, putGuardrail } from './changes.ts';
import { delegateGuardrail } from './delegation.ts';
import { guardrailRows } from './listing.ts';
import { readDelete, readWrite } from './read-write.ts';

export interface GuardrailParts {
  readonly store: DocumentStore;
  /** The section of the configuration in force, and where each entry is declared, by name. */
  readonly config: {
    readonly guardrails: readonly Guardrail[];
    readonly places: { readonly guardrails: ReadonlyMap<string, string> };
    readonly known: EntryNames;
  };
  readonly fleet: Pick<Fleet, 'proxies'>;
  /** Unix milliseconds. */
  nowMs(): number;
}

type Documents = Pick<StoredState, 'documents' | 'kinds'> & Partial<Pick<StoredState, 'skipped'>>;

/** Guardrails are for the whole gateway: operators of a user path have no access, and those of some models only to guardrails of these. */
export const guardrails: FastifyPluginAsync<{ readonly parts: GuardrailParts }> = async (app, { parts }) => {
  const commit = createCommitter(parts.store, [manualGuardrails]);
  const config = { access: 'admin' } as const;
  const nowMs = (): number => Math.floor(parts.nowMs());
  const knownOf = ({ documents, skipped = [] }: Documents): KnownGuardrails => {
    const { values, unreadable } = readKind(manualGuardrails, documents, skipped);
    return {
      manual: new Map(values.map((each) => [each.name, each])),
      unreadable: new Set(unreadable),
      declared: parts.config.places.guardrails,
      nowMs: nowMs(),
    };
  };
  const mergedOf = (state: Documents): readonly MergedGuardrail[] =>
    mergeGuardrails(parts.config.guardrails, [...knownOf(state).manual.values()]);
  const show = (reply: FastifyReply, state: Documents, isStale: boolean): object => {
    const live = parts.fleet.proxies().filter(({ isLive }) => isLive);
    reply.headers({ etag: entityTag(state, manualGuardrails), 'cache-control': 'no-store', ...staleHeader(isStale) });
    return {
      guardrails: guardrailRows({
        merged: mergedOf(state),
        declared: parts.config.places.guardrails,
        verdicts: live.flatMap(({ body }) => body.verdicts ?? []),
      }),
      server_time: timestamp(nowMs()),
      ...(isStale ? { stale: true } : {}),
    };
  };
  const change = async (
    request: FastifyRequest,
    reply: FastifyReply,
    wanted: readonly [name: string, next: Guardrail | undefined],
    decide: (known: KnownGuardrails) => Change[],
  ): Promise<object> => {
    const [name] = wanted;
    const { state, decision, revision } = await commit((current) => {
      checkPrecondition(request.headers['if-match'], entityTag(current, manualGuardrails));
      const known = knownOf(current);
      const { guardrails: declared, known: names } = parts.config;
      delegateGuardrail(known, wanted, request.operator, { config: declared, names });
      return { changes: decide(known) };
    });
    const next = stateAfter(state, decision.changes, revision);
    request.wrote(name, { before: factsOf(mergedOf(state), name), after: factsOf(mergedOf(next), name) });
    reply.headers(stateRevision(revision));
    return show(reply, next, false);
  };

  app.get('/admin/guardrails', { config }, async ({ query }, reply) => {
    readQuery(query, []);
    const { state, isStale } = await readStored(parts.store);
    return show(reply, state, isStale);
  });

  app.put('/admin/guardrails', { config }, async (request, reply) => {
    const guardrail = await readWrite(request.body);
    return change(request, reply, [guardrail.name, guardrail], (known) => putGuardrail(known, guardrail, who(request)));
  });

  app.delete('/admin/guardrails', { config }, async (request, reply) => {
    const name = readDelete(request.body);
    return change(request, reply, [name, undefined], (known) => deleteGuardrail(known, name));
  });

  app.post('/admin/guardrails/test', { config }, async () => {
    throw refusal('answered_by_proxies', { fill: { path: '/admin/guardrails/test' } });
  });
};

/** What the log says of a guardrail: what is in force, without its words; null: nothing is. */
function factsOf(merged: readonly MergedGuardrail[], name: string): object | null {
  const row = merged.find(({ guardrail }) => guardrail.name === name);
  if (row === undefined) return null;
  const { mode, order, on, user_paths, models } = row.guardrail;
  const source = row.manual === undefined ? 'config' : 'manual';
  return { source, kind: kindOf(row.guardrail), mode, order, on, user_paths, models };
}
