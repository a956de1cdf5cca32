// Starts a control plane with the key routes on a real socket and a real store, following its own keys like the process.

import { authKeys } from '../../control-plane/admin/auth-keys/routes.ts';
import { noteDeclaredKeys } from '../../control-plane/managed/key-index.ts';
import type { Quotas } from '../../control-plane/managed/quotas.ts';
import { createMetrics } from '../../control-plane/metrics.ts';
import { createServer } from '../../control-plane/server.ts';
import { managedKeys } from '../../domain/documents/kinds.ts';
import { readKind } from '../../domain/documents/managed-kind.ts';
import { configKeys } from '../../domain/keys/config-key.ts';
import { credentialsOf } from '../../domain/keys/credentials.ts';
import { digestOf } from '../../domain/keys/secret.ts';
import { knownModels } from '../../domain/rules/known-models.ts';
import { defaultConfig } from '../../gitops/read/validate.ts';
import { createFailedLogins } from '../../plane/access/failed-logins.ts';
import type { ConfigKey } from '../../schemas/types.ts';
import { openStateStore } from '../../store/state/open.ts';
import type { StateStore } from '../../store/state/state-store.ts';
import { type Teardown, temporaryDirectory } from '../support/teardown.ts';
import { Agent, fetch } from '../support/undici.ts';
import { waitFor } from '../support/wait-for.ts';

export const masterKey = 'sk-test-master-key-0123456789';

export interface Answer {
  readonly status: number;
  readonly headers: ReadonlyMap<string, string>;
  readonly text: string;
  /** The body when it is JSON, else undefined. */
  readonly body: Record<string, unknown>;
}

export interface Stand {
  readonly app: ReturnType<typeof createServer>;
  readonly port: number;
  readonly directory: string;
  readonly store: StateStore;
  /** Hours, minutes and days pass by setting it. Unix milliseconds. */
  readonly clock: { nowMs: number };
  /** The lines for those who look after it, errors aside. */
  readonly logged: readonly unknown[];
  /** A request with this token (the master key unless another, `null`: none); an object as body is sent as JSON. */
  ask(method: string, path: string, body?: unknown, token?: string | null): Promise<Answer>;
  /** Issues a key with the master key and waits until it is in force. */
  issue(draft?: object): Promise<{ id: string; value: string }>;
  /** Waits until what is in the store is what requests are checked against. */
  settled(): Promise<void>;
}

export interface StandOptions {
  /** Null: an open gateway. */
  readonly master?: string | null;
  /** Of another stand, to share its store. */
  readonly directory?: string;
  readonly quotas?: Partial<Quotas>;
  /** Keys of budgets of the configuration. */
  readonly budgets?: readonly { readonly key: string }[];
  /** Entries of the configuration; each is declared in `keys.yaml:1`. */
  readonly declared?: readonly ConfigKey[];
  readonly register?: (app: ReturnType<typeof createServer>) => void;
}

export const startedAtMs = Date.parse('2026-06-01T12:00:00Z');

/** Starts it; gone when the test ends. */
export async function startKeyServer(t: Teardown, options: StandOptions = {}): Promise<Stand> {
  const {
    master = masterKey,
    directory = temporaryDirectory(t, 'gateway-keys'),
    quotas,
    register,
    budgets = [],
    declared = [],
  } = options;
  const keysOfConfig = configKeys(declared);
  noteDeclaredKeys(keysOfConfig);
  const store = openStateStore({ directory, pollMs: 20 });
  t.teardown(() => store.close());
  const clock = { nowMs: startedAtMs };
  const masterKeyDigest = master === null ? undefined : digestOf(master);
  let credentials = credentialsOf(masterKeyDigest, keysOfConfig);
  let inForce = -1;
  const look = async (): Promise<void> => {
    const { documents, revision } = await store.read();
    credentials = credentialsOf(masterKeyDigest, [...keysOfConfig, ...readKind(managedKeys, documents).values]);
    inForce = revision;
  };
  await look();
  store.watch(() => void look().catch(() => undefined));

  const logged: unknown[] = [];
  const failedLogins = createFailedLogins();
  const none = (): undefined => undefined;
  const facts = { version: '1', config: none, pin: none, rollout: none, state: none };
  const app = createServer({
    logger: {
      error: (...said: unknown[]) => process.stderr.write(`${JSON.stringify(said)}\n`),
      info: (...said: unknown[]) => void logged.push(said),
    },
    metrics: createMetrics({
      budgets: { standings: () => [] },
      ...facts,
      secretProblems: () => [],
      handshakes: () => undefined,
      failedLogins,
      output: { droppedEvents: 0 },
      fleet: { proxies: () => [], lagSeconds: () => 0 },
      revisions: () => ({ kept: 0, lost: 0 }),
      records: () => ({ storedRecords: 0, lostRecords: 0, trouble: undefined }),
      room: () => undefined,
      areRecordsBegunAnew: false,
      diskRoom: () => 1,
    }),
    access: {
      credentials: () => credentials,
      failedLogins,
      masterKey: master ?? undefined,
      nowMs: () => clock.nowMs,
    },
    readiness: () => ({ status: 'ready', reasons: [] }),
  });
  register?.(app);
  const parts = {
    store,
    uses: store.uses,
    quotas: () => ({ ...defaultConfig().admin, ...quotas }),
    known: () =>
      knownModels({
        providers: { openai: { models: ['gpt-4o'] }, local: { models: ['meta/llama', 'openai/gpt-4o'] } },
        aliases: [{ source: 'fast' }, { source: 'team/chat' }],
      }),
    budgets: () => budgets,
    declared: () => ({ keys: keysOfConfig, places: new Map(declared.map(({ name }) => [name, 'keys.yaml:1'])) }),
    nowMs: () => clock.nowMs,
  };
  await app.register(authKeys, { parts });
  const address = await app.listen({ host: '127.0.0.1', port: 0 });
  const agent = new Agent();
  t.teardown(async () => {
    await agent.destroy();
    await app.close();
  });

  const stand: Stand = {
    app,
    port: Number(new URL(address).port),
    directory,
    store,
    clock,
    logged,
    async ask(method, path, body, token = master) {
      const response = await fetch(`${address}${path}`, {
        method,
        dispatcher: agent,
        headers: {
          ...(token === null ? {} : { authorization: `Bearer ${token}` }),
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        },
        body: body === undefined ? null : typeof body === 'string' ? body : JSON.stringify(body),
      });
      const text = await response.text();
      const headers = new Map(response.headers);
      const isJson = headers.get('content-type')?.startsWith('application/json');
      return { status: response.status, headers, text, body: isJson ? JSON.parse(text) : undefined };
    },
    async issue(draft = {}) {
      const { status, body, text } = await stand.ask('POST', '/admin/auth-keys', { name: 'a key', ...draft });
      if (status !== 201) throw new Error(`no key was issued: ${text}`);
      await stand.settled();
      return { id: String(body['id']), value: String(body['value']) };
    },
    async settled() {
      const { revision } = await store.revision();
      await waitFor('the keys to be in force', () => inForce >= revision);
    },
  };
  return stand;
}
