// Managed documents are never written to a store that has lost them, and a write in doubt is said to be one.
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type Test, test } from 'tap';
import { storeRefusal } from '../../control-plane/admin/store-refusal.ts';
import { guardDocuments } from '../../control-plane/store/documents.ts';
import type { Witnesses } from '../../store/state/custody.ts';
import { followState } from '../../store/state/follow-state.ts';
import { stateFilePath } from '../../store/state/sqlite/file.ts';
import { StoreUnavailable } from '../../store/state/store-unavailable.ts';
import { openSealedStore } from '../support/sealed.ts';
import { commitAnyhow } from '../support/store-calls.ts';
import { temporaryDirectory } from '../support/teardown.ts';
import { waitFor } from '../support/wait-for.ts';

const start = Date.UTC(2026, 0, 1);

interface Guard {
  readonly documents: ReturnType<typeof guardDocuments>;
  readonly directory: string;
  /** How often the guard has asked where the store stands. */
  readonly asked: () => number;
  /** What the proxies say from now on; resolves when the store was polled with that. */
  readonly hear: (witnesses: Witnesses) => Promise<void>;
}

/** A guard over a real store and its follower, with nothing remembered. */
async function startGuard(t: Test): Promise<Guard> {
  const directory = temporaryDirectory(t);
  const store = openSealedStore({ directory, timeoutMs: 300 });
  t.teardown(() => store.close());
  let witnesses: Witnesses | undefined;
  const follower = await followState({
    store,
    copyPath: join(directory, 'copy.json'),
    owner: { nowMs: () => start, witnesses: () => witnesses },
    apply: () => undefined,
    report: () => undefined,
  });
  async function hear(said: Witnesses): Promise<void> {
    witnesses = said;
    await follower.refresh();
  }
  let asked = 0;
  const counted: typeof store = {
    ...store,
    revision() {
      asked += 1;
      return store.revision();
    },
  };
  return { documents: guardDocuments(counted, follower), directory, asked: () => asked, hear };
}

const commit = { storeId: null, expected: new Map(), changes: [{ kind: 'rate_limit', id: 'a', body: {} }] };

await test('a commit that gets no answer is in doubt; what could not be read is not', async (t) => {
  const { documents, directory } = await startGuard(t);
  t.match(await documents.commit(commit), { revision: 1 });
  const other = new DatabaseSync(stateFilePath(directory));
  t.teardown(() => other.close());
  other.exec('BEGIN EXCLUSIVE');
  const refused = await documents.commit(commit).catch((error: unknown) => storeRefusal(error));
  t.match(refused, { status: 503, code: 'store_unavailable', message: /may have happened.* read the current state/ });
  const unread = storeRefusal(new StoreUnavailable('unreachable', 'x'));
  t.notMatch((unread as Error).message, /may have happened/);
});

await test('a store without an id is read once it is known to be new', async (t) => {
  const { documents, hear, asked } = await startGuard(t);
  const order: string[] = [];
  const reading = documents.read().then((state) => {
    order.push('read');
    return state;
  });
  await hear({ atMs: start + 2_900, live: 0, remembering: 0 });
  order.push('undecided');
  const before = asked();
  await waitFor('the guard to ask again', () => asked() > before + 2);
  order.push('known');
  await hear({ atMs: start + 3_000, live: 0, remembering: 0 });
  t.ok((await reading).storeId, 'it has an id by then');
  t.same(order, ['undecided', 'known', 'read']);
});

await test('a store whose documents only proxies know is not read', async (t) => {
  const { documents, hear } = await startGuard(t);
  const reading = documents.read();
  await hear({ atMs: start, live: 1, remembering: 1 });
  await t.rejects(reading, { name: 'StoreUnavailable', message: 'the state store was emptied' });
  await t.rejects(documents.read(), StoreUnavailable);
});

await test('documents in force are not read again, and those that another process has written are', async (t) => {
  const directory = temporaryDirectory(t);
  const [store, other] = [openSealedStore({ directory, pollMs: 60_000 }), openSealedStore({ directory })];
  t.teardown(() => Promise.all([store.close(), other.close()]));
  await commitAnyhow(other, commit);
  const reports = { apply: () => undefined, report: () => undefined };
  const follower = await followState({ store, copyPath: join(directory, 'copy.json'), ...reports });
  const documents = guardDocuments(store, follower);
  t.equal(await documents.read(), follower.state(), 'the same object');
  await commitAnyhow(other, { expected: new Map(), changes: [{ kind: 'rate_limit', id: 'b', body: {} }] });
  t.same(
    (await documents.read()).documents.map(({ id }) => id),
    ['a', 'b'],
  );
  t.equal(await documents.read(), follower.state());
});
