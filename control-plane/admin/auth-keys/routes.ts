// The routes of /admin/auth-keys: issue, list, read, change, deactivate and delete managed keys (spec: Authentication 3).
import { randomUUID } from 'node:crypto';
import type { FastifyPluginAsync, FastifyRequest } from 'fastify';
import { managedKeys } from '../../../schemas/documents/kinds.ts';
import type { AuthKey } from '../../../schemas/keys/auth-key.ts';
import { newSecret } from '../../../schemas/keys/secret.ts';
import type { KnownModels } from '../../../schemas/rules/known-models.ts';
import type { StoredState } from '../../../store/state/state-store.ts';
import { type Operator, who } from '../../authenticate.ts';
import { createCommitter, type DocumentStore } from '../commit.ts';
import type { Quotas } from '../quotas.ts';
import { readQuery } from '../read-query.ts';
import { readStored, staleHeader } from '../read-stored.ts';
import {
  type Decision,
  deactivateKey,
  deleteKey,
  findKey,
  issueKey,
  newestFirst,
  openDashboard,
  relabelKey,
  restrictKey,
  type View,
  viewOf,
} from './changes.ts';
import { checkQuota } from './check-quota.ts';
import { readAllowedModelsBody, readDashboardAccessBody, readDraft, readLabelsBody } from './read-draft.ts';
import { keyRecord } from './record.ts';

/** The parts of the process that this resource uses. */
export interface AuthKeyParts {
  readonly store: DocumentStore;
  /** The limits on what operators may store. */
  quotas(): Quotas;
  /** Providers, models and aliases of the config in force. */
  known(): KnownModels;
  /** Unix milliseconds. */
  nowMs(): number;
}

type OneKey = FastifyRequest<{ Params: { id: string } }>;

/** A scoped operator sees and issues keys within its user path only; other keys answer 404. */
export const authKeys: FastifyPluginAsync<{ readonly parts: AuthKeyParts }> = async (app, { parts }) => {
  const { store } = parts;
  const commit = createCommitter(store, [managedKeys]);
  const write = async (decide: (state: StoredState) => Decision): Promise<Decision> => (await commit(decide)).decision;
  const nowMs = (): number => Math.floor(parts.nowMs());
  const known = (): KnownModels => parts.known();
  const view = (state: Pick<StoredState, 'documents'>, operator: Operator): View =>
    viewOf(state, operator, known().providers, nowMs());
  const show = ({ key }: Decision): object => keyRecord(key, { nowMs: nowMs() });
  const config = { access: 'operator' } as const;

  const change = async (request: OneKey, decide: (key: AuthKey, view: View) => Decision): Promise<Decision> => {
    const { params, operator } = request;
    const decision = await write((state) => {
      const seen = view(state, operator);
      return decide(findKey(seen, params.id), seen);
    });
    request.wrote(params.id);
    return decision;
  };

  // An answer may hold a secret, and may be out of date at once.
  app.addHook('onRequest', async (_, reply) => void reply.header('cache-control', 'no-store'));

  app.get('/admin/auth-keys', { config }, async ({ operator, query }, reply) => {
    readQuery(query, []);
    const { state, isStale } = await readStored(store);
    reply.headers(staleHeader(isStale));
    const { keys } = view(state, operator);
    return keys.toSorted(newestFirst).map((key) => keyRecord(key, { nowMs: nowMs(), isStale }));
  });

  app.post('/admin/auth-keys', { config }, async (request, reply) => {
    const { operator, body } = request;
    const draft = readDraft(body, known(), nowMs());
    const secret = newSecret();
    const making = { id: randomUUID(), secret, by: who(request), nowMs: nowMs() };
    const issued = await write((state) => {
      const seen = view(state, operator);
      checkQuota(state, seen.operator, parts.quotas());
      return issueKey(draft, making, seen);
    });
    request.wrote(making.id);
    return reply.code(201).send({ ...show(issued), value: secret });
  });

  app.get('/admin/auth-keys/:id', { config }, async ({ params, operator }: OneKey, reply) => {
    const { state, isStale } = await readStored(store);
    reply.headers(staleHeader(isStale));
    return keyRecord(findKey(view(state, operator), params.id), { nowMs: nowMs(), isStale });
  });

  app.post('/admin/auth-keys/:id/deactivate', { config }, async (request: OneKey, reply) => {
    await change(request, (key) => deactivateKey(key, nowMs()));
    return reply.code(204).send();
  });

  app.delete('/admin/auth-keys/:id', { config }, async (request: OneKey, reply) => {
    const { params, operator } = request;
    await commit((state) => deleteKey(state, view(state, operator), params.id));
    request.wrote(params.id);
    return reply.code(204).send();
  });

  app.put('/admin/auth-keys/:id/labels', { config }, async (asked: OneKey) => {
    const labels = readLabelsBody(asked.body);
    return show(await change(asked, (key) => relabelKey(key, labels, nowMs())));
  });

  app.put('/admin/auth-keys/:id/allowed-models', { config }, async (asked: OneKey) => {
    const models = readAllowedModelsBody(asked.body, known());
    return show(await change(asked, (key, seen) => restrictKey(key, models, seen, nowMs())));
  });

  app.put('/admin/auth-keys/:id/dashboard-access', { config }, async (asked: OneKey) => {
    const isOpen = readDashboardAccessBody(asked.body);
    return show(await change(asked, (key, seen) => openDashboard(key, isOpen, seen, nowMs())));
  });
};
