// The engines of the state store for the contract suite: how to open one, and how other processes change it.
import { DatabaseSync } from 'node:sqlite';
import { t as suite } from 'tap';
import { openStateStore, type StateStoreOptions } from '../../store/state/open.ts';
import type { RedisUrl } from '../../store/state/redis/address.ts';
import { changeField, counterField, keysVersion, redisKeys } from '../../store/state/redis/keys.ts';
import { fieldOf } from '../../store/state/redis/state.ts';
import { tablesVersion } from '../../store/state/sqlite/ddl.ts';
import { stateFilePath } from '../../store/state/sqlite/file.ts';
import type { PastChange, StateStore } from '../../store/state/state-store.ts';
import { createCertificates, type RedisServer, startRedis } from '../support/redis.ts';
import { startCluster } from '../support/redis-fleet.ts';
import { asDocumentedUser, documentedUsers } from '../support/redis-user.ts';
import { type Teardown, temporaryDirectory } from '../support/teardown.ts';

/** One store of its own for one test. */
export interface StoreUnderTest {
  /** Also as JSON, for other processes. */
  readonly options: StateStoreOptions;
  /** A connection that is open already, closed with the test: a connection to SQLite costs a thread. */
  readonly store: StateStore;
  /** Another connection, closed with the test. */
  open(more?: Partial<StateStoreOptions>): StateStore;
  /** How many writes may happen although their answer was given up on. */
  readonly mostUnderWay: number;
  /** Everything is gone, as after FLUSHALL. */
  empty(): Promise<void>;
  /** Only the id is gone. */
  loseId(): Promise<void>;
  putDocument(kind: string, id: string, text: string): Promise<void>;
  /** What the change that led to this revision has changed is not known, as if an older version had made it. */
  forgetNames(revision: number): Promise<void>;
  putCounter(instance: string, key: string, child: string, text: string): Promise<void>;
  putHeartbeat(instance: string, text: string): Promise<void>;
  /** A newer version has taken the store over, until the function given is called. */
  takeOver(): Promise<() => Promise<void>>;
  /** Writes get no answer until the function given is called. */
  freeze(): Promise<() => Promise<void>>;
}

export interface Engine {
  readonly name: string;
  start(t: Teardown): Promise<StoreUnderTest>;
}

/** Deadlines are no part of most cases: those that are about them set their own. */
const timeoutMs = 10_000;

export const sqlite: Engine = {
  name: 'SQLite',
  async start(t) {
    const directory = temporaryDirectory(t, 'gateway-state');
    const options: StateStoreOptions = { directory, timeoutMs, pollMs: 20 };
    const open = opener(t, options);
    const store = open();
    await store.revision();
    const change = async (work: (database: DatabaseSync) => void): Promise<void> => {
      const database = new DatabaseSync(stateFilePath(directory), { timeout: 1_000 });
      work(database);
      database.close();
    };
    return {
      options,
      store,
      open,
      mostUnderWay: 1,
      loseId: () => change((database) => database.exec('UPDATE store SET store_id = NULL')),
      empty: () => change((database) => database.exec('DELETE FROM store; DELETE FROM kind; DELETE FROM document')),
      putDocument: (kind, id, text) =>
        change((database) => database.prepare('INSERT INTO document VALUES (?, ?, ?, 1)').run(kind, id, text)),
      forgetNames: (revision) =>
        change((database) => database.prepare('UPDATE change_name SET mark = ? WHERE revision = ?').run('x', revision)),
      putCounter: (instance, key, child, text) =>
        change((database) =>
          database.prepare('INSERT INTO counter VALUES (?, ?, ?, ?, ?)').run(instance, key, child, text, 2n ** 62n),
        ),
      putHeartbeat: (instance, text) =>
        change((database) => database.prepare('INSERT INTO heartbeat VALUES (?, 1, ?)').run(instance, text)),
      async takeOver() {
        await change((database) => database.exec('PRAGMA user_version = 99'));
        return () => change((database) => database.exec(`PRAGMA user_version = ${tablesVersion}`));
      },
      async freeze() {
        const database = new DatabaseSync(stateFilePath(directory));
        database.exec('BEGIN IMMEDIATE');
        return async () => database.close();
      },
    };
  },
};

type Shared = {
  readonly server: RedisServer;
  readonly client: ReturnType<RedisServer['client']>;
  readonly redisUrl: RedisUrl;
};
/** Gives the server with the keys of the gateway, and the address to reach it. */
type Start = (file: Teardown) => Promise<Pick<Shared, 'server' | 'redisUrl'>>;

/** One server for all tests of a file. The store comes as the user with the documented rights. */
function redisEngine(name: string, begin: Start): Engine {
  const shared = new WeakMap<Teardown, Promise<Shared>>();
  return {
    name,
    async start(t) {
      const started = shared.get(suite) ?? begin(suite).then((given) => ({ ...given, client: given.server.client() }));
      shared.set(suite, started);
      const { server, client, redisUrl } = await started;
      await client.flushall();
      const keys = redisKeys('gateway');
      const options: StateStoreOptions = {
        directory: '/nonexistent',
        redisUrl,
        timeoutMs: 1_000,
        pollMs: 20,
      };
      const open = opener(t, options);
      return {
        options,
        store: open(),
        open,
        mostUnderWay: 64,
        async empty() {
          await client.flushall();
        },
        async loseId() {
          await client.hdel(keys.state, 'store_id');
        },
        async putDocument(kind, id, text) {
          await client.hset(keys.state, fieldOf({ kind, id }), text);
        },
        async forgetNames(revision) {
          const field = `${changeField}${revision}`;
          const { marks, deleted } = JSON.parse((await client.hget(keys.state, field)) ?? '') as PastChange;
          await client.hset(keys.state, field, JSON.stringify({ marks, deleted }));
        },
        async putCounter(instance, key, child, text) {
          await client.hset(keys.counters(instance), counterField(key, child), text);
        },
        async putHeartbeat(instance, text) {
          await client.hset(keys.heartbeats, instance, text);
        },
        async takeOver() {
          await client.hset(keys.state, 'version', '99');
          return async () => void (await client.hset(keys.state, 'version', keysVersion));
        },
        async freeze() {
          server.freeze();
          t.teardown(() => server.thaw());
          return async () => server.thaw();
        },
      };
    },
  };
}

export const redis: Engine = redisEngine('Redis', async (file) => {
  const server = await startRedis(file, { users: documentedUsers });
  return { server, redisUrl: asDocumentedUser(server) };
});

/** With TLS and client certificates. A node that is frozen for a while keeps its slot. */
export const redisCluster: Engine = redisEngine('Redis Cluster', async (file) => {
  const tls = createCertificates(temporaryDirectory(file, 'gateway-tls'));
  const cluster = await startCluster(file, { users: documentedUsers, tls, nodeTimeoutMs: 60_000 });
  const { ca, cert, key } = tls;
  return { server: cluster.owner, redisUrl: { url: asDocumentedUser(cluster), certificates: { ca, cert, key } } };
});

function opener(t: Teardown, options: StateStoreOptions): StoreUnderTest['open'] {
  return (more = {}) => {
    const store = openStateStore({ ...options, ...more });
    t.teardown(() => store.close());
    return store;
  };
}
