// The contract of kept items as cases for any engine: whose they are, when they end, and how much room they take.
import { type Test, test } from 'tap';
import { ItemTooLarge, type KeptKey, type KeptLimits, keptOverheadBytes } from '../../store/state/kept-items.ts';
import { sealDocuments } from '../../store/state/sealed-store.ts';
import type { StateStore } from '../../store/state/state-store.ts';
import { rejection } from './state-store-case-tools.ts';
import type { Engine, StoreUnderTest } from './state-store-engines.ts';

/** What each item of the cases about room takes. */
const itemBytes = 1_000;
const room = (items: number): number => items * (itemBytes + keptOverheadBytes);
const day = 86_400_000;

interface Stand {
  readonly place: StoreUnderTest;
  readonly store: StateStore;
  readonly clock: { nowMs: number };
  readonly open: () => StateStore;
}

async function start(t: Test, engine: Engine, keptLimits: Partial<KeptLimits> = {}): Promise<Stand> {
  const place = await engine.start(t);
  const clock = { nowMs: 1_700_000_000_000.5 };
  const open = (): StateStore => place.open({ nowMs: () => clock.nowMs, keptLimits });
  return { place, clock, open, store: open() };
}

const named = (id: string, owner = '/team', kind = 'response'): KeptKey => ({ kind, id, owner });

/** Puts one item of `itemBytes` after the other, a millisecond apart. */
async function fill({ store, clock }: Stand, ids: readonly string[], owner?: string): Promise<void> {
  for (const id of ids) {
    clock.nowMs += 1;
    await store.kept.put(named(id, owner), Buffer.alloc(itemBytes, id), clock.nowMs + day);
  }
}

async function present({ store }: Pick<Stand, 'store'>, ids: readonly string[], owner?: string): Promise<string> {
  const found = await Promise.all(ids.map(async (id) => ((await store.kept.get(named(id, owner))) ? id : '')));
  return found.join('');
}

type KeptCase = (t: Test, engine: Engine) => Promise<void>;

const cases: Readonly<Record<string, KeptCase>> = {
  async 'an item comes back byte for byte, to its owner alone'(t, engine) {
    const { store, clock, open } = await start(t, engine);
    const bytes = Buffer.from([0, 255, 10, 13, 58, 0xc3, 0x28]);
    const end = clock.nowMs + day;
    await store.kept.put(named('a'), bytes, end);
    await store.kept.put(named('a', '/Team'), Buffer.from('theirs'), end);
    await store.kept.put(named('a', '/team', 'response_home'), Buffer.alloc(0), end);
    await store.kept.put(named('quote " 漢 :1:', '/é:'), Buffer.from('x'), end);
    const other = open();
    t.same(await other.kept.get(named('a')), bytes);
    t.same(await other.kept.get(named('a', '/Team')), Buffer.from('theirs'), 'letter case counts');
    t.same(await other.kept.get(named('a', '/team', 'response_home')), Buffer.alloc(0));
    t.same(await other.kept.get(named('quote " 漢 :1:', '/é:')), Buffer.from('x'));
    for (const stranger of ['/', '', '/team/', '/team/app']) {
      t.equal(await other.kept.get(named('a', stranger)), undefined, `not to "${stranger}"`);
      t.equal(await other.kept.remove(named('a', stranger)), false);
    }
    await other.kept.put(named('a'), Buffer.from('newer'), end);
    t.same(await store.kept.get(named('a')), Buffer.from('newer'), 'a later put takes its place');
    t.equal(await store.kept.remove(named('a')), true);
    t.equal(await other.kept.remove(named('a')), false);
    t.equal(await other.kept.get(named('a')), undefined);
    t.same(await other.kept.get(named('a', '/Team')), Buffer.from('theirs'));
  },

  async 'an item is there until its end, by the clock of the gateway'(t, engine) {
    const { store, clock } = await start(t, engine);
    await store.kept.put(named('a'), Buffer.from('a'), clock.nowMs + 60_000);
    await store.kept.put(named('b'), Buffer.from('b'), clock.nowMs + 60_000);
    clock.nowMs += 59_998;
    t.same(await store.kept.get(named('a')), Buffer.from('a'));
    clock.nowMs += 3;
    t.equal(await store.kept.get(named('a')), undefined);
    t.equal(await store.kept.remove(named('a')), false);
    await store.kept.put(named('b'), Buffer.from('new'), clock.nowMs + 60_000);
    t.same(await store.kept.get(named('b')), Buffer.from('new'));
    await store.kept.put(named('b'), Buffer.from('late'), clock.nowMs);
    t.equal(await store.kept.get(named('b')), undefined, 'one whose time is over replaces and is not there');
  },

  async 'the oldest items of an owner make room, not those of other owners'(t, engine) {
    const stand = await start(t, engine, { owner: room(3) });
    await fill(stand, ['x', 'y'], '/other');
    await fill(stand, ['a', 'b', 'c']);
    t.equal(await present(stand, ['a', 'b', 'c']), 'abc');
    await fill(stand, ['a'], '/team');
    t.equal(await present(stand, ['a', 'b', 'c']), 'abc', 'a replaced item counts once');
    await fill(stand, ['d', 'e']);
    t.equal(await present(stand, ['a', 'b', 'c', 'd', 'e']), 'ade');
    t.equal(await present(stand, ['x', 'y'], '/other'), 'xy');
    await stand.store.kept.remove(named('a'));
    await fill(stand, ['f']);
    t.equal(await present(stand, ['d', 'e', 'f']), 'def', 'what was removed takes no room');
    stand.clock.nowMs += 2 * day;
    await fill(stand, ['g', 'h', 'i']);
    t.equal(await present(stand, ['g', 'h', 'i']), 'ghi', 'neither does what has expired');
  },

  async 'all items together have a bound, and one item has its own'(t, engine) {
    const stand = await start(t, engine, { item: itemBytes, all: room(4) });
    const { store, clock } = stand;
    await fill(stand, ['a', 'b'], '/one');
    await fill(stand, ['c', 'd', 'e'], '/two');
    t.equal(await present(stand, ['a', 'b'], '/one'), 'b');
    t.equal(await present(stand, ['c', 'd', 'e'], '/two'), 'cde');
    const large = store.kept.put(named('c', '/two'), Buffer.alloc(itemBytes + 1), clock.nowMs + day);
    await t.rejects(large, ItemTooLarge);
    t.equal(await present(stand, ['c', 'd', 'e'], '/two'), 'cde', 'nothing was changed');
  },

  async 'a large item drives thousands of small ones out'(t, engine) {
    const stand = await start(t, engine, { owner: 450_000 });
    const { store, clock } = stand;
    const small = Array.from({ length: 800 }, (_, index) => String(index));
    await Promise.all(small.map((id) => store.kept.put(named(id), Buffer.from(id), clock.nowMs + day)));
    await store.kept.put(named('other', '/other'), Buffer.from('x'), clock.nowMs + day);
    clock.nowMs += 1;
    await store.kept.put(named('large'), Buffer.alloc(440_000), clock.nowMs + day);
    t.equal((await store.kept.get(named('large')))?.length, 440_000);
    const left = await present(stand, small);
    t.ok(left.length < 100, 'as many as it takes');
    t.ok(await store.kept.get(named('other', '/other')));
  },

  async 'puts of several processes at once are all there, within the bound'(t, engine) {
    const stand = await start(t, engine, { owner: room(20) });
    const other = stand.open();
    const ids = Array.from({ length: 60 }, (_, index) => `${index} `);
    await Promise.all(
      ids.map((id, index) =>
        (index % 2 === 0 ? other : stand.store).kept.put(
          named(id),
          Buffer.alloc(itemBytes, id),
          stand.clock.nowMs + day,
        ),
      ),
    );
    const found = (await present(stand, ids)).trim().split(' ');
    t.equal(found.length, 20);
    for (const id of found) t.same(await stand.store.kept.get(named(`${id} `)), Buffer.alloc(itemBytes, `${id} `));
  },

  async 'an item of the largest size goes there and back'(t, engine) {
    const { store, clock } = await start(t, engine);
    const bytes = Buffer.alloc(8 * 1024 * 1024, 'a long answer ');
    await store.kept.put(named('a'), bytes, clock.nowMs + day);
    t.ok((await store.kept.get(named('a')))?.equals(bytes));
  },

  async 'a sealed item counts only unchanged, for its owner, and with a key that is known'(t, engine) {
    const { store, clock } = await start(t, engine);
    const end = clock.nowMs + day;
    const [masterKey, previousMasterKey] = ['our-master-key-0123', 'the-former-key-0123'];
    const sealed = sealDocuments(store, { masterKey });
    const bytes = Buffer.alloc(1024 * 1024 + 1, 'ab');
    await sealed.kept.put(named('a'), bytes, end);
    t.ok((await sealed.kept.get(named('a')))?.equals(bytes));
    const raw = (await store.kept.get(named('a'))) ?? Buffer.alloc(0);
    await store.kept.put(named('a', '/other'), raw, end);
    t.equal(await sealed.kept.get(named('a', '/other')), undefined, 'moved to another owner');
    await store.kept.put(named('b'), Buffer.concat([raw.subarray(0, -1), Buffer.from('x')]), end);
    await store.kept.put(named('c'), Buffer.from('\u0000plain'), end);
    await store.kept.put(named('d'), Buffer.alloc(0), end);
    for (const id of ['b', 'c', 'd']) t.equal(await sealed.kept.get(named(id)), undefined, id);
    await sealDocuments(store, { masterKey: previousMasterKey }).kept.put(named('e'), Buffer.from('former'), end);
    t.equal(await sealed.kept.get(named('e')), undefined);
    const both = sealDocuments(store, { masterKey, previousMasterKey });
    t.same(await both.kept.get(named('e')), Buffer.from('former'));
    t.same(await sealDocuments(store, { masterKey: undefined }).kept.get(named('e')), Buffer.from('former'));
    t.equal(await sealed.kept.remove(named('a')), true);
  },

  async 'without a clock nothing is kept, and after the end nothing either'(t, engine) {
    const { place, store } = await start(t, engine);
    await t.rejects(place.store.kept.get(named('a')), TypeError);
    await store.close();
    t.match(await rejection(store.kept.get(named('a'))), { reason: 'unreachable' });
  },
};

export async function testKept(engine: Engine): Promise<void> {
  for (const [claim, run] of Object.entries(cases)) await test(`${engine.name}: ${claim}`, (t) => run(t, engine));
}
