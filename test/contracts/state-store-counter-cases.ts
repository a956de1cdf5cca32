// The contract of the state store about counters and heartbeats, as cases for any engine.

import type { CounterRow } from '../../domain/rules/counter-row.ts';
import { counterPageRows, type StateStore, type StoredCounters } from '../../store/state/state-store.ts';
import { textsOf } from '../support/counter-rows.ts';
import { extent } from '../support/extent.ts';
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

const minuteMs = 60_000;

/** In this order a row is written as a line. */
const membersOfRow: (keyof CounterRow)[] = ['key', 'epoch', 'child', 'periodSeconds', 'requests', 'tokens'];

function inOrder(rows: readonly CounterRow[]): CounterRow[] {
  return rows.toSorted((a, b) => (`${a.key} ${a.child}` < `${b.key} ${b.child}` ? -1 : 1));
}

async function pagesOf(store: StateStore, instance: string): Promise<StoredCounters[]> {
  const pages: StoredCounters[] = [];
  for (let from: string | undefined; pages.length === 0 || from !== undefined; from = pages.at(-1)?.next) {
    pages.push(await store.loadCounters(instance, from));
  }
  return pages;
}

export const counterCases: Readonly<Record<string, Case>> = {
  async 'counters come back as they were written'(t, engine) {
    const place = await engine.start(t);
    const { store } = place;
    const rows = [
      row('a', {
        requests: [
          [1, 1],
          [61, Number.MAX_SAFE_INTEGER],
        ],
        tokens: [[60, 5]],
        epoch: 7,
      }),
      row('b', { child: '/team/x', periodSeconds: 86_400 }),
      row('b', { child: '/team/y' }),
      row('b:c', { child: 'd' }),
      row('b', { child: 'c:d' }),
      row('quote " \u0000 漢 __proto__', { child: '__proto__' }),
    ];
    await store.writeCounters('one', { sequence: 5, nowMs: 0, removed: [], rows: textsOf(rows) });
    await store.writeCounters('two', { sequence: 1, nowMs: 0, removed: [], rows: textsOf([row('a')]) });
    const loaded = await place.open().loadCounters('one');
    t.match(loaded, { sequence: 5, skipped: 0 });
    t.same(inOrder(loaded.rows), inOrder(rows));

    await store.writeCounters('one', {
      sequence: 6,
      nowMs: 0,
      removed: ['b', 'never there'],
      rows: textsOf([row('a', { epoch: 8 }), row('b', { child: '/team/z' }), row('b:c', { child: 'd', requests: [] })]),
    });
    t.same(inOrder((await store.loadCounters('one')).rows), [
      row('a', { epoch: 8 }),
      row('b', { child: '/team/z' }),
      rows.at(-1),
    ]);
    t.same((await store.loadCounters('two')).rows, [row('a')], 'others are left alone');
  },

  async 'a write of counters that is not the latest is refused'(t, engine) {
    const { store } = await engine.start(t);
    const write = (sequence: number, key: string): Promise<void> =>
      store.writeCounters('i', { sequence, nowMs: 0, removed: ['a', 'b'], rows: textsOf([row(key)]) });
    await write(10, 'a');
    for (const sequence of [10, 9, 0, -1, Number.NaN]) {
      const error = await rejection(write(sequence, 'b'));
      t.match(error, { message: /counters of i were refused: write \S+ is not above the stored 10/ }, String(sequence));
    }
    t.same(await store.loadCounters('i'), { sequence: 10, rows: [row('a')], skipped: 0 });
    await write(11, 'b');
    t.same(await store.loadCounters('i'), { sequence: 11, rows: [row('b')], skipped: 0 });
  },

  async 'counters that have left their ring are deleted'(t, engine) {
    const { store } = await engine.start(t);
    // Slices of a minute last a second: slice 100 is in the ring until slice 161 begins, at 161,000 ms.
    const rows = [
      row('old'),
      row('young', { requests: [[101, 1]] }),
      row('tokens', { requests: [], tokens: [[101, 1]] }),
    ];
    await store.writeCounters('i', { sequence: 1, nowMs: 160_999.5, removed: [], rows: textsOf(rows) });
    t.equal((await store.loadCounters('i')).rows.length, 3);
    // Some engines remove them once a minute.
    await store.writeCounters('i', {
      sequence: 2,
      nowMs: 161_000 + minuteMs,
      removed: [],
      rows: textsOf([row('now', { requests: [[222, 1]] })]),
    });
    t.same((await store.loadCounters('i')).rows, [row('now', { requests: [[222, 1]] })]);
    await store.writeCounters('i', { sequence: 3, nowMs: 343_000, removed: [], rows: textsOf([row('late')]) });
    t.same((await store.loadCounters('i')).rows, [], 'one that comes too late too');
  },

  async 'poisoned rows cost only themselves'(t, engine) {
    const place = await engine.start(t);
    const { store } = place;
    await change(store, put('rule', 'good', 1));
    await store.writeCounters('i', { sequence: 1, nowMs: 0, removed: [], rows: textsOf([row('good')]) });
    await store.writeHeartbeat({ instance: 'good', atMs: 1, body: 1 });
    const [good = ''] = textsOf([row('x')]).map(({ counts }) => counts);
    const poison = [
      '',
      'garbage',
      '{"body":',
      '\u0000\u0001',
      '}{',
      'null',
      '[]',
      '1',
      '{"epoch":"0"}',
      good.replace('60', '0'),
      good.replace('60', '1e999'),
      ...['100', '100:', ':1', '100:1:2', '100:1.5', '100:-2', '100:1,', '1e9:1'].map((lane) =>
        good.replace('100:1', lane),
      ),
    ];
    for (const [index, text] of poison.entries()) await place.putCounter('i', 'poison', `${index}`, text);
    for (const [index, text] of poison.slice(0, 5).entries()) {
      await place.putDocument('rule', `poison ${index}`, text);
      await place.putHeartbeat(`poison ${index}`, text);
    }
    await place.putHeartbeat('poison with a NUL', '{}\u0000');
    const state = await store.read();
    t.same(bodies(state), { 'rule/good': 1 });
    t.same(
      state.skipped,
      [0, 1, 2, 3, 4].map((index) => ({ kind: 'rule', id: `poison ${index}` })),
    );
    t.same(await store.loadCounters('i'), { sequence: 1, rows: [row('good')], skipped: poison.length });
    t.same(await store.heartbeats(), [{ instance: 'good', atMs: 1, body: 1 }]);

    await change(store, put('rule', 'poison 0', 2), remove('rule', 'poison 1'));
    await store.writeCounters('i', { sequence: 2, nowMs: 0, removed: ['poison'], rows: [] });
    t.equal((await store.read()).skipped.length, 3, 'writing over it heals');
    t.equal((await store.loadCounters('i')).skipped, 0);
  },

  async 'heartbeats are one for each instance'(t, engine) {
    const place = await engine.start(t);
    const { store } = place;
    const day = 86_400_000;
    await store.writeHeartbeat({ instance: 'b', atMs: 2.7, body: { used: 1 } });
    await store.writeHeartbeat({ instance: 'a', atMs: 5, body: null });
    await place.open().writeHeartbeat({ instance: 'b', atMs: 1, body: { used: 2 } });
    t.same(await store.heartbeats(), [
      { instance: 'a', atMs: 5, body: null },
      { instance: 'b', atMs: 1, body: { used: 2 } },
    ]);
    t.same(await store.heartbeats('b'), [{ instance: 'b', atMs: 1, body: { used: 2 } }], 'asked for one');
    t.same(await store.heartbeats('never there'), []);
    await store.removeHeartbeat('a');
    await store.removeHeartbeat('never there');
    t.same(await store.heartbeats(), [{ instance: 'b', atMs: 1, body: { used: 2 } }]);
    await store.writeHeartbeat({ instance: 'c', atMs: day, body: 0 });
    t.equal((await store.heartbeats()).length, 2);
    await store.writeHeartbeat({ instance: 'c', atMs: day + 1, body: 0 });
    t.same(await store.heartbeats(), [{ instance: 'c', atMs: day + 1, body: 0 }], 'a day of silence is enough');
  },

  async 'counters written by a killed process are whole'(t, engine) {
    const place = await engine.start(t);
    const writer = await startWriter(t, place, 'counters');
    await waitFor('writes', () => lastAcked(writer) >= 20, patienceMs);
    await writer.kill();
    const { sequence, rows, skipped } = await place.store.loadCounters('i');
    t.equal(skipped, 0);
    t.ok(sequence === lastAcked(writer) || sequence === lastAcked(writer) + 1);
    t.same(
      rows.map(({ requests }) => requests[0]?.[1]),
      [sequence, sequence],
    );
  },

  async 'thousands of counters are loaded page by page, each within its deadline'(t, engine) {
    const { store } = await engine.start(t);
    const rows = Array.from({ length: extent(10_000, 3_000) }, (_, index) =>
      row('template', {
        child: `/customers/customer-${index}`,
        requests: Array.from({ length: 20 }, (_slice, slice) => [29_000_000 + slice, 1 + index + slice] as const),
      }),
    );
    const perWrite = 1_000;
    for (let from = 0; from < rows.length; from += perWrite) {
      const portion = rows.slice(from, from + perWrite);
      await store.writeCounters('i', { sequence: from / perWrite + 1, nowMs: 0, removed: [], rows: textsOf(portion) });
    }
    const pages = await pagesOf(store, 'i');
    t.ok(Math.max(...pages.map((page) => page.rows.length)) <= 2 * counterPageRows, 'of a bounded size');
    t.ok(pages.length > 1);
    t.same(new Set(pages.map(({ sequence }) => sequence)), new Set([rows.length / perWrite]));
    const lines = (of: readonly CounterRow[]): string[] => of.map((each) => JSON.stringify(each, membersOfRow)).sort();
    const expected = lines(rows);
    const loaded = lines(pages.flatMap((page) => page.rows));
    t.equal(loaded.length, expected.length);
    // Showing how two lists of so many rows differ takes longer than the test may.
    t.same(loaded.filter((line, index) => line !== expected[index]).slice(0, 3), [], 'each row once');
    await store.writeCounters('i', { sequence: rows.length, nowMs: 0, removed: ['template'], rows: [] });
    t.equal((await store.loadCounters('i')).rows.length, 0);
  },
};
