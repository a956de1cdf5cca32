// The routes of /admin/auth-keys: issue, list, read, change, deactivate and delete managed keys (spec: Authentication 3).
import { randomUUID } from 'node:crypto';
import type { FastifyInstance, FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify';
import type { Budget } from '../../../domain/budgets/budget.ts';
import { managedKeys, manualBudgets } from '../../../domain/documents/kinds.ts';
import type { AuthKey } from '../../../domain/keys/auth-key.ts';
import { isConfigKey } from '../../../domain/keys/config-key.ts';
import type { Role } from '../../../domain/keys/role.ts';
import { newSecret } from '../../../domain/keys/secret.ts';
import type { KnownModels } from '../../../domain/rules/known-models.ts';
import { timestamp } from '../../../domain/timestamp.ts';
import { stateRevision } from '../../../schemas/state-revision.ts';
import type { DocumentUses, StoredState } from '../../../store/state/state-store.ts';
import { isInScope, isScoped, type Operator, who } from '../../authenticate.ts';
import { refusal } from '../../errors.ts';
import { createCommitter, type Decided, type DocumentStore } from '../../managed/commit.ts';
import { keysOf } from '../../managed/key-index.ts';
import { bodyOf, LongList, longListType } from '../../managed/long-list.ts';
import type { Quotas } from '../../managed/quotas.ts';
import { invalidQuery, readQuery } from '../../managed/read-query.ts';
import { type Known, readStored, staleHeader, unlessUnavailable } from '../../managed/read-stored.ts';
import {
  amendKey,
  type Decision,
  type DeclaredKeys,
  deactivateKey,
  deleteKey,
  findKey,
  issueKey,
  issueKeys,
  openDashboard,
  relabelKey,
  restrictKey,
  rotateKey,
  type View,
  viewOf,
} from './changes.ts';
import { checkQuota } from './check-quota.ts';
import {
  readAllowedModelsBody,
  readChange,
  readDashboardAccessBody,
  readDraft,
  readDrafts,
  readLabelsBody,
  readRotation,
} from './read-draft.ts';
import { keyFacts, keyRecord } from './record.ts';

/** The parts of the process that this resource uses. */
export interface AuthKeyParts {
  readonly store: DocumentStore;
  /** When keys were used last, as proxies and control planes have written it. */
  readonly uses: Pick<DocumentUses, 'of' | 'forget'>;
  /** The limits on what operators may store. */
  quotas(): Quotas;
  /** Providers, models and aliases of the config in force. */
  known(): KnownModels;
  /** The budgets that the configuration declares. */
  budgets(): readonly Pick<Budget, 'key'>[];
  /** The keys that the configuration declares. */
  declared(): DeclaredKeys;
  /** Unix milliseconds. */
  nowMs(): number;
}

type OneKey = FastifyRequest<{ Params: { id: string } }>;

/** The decision of a change on the stored key. */
type Decide = (key: AuthKey, view: View) => Decision;

interface KeyWriter {
  /** Unix milliseconds. */
  readonly nowMs: () => number;
  /** The stored keys that the operator may see. `needed`: the role that the request needs. */
  readonly view: (state: StoredState, operator: Operator, needed?: Role) => View;
  /** Commits the decision, and names the revision in the answer. */
  readonly write: <Made extends Decided>(reply: FastifyReply, decide: (state: StoredState) => Made) => Promise<Made>;
  /** Changes the key that the path names, and logs it; the record of the key after it. */
  readonly change: (request: OneKey, reply: FastifyReply, decide: Decide) => Promise<object>;
}

function createKeyWriter(parts: AuthKeyParts): KeyWriter {
  const commit = createCommitter(parts.store, [managedKeys, manualBudgets]);
  const nowMs = (): number => Math.floor(parts.nowMs());
  const view: KeyWriter['view'] = (state, operator, needed = 'admin') =>
    viewOf(
      state,
      { operator, needed },
      { names: parts.known(), budgets: parts.budgets(), declared: parts.declared() },
      nowMs(),
    );
  const write: KeyWriter['write'] = async (reply, decide) => {
    const { decision, revision } = await commit(decide);
    reply.headers(stateRevision(revision));
    return decision;
  };
  return {
    nowMs,
    view,
    write,
    async change(request, reply, decide) {
      const { params, operator } = request;
      let before: AuthKey | undefined;
      const { key } = await write(reply, (state) => {
        const seen = view(state, operator);
        before = findKey(seen, params.id);
        return decide(before, seen);
      });
      request.wrote(params.id, { before: keyFacts(before, nowMs()), after: keyFacts(key, nowMs()) });
      // The key is written whatever becomes of this.
      const uses = await unlessUnavailable(parts.uses.of(managedKeys.kind, [key.id]));
      return keyRecord(key, { nowMs: nowMs(), usedHour: uses?.get(key.id) });
    },
  };
}

/** A scoped operator sees and issues keys within its user path only; other keys answer 404. */
export const authKeys: FastifyPluginAsync<{ readonly parts: AuthKeyParts }> = async (app, { parts }) => {
  const { store } = parts;
  const writer = createKeyWriter(parts);
  const { nowMs, view, write } = writer;

  /** Makes the records of these keys, with their last use. */
  const shown = async (
    keys: readonly AuthKey[],
    known: Known,
    reply: FastifyReply,
    hasHash: boolean = false,
  ): Promise<(key: AuthKey) => object> => {
    const uses = known.isStale ? undefined : await unlessUnavailable(usesOf(keys, parts.uses));
    const isStale = uses === undefined;
    reply.headers(staleHeader(isStale));
    const now = nowMs();
    const { keys: declared, places } = parts.declared();
    const ids = new Map(declared.map(({ digest, id }) => [digest, id]));
    return (key) => {
      const facts = isConfigKey(key) ? { declaredAt: places.get(key.name) } : { replacedBy: ids.get(key.digest) };
      return keyRecord(key, { nowMs: now, isStale, usedHour: uses?.get(key.id), hasHash, ...facts });
    };
  };

  // An answer may hold a secret, and may be out of date at once.
  app.addHook('onRequest', async (_, reply) => void reply.header('cache-control', 'no-store'));

  app.get('/admin/auth-keys', async ({ operator, query }, reply) => {
    const { hashes = 'false' } = readQuery(query, ['hashes']);
    if (hashes !== 'true' && hashes !== 'false') throw invalidQuery('hashes', 'must be true or false');
    const known = await readStored(store);
    const current = view(known.state, operator, hashes === 'true' ? 'admin' : 'viewer').operator;
    if (hashes === 'true' && isScoped(current))
      throw refusal('admin_scope_denied', { fill: { what: 'read hashes: it needs a key for the whole gateway' } });
    const visible = [...parts.declared().keys, ...keysOf(known.state).newest()].filter(({ userPath }) =>
      isInScope(current, userPath),
    );
    const record = await shown(visible, known, reply, hashes === 'true');
    const list = new LongList('[', textsOf(visible, record), ']');
    return reply.type(longListType).send(bodyOf(list));
  });

  app.get('/admin/auth-keys/:id', async ({ params, operator }: OneKey, reply) => {
    const known = await readStored(store);
    const seen = view(known.state, operator, 'viewer');
    const declared = parts.declared().keys.find(({ id }) => id === params.id);
    const key =
      declared !== undefined && isInScope(seen.operator, declared.userPath) ? declared : findKey(seen, params.id);
    const record = await shown([key], known, reply);
    return record(key);
  });

  app.delete('/admin/auth-keys/:id', async (request: OneKey, reply) => {
    const { params, operator } = request;
    const { key } = await write(reply, (state) => deleteKey(view(state, operator), params.id));
    // The key is deleted whatever becomes of this; proxies note no use of a key that is not stored.
    await parts.uses.forget(managedKeys.kind, [params.id]).catch(() => undefined);
    request.wrote(params.id, { before: keyFacts(key, nowMs()), after: null });
    return reply.code(204).send();
  });

  addIssuing(app, parts, writer);
  addChanges(app, parts, writer);
};

/** The routes that issue keys. Only their answers have the secrets. */
function addIssuing(app: FastifyInstance, parts: AuthKeyParts, { nowMs, view, write }: KeyWriter): void {
  app.post('/admin/auth-keys', async (request, reply) => {
    const { operator, body } = request;
    const draft = readDraft(body, parts.known(), nowMs());
    const secret = newSecret();
    const making = { id: randomUUID(), secret, by: who(request), nowMs: nowMs() };
    const issued = await write(reply, (state) => {
      const seen = view(state, operator);
      checkQuota(state, seen.operator, parts.quotas(), 1);
      return issueKey(draft, making, seen);
    });
    request.wrote(making.id, { before: null, after: keyFacts(issued.key, nowMs()) });
    return reply.code(201).send({ ...keyRecord(issued.key, { nowMs: nowMs() }), value: secret });
  });

  app.post('/admin/auth-keys/batch', async (request, reply) => {
    const { operator, body } = request;
    const now = nowMs();
    const orders = readDrafts(body, parts.known(), now).map((draft) => {
      return { draft, making: { id: randomUUID(), secret: newSecret(), by: who(request), nowMs: now } };
    });
    const { keys } = await write(reply, (state) => {
      const seen = view(state, operator);
      checkQuota(state, seen.operator, parts.quotas(), orders.length);
      return issueKeys(orders, seen);
    });
    const facts = keys.map((key) => ({ id: key.id, ...keyFacts(key, now) }));
    request.wrote(`${keys.length} keys`, { before: null, after: facts });
    const shown = keys.map((key, index) => ({
      ...keyRecord(key, { nowMs: now }),
      value: orders[index]?.making.secret,
    }));
    return reply.code(201).send({ keys: shown });
  });

  app.post('/admin/auth-keys/:id/rotate', async (request: OneKey, reply) => {
    const { operator, body, params } = request;
    const untilMs = readRotation(body, nowMs());
    const secret = newSecret();
    const making = { id: randomUUID(), secret, by: who(request), nowMs: nowMs() };
    const { key } = await write(reply, (state) => {
      const seen = view(state, operator);
      const old = findKey(seen, params.id);
      checkQuota(state, seen.operator, parts.quotas(), 1);
      return rotateKey(old, untilMs, making, seen);
    });
    request.wrote(params.id, { replaced_by: key.id, until: timestamp(untilMs), after: keyFacts(key, nowMs()) });
    return reply.code(201).send({ ...keyRecord(key, { nowMs: nowMs() }), value: secret });
  });
}

/** So many keys are looked up at once: the store answers others in between. */
const usesAtOnce = 1_000;

/** The hours of their last uses, by id. Rejects with `StoreUnavailable`. */
async function usesOf(keys: readonly AuthKey[], uses: AuthKeyParts['uses']): Promise<ReadonlyMap<string, number>> {
  const found = new Map<string, number>();
  for (let first = 0; first < keys.length; first += usesAtOnce) {
    const ids = keys.slice(first, first + usesAtOnce).map(({ id }) => id);
    for (const [id, hour] of await uses.of(managedKeys.kind, ids)) found.set(id, hour);
  }
  return found;
}

function* textsOf(keys: readonly AuthKey[], record: (key: AuthKey) => object): Generator<string, void> {
  for (const key of keys) yield JSON.stringify(record(key));
}

/** The routes that change one key. */
function addChanges(app: FastifyInstance, parts: AuthKeyParts, { nowMs, change }: KeyWriter): void {
  app.post('/admin/auth-keys/:id/deactivate', async (request: OneKey, reply) => {
    await change(request, reply, (key) => deactivateKey(key, nowMs()));
    return reply.code(204).send();
  });

  app.patch('/admin/auth-keys/:id', async (asked: OneKey, reply) => {
    const wanted = readChange(asked.body, parts.known(), nowMs());
    return change(asked, reply, (key, seen) => amendKey(key, wanted, seen, nowMs()));
  });

  app.put('/admin/auth-keys/:id/labels', async (asked: OneKey, reply) => {
    const labels = readLabelsBody(asked.body);
    return change(asked, reply, (key, seen) => relabelKey(key, labels, seen, nowMs()));
  });

  app.put('/admin/auth-keys/:id/allowed-models', async (asked: OneKey, reply) => {
    const models = readAllowedModelsBody(asked.body, parts.known());
    return change(asked, reply, (key, seen) => restrictKey(key, models, seen, nowMs()));
  });

  app.put('/admin/auth-keys/:id/dashboard-access', async (asked: OneKey, reply) => {
    const isOpen = readDashboardAccessBody(asked.body);
    return change(asked, reply, (key, seen) => openDashboard(key, isOpen, seen, nowMs()));
  });
}
