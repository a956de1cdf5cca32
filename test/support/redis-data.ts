// Everything of ours that lies in Redis, on one address: whether each kind of data goes on where another server holds it than before.
import type { Test } from 'tap';
import { openRedisCache } from '../../store/cache/redis.ts';
import { openJournal, openJournalReader } from '../../store/records/open-journal.ts';
import type { RedisUrl } from '../../store/state/redis/address.ts';
import { openRedisStore, type RedisStore, type RedisStoreOptions } from '../../store/state/redis/store.ts';
import type { RedisServer } from './redis.ts';
import { change } from './store-calls.ts';
import { waitFor } from './wait-for.ts';

/** Closed with the test. */
export function openStore(t: Test, redisUrl: RedisUrl, more: Partial<RedisStoreOptions> = {}): RedisStore {
  const store = openRedisStore({ redisUrl, timeoutMs: 500, nowMs: () => Date.now(), ...more });
  t.teardown(() => store.close());
  return store;
}

export interface AllData {
  readonly store: RedisStore;
  /** Keeps an item, which is there later. */
  keep(): Promise<void>;
  /** Each kind of data is written and read, on that server; the change of the state is of a document with that id. */
  goesOn(server: RedisServer, id: string): Promise<void>;
}

const item = { kind: 'response', id: 'a', owner: '/' } as const;

/** The state and its watch, items that are kept, the journal and the cache. Closed with the test. */
export function openAll(t: Test, redisUrl: string): AllData {
  // Only a notification makes this watch ask soon.
  const store = openStore(t, redisUrl, { pollMs: 60_000 });
  const settings = { dataDirectory: '/nonexistent', redisUrl, redisPrefix: 'gateway' };
  const [journal, reader] = [openJournal({ ...settings, instance: 'a' }), openJournalReader(settings)];
  const cache = openRedisCache({ redisUrl, prefix: 'gateway', mostBytes: 1e6, patienceMs: 100 });
  t.teardown(() => Promise.all([journal.close(), reader.close(), cache.close()]));
  let calls = 0;
  store.watch(() => {
    calls += 1;
  });
  const facts = { status: 200, contentType: 'application/json', dialect: 'openai', bytes: 1 };
  return {
    store,
    async keep() {
      await store.kept.put(item, Buffer.from('kept'), Date.now() + 60_000);
      await waitFor('the cache', () => !cache.isAway);
    },
    async goesOn(server, id) {
      t.equal(String(await store.kept.get(item)), 'kept');
      const answer = { storedAtMs: 1, expiresAtMs: Date.now() + 60_000, facts: facts as never, body: Buffer.from('x') };
      await waitFor('the cache', async () => {
        cache.put('key', answer, Date.now());
        return (await cache.get('key', Date.now())) !== undefined;
      });
      journal.append('{"id":"a-1"}');
      await waitFor('the record', () => reader.backlog().catch(() => 0));
      await waitFor('the watch to subscribe there', async () =>
        Number((await server.client().pubsub('NUMSUB', '{gateway}:changed'))[1]),
      );
      const told = calls;
      await change(store, id);
      await waitFor('the watch', () => calls > told);
    },
  };
}
