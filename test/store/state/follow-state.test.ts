// The managed state stays in force, whatever happens to its store; and an emptied store is not an order to delete.
import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type Test, test } from 'tap';
import { keepCopy } from '../../../store/checksummed-file.ts';
import type { StateOwner, Witnesses } from '../../../store/state/custody.ts';
import { followState } from '../../../store/state/follow-state.ts';
import { keepState, recallState } from '../../../store/state/last-good-state.ts';
import { reseededKind } from '../../../store/state/merge-states.ts';
import { openStateStore } from '../../../store/state/open.ts';
import { type SealedStore, sealDocuments } from '../../../store/state/sealed-store.ts';
import type { StateEvent } from '../../../store/state/state-status.ts';
import type { StateStore, StoredState } from '../../../store/state/state-store.ts';
import { masterKey } from '../../support/gateway.ts';
import { openSealedStore, sealed } from '../../support/sealed.ts';
import { commitAnyhow } from '../../support/store-calls.ts';
import { temporaryDirectory } from '../../support/teardown.ts';
import { waitFor } from '../../support/wait-for.ts';

interface Stand {
  readonly directory: string;
  readonly store: StateStore;
  readonly copyPath: string;
  /** A follower of its own connection to the store. */
  readonly follow: (owner?: StateOwner) => Promise<Following>;
  /** Waits until the copy has these rules. */
  readonly copied: (...rules: string[]) => Promise<unknown>;
}

/** The owner of the documents; `proxies`: what they say. */
const ownerOf = (proxies: () => Witnesses | undefined): StateOwner => ({ nowMs: Date.now, witnesses: proxies });
const controlPlane = ownerOf(() => undefined);

interface Following {
  readonly applied: StoredState[];
  readonly kinds: () => string[];
  readonly events: StateEvent[];
  readonly follower: Awaited<ReturnType<typeof followState>>;
}

function startStand(t: Test): Stand {
  const directory = temporaryDirectory(t);
  const open = (): SealedStore => {
    const store = sealDocuments(openStateStore({ directory, pollMs: 20 }), { masterKey: undefined });
    t.teardown(() => store.close());
    return store;
  };
  const copyPath = join(directory, 'copy', 'state.json');
  return {
    directory,
    store: open(),
    copyPath,
    async follow(owner) {
      const applied: StoredState[] = [];
      const events: StateEvent[] = [];
      const follower = await followState({
        store: open(),
        copyPath,
        ...(owner === undefined ? {} : { owner }),
        apply: (state) => void applied.push(state),
        report: (event) => void events.push(event),
      });
      return { applied, events, follower, kinds: () => events.map(({ kind }) => kind) };
    },
    copied: (...rules) =>
      waitFor(
        `a copy with ${rules.join()}`,
        async () => ids((await recallState(copyPath)).state).join() === rules.join(),
      ),
  };
}

function put(store: StateStore, id: string, body: unknown = { id }): Promise<unknown> {
  return commitAnyhow(store, { expected: new Map(), changes: [{ kind: 'rate_limit', id, body }] });
}

const ids = (state: StoredState | undefined): string[] =>
  state?.documents.filter(({ kind }) => kind === 'rate_limit').map(({ id }) => id) ?? [];

/** What FLUSHALL is to Redis. */
function emptyStore(directory: string): void {
  const database = new DatabaseSync(join(directory, 'state.sqlite'), { timeout: 1_000 });
  const tables = database.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").all();
  for (const { name } of tables) database.exec(`DELETE FROM "${String(name)}"`);
  database.close();
}

await test('changes of every writer are put in force, each state as a whole', async (t) => {
  const { store, follow, copied } = startStand(t);
  await put(store, 'a');
  const { applied, follower } = await follow();
  t.same(applied.map(ids), [['a']]);
  t.match(follower.status(), { source: 'store', revision: 1, isUp: true, standing: 'held' });
  await put(store, 'b');
  await waitFor('the second state', () => applied.length === 2);
  t.same(ids(applied[1]), ['a', 'b']);
  t.equal(follower.state(), applied[1]);
  await copied('a', 'b');
  await follower.refresh();
  t.equal(applied.length, 2, 'what is in force is not put in force again');
});

await test('a store that cannot be read at the start leaves the copy in force until it can', async (t) => {
  const { store, follow, directory, copied } = startStand(t);
  await put(store, 'a');
  await follow();
  await copied('a');
  const file = join(directory, 'state.sqlite');
  const database = new DatabaseSync(file, { timeout: 1_000 });
  database.exec('PRAGMA wal_checkpoint(TRUNCATE)');
  database.close();
  const bytes = readFileSync(file);
  await store.close();
  for (const suffix of ['', '-wal', '-shm']) rmSync(file + suffix, { force: true });
  writeFileSync(file, 'this is no database, and long enough to be looked at as if it were one');
  const { applied, kinds, follower } = await follow();
  t.same(applied.map(ids), [['a']]);
  t.match(follower.status(), { source: 'copy', isUp: false });
  t.ok(kinds().includes('copy-used') && kinds().includes('unavailable'));
  writeFileSync(`${file}.whole`, bytes);
  renameSync(`${file}.whole`, file);
  await waitFor('the store to be read', async () => {
    await follower.refresh();
    return follower.status().source === 'store';
  });
  t.ok(follower.status().isUp && kinds().includes('available'));
});

await test('an emptied store is not an order to delete: what is in force stays', async (t) => {
  const { store, follow, directory, copied } = startStand(t);
  await put(store, 'a');
  const proxy = await follow();
  await copied('a');
  emptyStore(directory);
  await waitFor('the loss to be noticed', async () => {
    await proxy.follower.refresh();
    return proxy.follower.status().standing === 'emptied';
  });
  t.same(proxy.applied.map(ids), [['a']]);
  t.equal(proxy.kinds().filter((kind) => kind === 'emptied').length, 1, 'said once');

  const late = await follow();
  t.same(late.applied.map(ids), [['a']], 'nor is it for one that starts then');
  t.match(late.follower.status(), { source: 'copy', standing: 'emptied' });

  const plane = await follow(controlPlane);
  t.ok(plane.kinds().includes('reseeded'), 'the owner of the documents writes them back');
  t.same(ids(await store.read()), ['a']);
  await waitFor('the proxies to follow the store again', async () => {
    await proxy.follower.refresh();
    return proxy.follower.status().standing === 'held';
  });
  t.same(new Set(proxy.applied.map((state) => ids(state).join())), new Set(['a']));
  t.notOk(proxy.applied[0]?.kinds.has(reseededKind));
  await waitFor('the news that the rest of the store is gone', () => proxy.applied.at(-1)?.kinds.get(reseededKind));
});

await test('a store without an id is lost while proxies know its documents, and new when none does', async (t) => {
  const { store, follow, copyPath } = startStand(t);
  let witnesses: Witnesses = { atMs: Date.now(), live: 1, remembering: 1 };
  const { follower, events } = await follow(ownerOf(() => witnesses));
  await follower.refresh();
  t.match(follower.status(), { standing: 'lost', isUp: true, storeId: undefined });
  const told = events.filter(({ kind }) => kind === 'lost').map(({ problem }) => String(problem));
  t.match(told, [`into ${dirname(copyPath)} and restart the control plane`]);
  t.equal(told.length, 1, 'said once');
  witnesses = { atMs: Date.now(), live: 1, remembering: 0 };
  await follower.refresh();
  t.equal(follower.status().standing, 'undecided');
  t.equal((await store.revision()).storeId, undefined);
  witnesses = { ...witnesses, atMs: Date.now() + 1_000 };
  await follower.refresh();
  const { storeId } = await store.revision();
  t.ok(storeId);
  t.match(follower.status(), { standing: 'held', storeId });
});

await test('another store in its place is put in force, and said', async (t) => {
  const { store, follow, directory, copyPath, copied } = startStand(t);
  await put(store, 'a');
  const { applied, kinds, events, follower } = await follow();
  await copied('a');
  emptyStore(directory);
  await put(store, 'other');
  await waitFor('the other store', async () => {
    await follower.refresh();
    return applied.length === 2;
  });
  t.same(ids(applied[1]), ['other']);
  t.ok(kinds().includes('replaced'));
  await copied('other');
  const former = `${copyPath}.former`;
  t.same(ids((await recallState(former)).state), ['a'], 'the former copy can be brought back by hand');
  t.ok(events.some(({ problem }) => problem === `the copy of the former managed state is kept in ${former}`));
});

await test('a store that was away is read again, even when it seems to stand where it stood', async (t) => {
  const { store, follow, directory } = startStand(t);
  await put(store, 'a', { cap: 1 });
  const { applied, follower } = await follow();
  const database = new DatabaseSync(join(directory, 'state.sqlite'), { timeout: 1_000 });
  database.exec('PRAGMA user_version = 99');
  await waitFor('the store to be missed', () => !follower.status().isUp);
  // It has lost its last change, and another process has made a different one under the same number.
  database.exec(`UPDATE document SET body = '{"cap":2}'; PRAGMA user_version = 1`);
  database.close();
  await waitFor('the other change', () => JSON.stringify(applied.at(-1)?.documents[0]?.body) === '{"cap":2}');
  t.equal(follower.status().revision, 1);
});

await test('a store that is given its id has not changed', async (t) => {
  const { store, follow } = startStand(t);
  const { applied, kinds, follower } = await follow();
  const storeId = await store.initialise();
  await waitFor('the id', () => follower.status().storeId === storeId);
  t.same([applied.length, kinds()], [2, ['applied']], 'it is in force, and there is nothing to say');
  await put(store, 'a');
  await waitFor('a change', () => applied.length === 3);
  t.same(kinds(), ['applied', 'applied']);
});

await test('a copy that is damaged or of another version is said and not used', async (t) => {
  const { follow, copyPath, store, copied } = startStand(t);
  await put(store, 'a');
  await follow();
  await copied('a');
  const text = readFileSync(copyPath, 'utf8');
  for (const [good, wrong, reason] of [
    ['rate_limit', 'rate_limbo', 'it is damaged'],
    ['{"version":2,', '{"version":3,', 'it was written by another version'],
  ] as const) {
    writeFileSync(copyPath, text.replace(good, wrong));
    const { events, follower } = await follow();
    t.match(events[0], { kind: 'warning', problem: /copy of the managed state .* is ignored: / });
    t.match(events[0], { problem: reason });
    t.equal(follower.status().source, 'store');
    await copied('a');
  }
});

await test('a change is added to the copy, which is otherwise left as it is', async (t) => {
  const { store, follow, copyPath, copied } = startStand(t);
  for (const id of ['a', 'b', 'c']) await put(store, id);
  const { follower } = await follow();
  await copied('a', 'b', 'c');
  const before = readFileSync(copyPath, 'utf8');
  await put(store, 'b', { changed: true });
  await commitAnyhow(store, { expected: new Map(), changes: [{ kind: 'rate_limit', id: 'a', body: undefined }] });
  await copied('b', 'c');
  const after = readFileSync(copyPath, 'utf8');
  t.ok(after.startsWith(before));
  t.notMatch(after.slice(before.length), /"id":"c"/);
  const { state } = await recallState(copyPath);
  t.same(state && { ...state, mark: state.mark }, { ...(await store.read()), skipped: [] });
  rmSync(copyPath);
  await put(store, 'd');
  await copied('b', 'c', 'd');
  t.equal(follower.state().documents.length, 3);
});

await test('a copy of an older version, as one text, is in force too', async (t) => {
  const { store, follow, copyPath, copied } = startStand(t);
  await put(store, 'a');
  const { follower } = await follow();
  await copied('a');
  const { storeId, revision, mark, kinds, documents, past = [] } = follower.state();
  const older = { storeId, revision, mark, kinds: [...kinds], documents, past: [...past] };
  await keepCopy(copyPath, JSON.stringify(older));
  t.same((await recallState(copyPath)).state, { ...follower.state(), skipped: [] });
});

await test('a copy is believed by the seals in it', async (t) => {
  const directory = temporaryDirectory(t);
  const copyPath = join(directory, 'state.json');
  const nowhere = openStateStore({ directory: join(directory, 'state.json'), timeoutMs: 200 });
  t.teardown(() => nowhere.close());
  const document = (id: string, body: object) => ({ kind: 'rate_limit', id, revision: 1, body });
  const good = document('good', sealed({ kind: 'rate_limit', id: 'good' }, { cap: 1 }));
  const documents = [good, document('former version', { cap: 1 }), document('other', good.body)];
  await keepState(copyPath, { storeId: 's', revision: 1, kinds: new Map(), documents, skipped: [] });
  const events: StateEvent[] = [];
  const follower = await followState({
    store: sealDocuments(nowhere, { masterKey }),
    copyPath,
    apply: () => undefined,
    report: (event) => void events.push(event),
  });
  t.same(ids(follower.state()), ['good']);
  t.match(follower.status(), { source: 'copy', skipped: { unsealed: 2, unreadable: 0 } });
  const said = events.map(({ problem }) => String(problem)).join('\n');
  t.match(
    said,
    /the stored rate_limit "former version" has no good seal.*\n.*"other" has no good seal.*\n.*GATEWAY_ADOPT_UNSIGNED/,
  );
});

await test('a commit reads nothing again, and leads to what reading would have given', async (t) => {
  const { directory, copyPath, copied } = startStand(t);
  const store = openSealedStore({ directory, pollMs: 20 });
  t.teardown(() => store.close());
  await store.initialise();
  let [reads, calls] = [0, 0];
  const counted: typeof store = {
    ...store,
    read() {
      reads += 1;
      return store.read();
    },
    watch(onChange) {
      store.watch(() => {
        calls += 1;
        onChange();
      });
    },
  };
  const applied: StoredState[] = [];
  const follower = await followState({
    store: counted,
    copyPath,
    apply: (state) => void applied.push(state),
    report: () => undefined,
  });
  await waitFor('the call that a watch begins with', () => calls > 0);
  await follower.refresh();
  const [atFirst, storeId = ''] = [reads, follower.state().storeId];
  const change = (id: string, body: unknown) => ({ kind: 'rate_limit', id, body });
  const batches = [
    [change('b', { cap: 1, absent: undefined }), change('a', { cap: 1 })],
    [change('a', { cap: 2 }), { kind: 'reset_epoch', id: 'b', body: { epoch: 1 } }],
    [change('b', undefined), change('c', { cap: 1 }), change('c', { cap: 3 })],
  ];
  for (const changes of batches) {
    const { revision } = follower.state();
    t.match(await follower.commit({ storeId, expected: new Map(), changes }), { revision: revision + 1 });
    t.same(follower.state(), await store.read(), 'the same documents in the same order, and the same revisions');
    t.equal(applied.at(-1), follower.state(), 'and it is in force');
  }
  t.equal(reads, atFirst);
  await copied('a', 'c');

  await commitAnyhow(store, { expected: new Map(), changes: [change('d', { cap: 4 })] });
  await follower.commit({ storeId, expected: new Map(), changes: [change('e', { cap: 5 })] });
  t.same(follower.state(), await store.read(), 'after the commit of another process it is read');
  const stale = { storeId, expected: new Map([['rate_limit', 1]]), changes: [change('e', undefined)] };
  t.same(await follower.commit(stale), { conflict: true });
});
