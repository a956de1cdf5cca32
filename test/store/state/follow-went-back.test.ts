// A store that went back takes nothing out of force, and gets back what it lost: from the control plane, else from a proxy.
import { join } from 'node:path';
import { type Test, test } from 'tap';
import type { StateOwner, Witnesses } from '../../../store/state/custody.ts';
import { followState } from '../../../store/state/follow-state.ts';
import { recallState } from '../../../store/state/last-good-state.ts';
import type { SealedStore } from '../../../store/state/sealed-store.ts';
import type { StateEvent } from '../../../store/state/state-status.ts';
import type { StoredState } from '../../../store/state/state-store.ts';
import { openSealedStore } from '../../support/sealed.ts';
import { copyState } from '../../support/state-copy.ts';
import { change, commitAnyhow } from '../../support/store-calls.ts';
import { temporaryDirectory } from '../../support/teardown.ts';
import { waitFor } from '../../support/wait-for.ts';

interface Following {
  readonly name: string;
  readonly applied: readonly StoredState[];
  readonly events: readonly StateEvent[];
  readonly follower: Awaited<ReturnType<typeof followState>>;
  /** As its process does. */
  readonly end: () => Promise<void>;
}

interface Stand {
  readonly directory: string;
  readonly store: SealedStore;
  /** Under the same name it starts on the same copy. */
  readonly follow: (
    name: string,
    owner?: StateOwner,
    disturb?: (store: SealedStore) => SealedStore,
  ) => Promise<Following>;
  readonly copied: (name: string, revision: number) => Promise<unknown>;
}

function startStand(t: Test): Stand {
  const directory = temporaryDirectory(t);
  const copyOf = (name: string): string => join(directory, name, 'copy.json');
  const open = (): SealedStore => {
    const store = openSealedStore({ directory, pollMs: 20 });
    t.teardown(() => store.close());
    return store;
  };
  return {
    directory,
    store: open(),
    async follow(name, owner, disturb = (store) => store) {
      const [applied, events]: [StoredState[], StateEvent[]] = [[], []];
      const store = disturb(open());
      const follower = await followState({
        store,
        copyPath: copyOf(name),
        ...(owner === undefined ? {} : { owner }),
        apply: (state) => void applied.push(state),
        report: (event) => void events.push(event),
      });
      const end = (): Promise<void> => {
        follower.end();
        return store.close();
      };
      t.teardown(end);
      return { name, applied, events, follower, end };
    },
    copied: (name, revision) =>
      waitFor(`the copy of ${name}`, async () => (await recallState(copyOf(name))).state?.revision === revision),
  };
}

const controlPlane = (witnesses: () => Witnesses | undefined = () => undefined): StateOwner => ({
  nowMs: Date.now,
  witnesses,
});
const drop = (store: SealedStore, id: string): Promise<unknown> =>
  commitAnyhow(store, { expected: new Map(), changes: [{ kind: 'rule', id, body: undefined }] });
const ids = ({ documents }: StoredState): string[] => documents.map(({ id }) => id);
const said = ({ events }: Following, kind: StateEvent['kind']): number =>
  events.filter((each) => each.kind === kind).length;

await test('the control plane writes back what a restored store has lost; a proxy never sees it go', async (t) => {
  const { directory, store, follow } = startStand(t);
  await change(store, 'a', { cap: 1 });
  await change(store, 'revoked', {});
  const restore = copyState(directory);
  await change(store, 'b', {});
  await drop(store, 'revoked');
  const [plane, proxy] = [await follow('plane', controlPlane()), await follow('proxy')];
  const before = await store.read();
  restore();
  await waitFor('what was lost', async () => ids(await store.read()).join() === 'a,b');
  for (const { name, applied, follower } of [plane, proxy]) {
    await waitFor(name, () => follower.status().standing === 'held' && follower.state().revision > before.revision);
    t.same(new Set(applied.map((state) => ids(state).join())), new Set(['a,b']), `${name} had nothing else in force`);
  }
  t.same([said(plane, 'behind'), said(plane, 'reseeded'), plane.follower.status().writeBacks], [1, 1, 1]);
  t.same([said(proxy, 'reseeded'), proxy.follower.status().writeBacks], [0, 0]);

  await change(store, 'c', {});
  await waitFor('the change', () => ids(plane.follower.state()).includes('c'));
  restore();
  await waitFor('the same once more', async () => ids(await store.read()).join() === 'a,b,c');
});

await test('what came back before a start is seen by the copies', async (t) => {
  const { directory, store, follow, copied } = startStand(t);
  await change(store, 'revoked', {});
  const restore = copyState(directory);
  await drop(store, 'revoked');
  const first = [await follow('plane', controlPlane()), await follow('proxy')];
  for (const { name, end } of first) {
    await copied(name, 2);
    await end();
  }
  restore();
  const proxy = await follow('proxy');
  t.match(proxy.follower.status(), { source: 'copy', standing: 'behind' });
  const plane = await follow('plane', controlPlane());
  t.equal(said(plane, 'reseeded'), 1);
  await waitFor('the proxy to follow', () => proxy.follower.status().standing === 'held');
  t.same([...proxy.applied, ...plane.applied].flatMap(ids), []);
});

await test('a store that went on to the same number and beyond is still behind, and keeps what it was told since', async (t) => {
  const { directory, store, follow, copied } = startStand(t);
  await change(store, 'a', { cap: 1 });
  await change(store, 'revoked', {});
  const restore = copyState(directory);
  await drop(store, 'revoked');
  const before = await follow('proxy');
  await copied('proxy', 3);
  await before.end();
  for (const others of [1, 2]) {
    restore();
    for (let other = 1; other <= others; other += 1) await change(store, `since ${other}`, {});
    const proxy = await follow('proxy');
    t.match(proxy.follower.status(), { standing: 'behind', revision: 3, writeBacks: 0 }, `at revision ${2 + others}`);
    t.same(
      proxy.applied.map((state) => ids(state).join()),
      ['a'],
    );
    await proxy.end();
  }
  const plane = await follow('plane', controlPlane());
  t.equal(plane.follower.status().standing, 'held', 'the control plane remembers nothing');
  const proxy = await follow('proxy');
  await waitFor('the proxy to write it back', () => proxy.follower.status().writeBacks === 1);
  const { documents } = await store.read();
  t.same(
    documents.map(({ id }) => id),
    ['a', 'since 1', 'since 2'],
  );
  await waitFor('the control plane to follow', () => ids(plane.follower.state()).join() === 'a,since 1,since 2');
});

await test('a control plane that knows less than a live proxy gives no answer until that proxy has written it back', async (t) => {
  const { directory, store, follow } = startStand(t);
  await change(store, 'revoked', {});
  const restore = copyState(directory);
  await drop(store, 'revoked');
  await change(store, 'b', {});
  const proxy = await follow('proxy');
  restore();
  const witnesses = (): Witnesses => {
    const { storeId, revision, mark } = proxy.follower.state();
    return { atMs: Date.now(), live: 1, remembering: 1, seen: [{ storeId, revision, mark }] };
  };
  const plane = await follow('plane', controlPlane(witnesses));
  t.match(plane.follower.status(), { standing: 'behind', revision: 1 });
  t.equal(said(plane, 'behind'), 1);
  await waitFor('the proxy', () => proxy.follower.status().writeBacks === 1);
  await waitFor('the control plane', async () => {
    await plane.follower.refresh();
    return plane.follower.status().standing === 'held';
  });
  t.same(ids(plane.follower.state()), ['b']);
  t.equal(plane.follower.status().writeBacks, 0);
});

await test('proxies that saw different revisions agree on the latest', async (t) => {
  const { directory, store, follow, copied } = startStand(t);
  await change(store, 'a', {});
  const restore = copyState(directory);
  const states: Following[] = [];
  for (const name of ['one', 'two', 'three']) {
    await change(store, name, {});
    const proxy = await follow(name);
    await copied(name, 2 + states.length);
    await proxy.end();
    states.push(proxy);
  }
  restore();
  const again = await Promise.all(states.map(({ name }) => follow(name)));
  for (const { name, follower } of again)
    await waitFor(
      name,
      () => follower.status().standing === 'held' && ids(follower.state()).join() === 'a,one,three,two',
    );
  t.same(ids(await store.read()), ['a', 'one', 'three', 'two']);
});

await test('a store that goes on losing everything is not written to again and again', async (t) => {
  const { store, follow } = startStand(t);
  await change(store, 'a', {});
  let [isLosing, asked, rewrites] = [false, 0, 0];
  const plane = await follow('plane', controlPlane(), (real) => ({
    ...real,
    revision: async () => {
      asked += 1;
      return isLosing ? { storeId: undefined, revision: 0 } : real.revision();
    },
    rewrite: async () => {
      rewrites += 1;
      return true;
    },
  }));
  isLosing = true;
  const before = asked;
  for (let poll = 0; poll < 100; poll += 1) await plane.follower.refresh();
  t.ok(asked - before >= 100);
  t.equal(rewrites, 1);
  t.same([said(plane, 'emptied'), said(plane, 'reseeded')], [1, 1], 'nor are lines');
  t.equal(plane.follower.status().standing, 'emptied');
  await waitFor('the next one', () => rewrites === 2);
});
