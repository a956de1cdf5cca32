// The doors of /admin/auth-keys: issue, list, look at, change, switch off and delete managed keys (spec: Authentication 3).
import { randomUUID } from 'node:crypto';
import type { FastifyPluginAsync, FastifyRequest } from 'fastify';
import { type AuthKey, authKeyKind } from '../../../schemas/keys/auth-key.ts';
import { newSecret } from '../../../schemas/keys/secret.ts';
import type { StoredState } from '../../../schemas/store/state-store.ts';
import { who } from '../../authenticate.ts';
import { createCommitter, type DocumentStore } from '../commit.ts';
import {
  type Decision,
  deactivateKey,
  deleteKey,
  findKey,
  issueKey,
  openDashboard,
  relabelKey,
  restrictKey,
  type View,
  viewOf,
} from './changes.ts';
import { readAllowedModelsBody, readDashboardAccessBody, readDraft, readLabelsBody } from './read-draft.ts';
import { keyRecord } from './record.ts';

/** What the resource needs of the process around it. */
export interface AuthKeyParts {
  readonly store: DocumentStore;
  /** Names of the providers in the config in force. */
  providers(): ReadonlySet<string>;
  /** Sources of the aliases in the config in force. */
  aliases(): ReadonlySet<string>;
  /** Unix milliseconds. */
  nowMs(): number;
}

type OneKey = FastifyRequest<{ Params: { id: string } }>;

/** A scoped operator sees and makes keys within its own user path only; others look as if they were not there. */
export const authKeys: FastifyPluginAsync<{ readonly parts: AuthKeyParts }> = async (app, { parts }) => {
  const { store } = parts;
  const commit = createCommitter(store, [authKeyKind]);
  const write = async (decide: (state: StoredState) => Decision): Promise<Decision> => (await commit(decide)).decision;
  const nowMs = (): number => Math.floor(parts.nowMs());
  const known = () => ({ providers: parts.providers(), aliases: parts.aliases() });
  const show = ({ key }: Decision): object => keyRecord(key, nowMs());
  const config = { access: 'operator' } as const;

  const change = async (request: OneKey, decide: (key: AuthKey, view: View) => Decision): Promise<Decision> => {
    const { params, operator } = request;
    const decision = await write((state) => {
      const view = viewOf(state, operator, nowMs());
      return decide(findKey(view, params.id), view);
    });
    request.wrote(params.id);
    return decision;
  };

  // An answer may hold a secret, and is out of date at once.
  app.addHook('onRequest', async (_, reply) => void reply.header('cache-control', 'no-store'));

  app.get('/admin/auth-keys', { config }, async ({ operator }) => {
    const now = nowMs();
    return viewOf(await store.read(), operator, now).keys.map((key) => keyRecord(key, now));
  });

  app.post('/admin/auth-keys', { config }, async (request, reply) => {
    const { operator, body } = request;
    const draft = readDraft(body, known(), nowMs());
    const secret = newSecret();
    const making = { id: randomUUID(), secret, by: who(request), nowMs: nowMs() };
    const issued = await write((state) => issueKey(draft, making, viewOf(state, operator, nowMs()).operator));
    request.wrote(making.id);
    return reply.code(201).send({ ...show(issued), value: secret });
  });

  app.get('/admin/auth-keys/:id', { config }, async ({ params, operator }: OneKey) => {
    const now = nowMs();
    return keyRecord(findKey(viewOf(await store.read(), operator, now), params.id), now);
  });

  app.post('/admin/auth-keys/:id/deactivate', { config }, async (request: OneKey, reply) => {
    await change(request, (key) => deactivateKey(key, nowMs()));
    return reply.code(204).send();
  });

  app.delete('/admin/auth-keys/:id', { config }, async (request: OneKey, reply) => {
    const { params, operator } = request;
    await commit((state) => deleteKey(state, viewOf(state, operator, nowMs()), params.id));
    request.wrote(params.id);
    return reply.code(204).send();
  });

  app.put('/admin/auth-keys/:id/labels', { config }, async (asked: OneKey) => {
    const labels = readLabelsBody(asked.body);
    return show(await change(asked, (key) => relabelKey(key, labels, nowMs())));
  });

  app.put('/admin/auth-keys/:id/allowed-models', { config }, async (asked: OneKey) => {
    const models = readAllowedModelsBody(asked.body, known());
    return show(await change(asked, (key, view) => restrictKey(key, models, view.operator, nowMs())));
  });

  app.put('/admin/auth-keys/:id/dashboard-access', { config }, async (asked: OneKey) => {
    const isOpen = readDashboardAccessBody(asked.body);
    return show(await change(asked, (key, view) => openDashboard(key, isOpen, view.operator, nowMs())));
  });
};
