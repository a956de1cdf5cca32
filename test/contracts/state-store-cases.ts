// The contract of the state store as cases for any engine: a real one, which other processes write to, kill and freeze.

import { test } from 'tap';
import { StoreUnavailable } from '../../store/state/store-unavailable.ts';
import { textsOf } from '../support/counter-rows.ts';
import { extent } from '../support/extent.ts';
import { commitAnyhow } from '../support/store-calls.ts';
import { waitFor } from '../support/wait-for.ts';
import {
  bodies,
  type Case,
  change,
  lastAcked,
  patienceMs,
  put,
  rejection,
  remove,
  row,
  startWriter,
} from './state-store-case-tools.ts';
import { counterCases } from './state-store-counter-cases.ts';
import type { Engine } from './state-store-engines.ts';
import { pastCases } from './state-store-past-cases.ts';
import { sinceCases } from './state-store-since-cases.ts';
import { turnCases } from './state-store-turn-cases.ts';
import { useCases } from './state-store-use-cases.ts';

const expecting = (kinds: Record<string, number>): ReadonlyMap<string, number> => new Map(Object.entries(kinds));

const documentCases: Readonly<Record<string, Case>> = {
  async 'a new store is empty, and reading makes nothing'(t, engine) {
    const { store } = await engine.start(t);
    const first = await store.read();
    t.equal(first.storeId, undefined);
    t.match(first, { revision: 0, documents: [], skipped: [] });
    t.equal(first.kinds.size, 0);
    t.same(await store.revision(), { storeId: first.storeId, revision: 0 });
    t.same(await store.heartbeats(), []);
    t.same(await store.loadCounters('i'), { sequence: 0, rows: [], skipped: 0 });
    t.same(await store.read(), first);
  },

  async 'a commit applies everything and raises the revision by one'(t, engine) {
    const place = await engine.start(t);
    const { store } = place;
    t.equal(await change(store, put('rule', 'a', 1), put('rule', 'b', 2), put('key', 'a', 3)), 1);
    t.equal(await change(store, put('rule', 'a', 4), remove('rule', 'b'), put('epoch', '', 5)), 2);
    const state = await place.open().read();
    t.same(state.documents, [
      { kind: 'epoch', id: '', body: 5, revision: 2 },
      { kind: 'key', id: 'a', body: 3, revision: 1 },
      { kind: 'rule', id: 'a', body: 4, revision: 2 },
    ]);
    t.same(Object.fromEntries(state.kinds), {
      epoch: 2,
      key: 1,
      rule: 2,
    });
    t.equal(state.revision, 2);
    t.ok(state.storeId);
    t.match(await store.revision(), { storeId: state.storeId, revision: 2 });

    t.equal(await change(store, remove('rule', 'a'), remove('rule', 'never there')), 3);
    t.equal((await store.read()).kinds.get('rule'), 3, 'a deletion changes its kind');
    t.equal(await change(store, put('rule', 'x', 1), put('rule', 'x', 2), remove('key', 'a'), put('key', 'a')), 4);
    t.match(bodies(await store.read()), { 'rule/x': 2, 'key/a': { id: 'a' } }, 'changes apply in their order');
    t.equal(await change(store), 4, 'no change, no revision');
  },

  async 'whatever JSON can say comes back as it was'(t, engine) {
    const { store } = await engine.start(t);
    const values: Record<string, unknown> = {
      null: null,
      false: false,
      zero: 0,
      'empty text': '',
      'big number': Number.MAX_SAFE_INTEGER,
      text: 'quotes " \\ \u0000 \u2028 é 漢 🙂 \ud800 %s {x}',
      nested: { list: [1, [2, { three: null }]], empty: {} },
      long: 'x'.repeat(300_000),
      prototype: JSON.parse('{"__proto__":{"polluted":true},"constructor":1}'),
    };
    const ids = ['', '__proto__', ' ', 'a:b', '["a","b"]', "'; DROP TABLE document; --", '{x}*?', 'tab\there', '漢🙂'];
    await change(
      store,
      ...Object.entries(values).map(([id, body]) => put('value', id, body)),
      ...ids.map((id) => put('id', id, id)),
      ...ids.map((kind) => put(`kind ${kind}`, 'x', kind)),
    );
    const { documents, kinds, skipped } = await store.read();
    t.same(skipped, []);
    const bodiesOf = (kind: string, id: string): string =>
      JSON.stringify(
        documents.filter((document) => document.kind === kind && document.id === id).map(({ body }) => body),
      );
    const changed = [
      ...Object.entries(values).filter(([id, body]) => bodiesOf('value', id) !== JSON.stringify([body])),
      ...ids.filter((id) => bodiesOf('id', id) !== JSON.stringify([id])),
      ...ids.filter((kind) => kinds.get(`kind ${kind}`) !== 1),
    ];
    t.same(changed, [], 'each comes back once, as it was');
    await change(store, ...ids.map((id) => remove('id', id)));
    t.equal((await store.read()).documents.filter(({ kind }) => kind === 'id').length, 0);
    await t.rejects(
      change(
        store,
        put('value', 'f', () => 1),
      ),
      TypeError,
      'what is not JSON is refused',
    );
    t.equal((await store.revision()).revision, 2);
  },

  async 'a commit that relies on something outdated changes nothing'(t, engine) {
    const place = await engine.start(t);
    const [mine, theirs] = [place.store, place.open()];
    await change(mine, put('rule', 'a', 1));
    await change(theirs, put('key', 'k', 1));
    const before = await mine.read();
    for (const expected of [{ rule: 0 }, { rule: 2 }, { rule: 1, key: 1 }, { other: 1 }]) {
      const result = await commitAnyhow(mine, {
        expected: expecting(expected),
        changes: [put('rule', 'a', 9), put('x', 'y')],
      });
      t.same(result, { conflict: true }, JSON.stringify(expected));
    }
    t.same(await mine.read(), before);
    t.match(await commitAnyhow(mine, { expected: expecting({ rule: 1, other: 0 }), changes: [put('rule', 'a', 2)] }), {
      revision: 3,
    });
    t.match(await commitAnyhow(mine, { expected: expecting({ rule: 3 }), changes: [] }), { revision: 3 });
    t.same(await commitAnyhow(mine, { expected: expecting({ rule: 1 }), changes: [] }), { conflict: true });
  },

  async 'no increment of several processes is lost'(t, engine) {
    const place = await engine.start(t);
    const count = extent(3, 2);
    const writers = await Promise.all(Array.from({ length: count }, () => startWriter(t, place, 'count', 25)));
    for (const writer of writers) t.match(await writer.exited, { code: 0 }, writer.lastLines());
    const state = await place.store.read();
    t.same(bodies(state), { 'sum/': count * 25 });
    t.equal(state.revision, count * 25);
  },

  async 'a process killed while it commits leaves whole commits, and all that were acknowledged'(t, engine) {
    const place = await engine.start(t);
    const { store } = place;
    for (let round = 1; round <= extent(3, 2); round += 1) {
      await change(store, remove('pair', 'left'), remove('pair', 'right'));
      const { revision } = await store.revision();
      const writer = await startWriter(t, place, 'pairs');
      await waitFor('commits', () => lastAcked(writer) >= round * 7, patienceMs);
      await writer.kill();
      const state = await store.read();
      const [left, right] = state.documents.map(({ body }) => (body as { number: number }).number);
      t.equal(left, right, 'both or none');
      const acked = lastAcked(writer);
      t.ok(left === acked || left === acked + 1, `acknowledged ${acked}, stored ${left}`);
      t.equal(state.revision, revision + Number(left));
    }
    await change(store, put('pair', 'left', 'free'));
    t.match(bodies(await store.read()), { 'pair/left': 'free' }, 'nothing is left locked');
  },

  async 'a commit decided on one store changes no other'(t, engine) {
    const place = await engine.start(t);
    const { store } = place;
    const first = { expected: expecting({ rule: 0 }), changes: [put('rule', 'a')] };
    t.same(await store.commit({ ...first, storeId: 'another' }), { conflict: true }, 'there is none yet');
    t.match(await store.commit({ ...first, storeId: null }), { revision: 1 });
    const { storeId = '' } = await store.revision();
    t.same(await store.commit({ ...first, storeId: null }), { conflict: true });
    const more = { expected: expecting({ rule: 1 }), changes: [put('rule', 'b')] };
    t.same(await store.commit({ ...more, storeId: 'another' }), { conflict: true });
    t.match(await store.commit({ ...more, storeId }), { revision: 2 });
    await place.empty();
    // Of a kind that was never written nothing is expected, and in an empty store nothing is found.
    const fresh = { expected: expecting({ key: 0 }), changes: [put('key', 'a')] };
    t.same(await store.commit({ ...fresh, storeId }), { conflict: true });
    t.match(await store.read(), { storeId: undefined, documents: [] });
  },

  async 'a watch tells of the changes of all writers, and of nothing else'(t, engine) {
    const place = await engine.start(t);
    const [watching, other] = [place.store, place.open()];
    let calls = 0;
    let alsoCalls = 0;
    watching.watch(() => {
      calls += 1;
    });
    watching.watch(() => {
      alsoCalls += 1;
    });
    await waitFor('the first call', () => calls > 0 && alsoCalls > 0);
    const told = async (what: string, act: () => Promise<unknown>): Promise<void> => {
      const [before, alsoBefore] = [calls, alsoCalls];
      await act();
      await waitFor(what, () => calls > before && alsoCalls > alsoBefore, 3_000);
      t.pass(what);
    };
    await told('a change of its own', () => change(watching, put('a', '1')));
    await told('a change by another writer', () => change(other, put('a', '2')));
    await told('a deletion', () => change(other, remove('a', '2')));
    await told('a change by another process', async () => {
      await (await startWriter(t, place, 'once')).exited;
    });
    await told('an emptied store', () => place.empty());
    await told('a new id', () => other.initialise());

    const before = calls;
    const untilMs = performance.now() + 300;
    for (let sequence = 1; performance.now() < untilMs; sequence += 1) {
      await other.writeHeartbeat({ instance: 'i', atMs: sequence, body: {} });
      await other.writeCounters('i', { sequence, nowMs: 0, removed: [], rows: textsOf([row('k')]) });
    }
    await change(other);
    // A change that is told shows that the looks in between have been and gone.
    await told('a change after much that is none', () => change(other, put('a', '3')));
    t.ok(calls - before <= 2, 'counters and heartbeats are no news');
    await watching.close();
    const atClose = calls;
    await change(other, put('a', '4'));
    const third = place.open();
    let thirdCalls = 0;
    third.watch(() => {
      thirdCalls += 1;
    });
    await waitFor('the watch of another connection', () => thirdCalls > 0);
    t.equal(calls, atClose, 'a closed store tells nothing');
  },

  async 'a watch tells when the store begins to fail, once, and when it is back'(t, engine) {
    const place = await engine.start(t);
    const { store } = place;
    await change(store, put('a', '1'));
    let calls = 0;
    store.watch(() => {
      calls += 1;
    });
    await waitFor('the first call', () => calls > 0);
    let before = calls;
    const giveBack = await place.takeOver();
    await waitFor('the watch to tell of the newer version', () => calls > before);
    t.match(await rejection(store.revision()), { reason: 'newer_schema' });
    const writes = [
      change(store, put('a', '2')),
      store.writeCounters('i', { sequence: 1, nowMs: 0, removed: [], rows: textsOf([row('k')]) }),
      store.writeHeartbeat({ instance: 'i', atMs: 1, body: {} }),
      store.removeHeartbeat('i'),
    ];
    for (const write of writes) t.match(await rejection(write), { reason: 'newer_schema' }, 'it is left alone');
    for (let look = 0; look < 20; look += 1) await rejection(store.revision());
    t.ok(calls - before <= 2, 'a store that goes on failing is no news');
    before = calls;
    await giveBack();
    await waitFor('the watch to tell that it is back', () => calls > before);
    t.same(bodies(await store.read()), { 'a/1': { id: '1' } });
  },

  async 'a watch that begins on a store that has just begun to fail tells of it'(t, engine) {
    const place = await engine.start(t);
    const { store } = place;
    await change(store, put('a', '1'));
    const giveBack = await place.takeOver();
    let calls = 0;
    store.watch(() => {
      calls += 1;
    });
    await waitFor('the first call', () => calls > 0);
    await giveBack();
    await waitFor('the watch to tell that it is back', () => calls > 1);
  },

  async 'an emptied store is recognised and put back by the first who tries'(t, engine) {
    const place = await engine.start(t);
    const { store } = place;
    await change(store, put('rule', 'a', 1), put('key', 'k', 2));
    await change(store, put('rule', 'b', 3));
    const before = await store.read();
    const stale = { ...before, revision: 1 };
    t.equal(await store.rewrite(before, stale), false, 'a store that stands elsewhere is not overwritten');
    t.equal(await store.rewrite(before, { ...before, mark: 'other' }), false, 'nor one of another line');
    t.equal(await store.initialise(), before.storeId);
    await place.empty();
    t.match(await store.read(), { storeId: undefined, revision: 0, documents: [] });
    t.same(
      await commitAnyhow(store, { expected: expecting({ rule: 2 }), changes: [remove('rule', 'a')] }),
      { conflict: true },
      'what was read before is outdated',
    );
    await t.rejects(store.rewrite({ ...before, storeId: undefined }, before), TypeError);

    await place.loseId();
    await place.putDocument('rule', 'stray', '{}');
    const over = await store.revision();
    const written = { ...before, revision: 7, mark: 'm', past: new Map([[7, { marks: ['m', 'n'], deleted: [] }]]) };
    const places = [store, place.open(), place.open()];
    const winners = await Promise.all(places.map((each) => each.rewrite(written, over)));
    t.same(winners.filter(Boolean), [true]);
    const after = await store.read();
    t.same(after, written);
    t.match(await commitAnyhow(store, { expected: after.kinds, changes: [put('rule', 'c')] }), {
      revision: after.revision + 1,
    });
  },

  async 'an empty store gets one id'(t, engine) {
    const place = await engine.start(t);
    const stores = [place.store, place.open(), place.open()];
    await place.empty();
    const ids = await Promise.all(stores.map((store) => store.initialise()));
    t.equal(new Set(ids).size, 1);
    t.match(ids[0], /^[0-9a-f-]{36}$/);
    await place.empty();
    await Promise.all(stores.map((store) => change(store, put('a', 'b'))));
    t.match(await stores[0]?.read(), { revision: 3, storeId: /^[0-9a-f-]{36}$/ }, 'the first commit gives one too');
  },

  async 'a store that gives no answer is given up on at the deadline, and works again afterwards'(t, engine) {
    const place = await engine.start(t);
    const store = place.open({ timeoutMs: 200 });
    await change(store, put('a', '1'));
    let calls = 0;
    store.watch(() => {
      calls += 1;
    });
    await waitFor('the watch', () => calls > 0);
    const thaw = await place.freeze();
    const started = performance.now();
    const attempts = Array.from({ length: 300 }, (_, index) => rejection(change(store, put('lost', `${index}`))));
    const errors = await Promise.all(attempts);
    const took = performance.now() - started;
    t.ok(errors.every((error) => error instanceof StoreUnavailable && error.reason === 'timeout'));
    t.ok(took >= 100 && took < 10_000, `all were refused after ${Math.round(took)} ms`);
    await thaw();
    await waitFor('an answer', async () => (await rejection(change(store, put('a', '2')))) === undefined);
    const lost = (await store.read()).documents.filter(({ kind }) => kind === 'lost');
    t.ok(lost.length <= place.mostUnderWay, `at most what was on its way was done: ${lost.length}`);
    const refused = errors.filter((error) => /too many operations wait/.test(String(error)));
    t.ok(refused.length >= 200, `${refused.length} were not even begun`);
    const before = calls;
    await change(place.open(), put('a', '3'));
    await waitFor('the watch to tell again', () => calls > before);
  },

  async 'a closed store rejects, and does not keep its process'(t, engine) {
    const place = await engine.start(t);
    const { store } = place;
    const last = change(store, put('a', '1'));
    await Promise.all([store.close(), store.close()]);
    t.ok(await last, 'what was asked for before is done');
    for (const asked of [
      store.read(),
      change(store, put('a', '2')),
      store.writeHeartbeat({ instance: 'i', atMs: 1, body: 1 }),
    ]) {
      t.match(await rejection(asked), { name: 'StoreUnavailable', reason: 'unreachable', message: /closed/ });
    }
    const visitor = await startWriter(t, place, 'visit');
    t.same(await visitor.exited, { code: 0, signal: null }, visitor.lastLines());
    t.ok(visitor.logs().some(({ msg }) => msg === 'done'));
  },
};

/** Runs every case on this engine. */
export async function testContract(engine: Engine): Promise<void> {
  for (const [claim, run] of Object.entries({
    ...documentCases,
    ...pastCases,
    ...sinceCases,
    ...counterCases,
    ...turnCases,
    ...useCases,
  })) {
    await test(`${engine.name}: ${claim}`, (t) => run(t, engine));
  }
}
