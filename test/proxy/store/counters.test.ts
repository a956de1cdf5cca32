// Counters are kept in a real store: in portions, in order, over failures, and added to what was counted before it could be read.
import { DatabaseSync } from 'node:sqlite';
import { test } from 'tap';
import { createLimiter } from '../../../proxy/limits/limiter.ts';
import { stateFilePath } from '../../../store/state/sqlite/file.ts';
import { counterPageRows } from '../../../store/state/state-store.ts';
import { rowsOf } from '../../support/counter-rows.ts';
import { extent } from '../../support/extent.ts';
import { longestBlock } from '../../support/longest-block.ts';
import { waitFor } from '../../support/wait-for.ts';
import {
  children,
  createBarrier,
  daily,
  directory,
  hourly,
  keep,
  limiterOf,
  openBreakable,
  recordPortions,
  start,
  stored,
  storedRows,
  timeoutMs,
  use,
  usedUnder,
} from './counters-stand.ts';

await test('what is counted is written, found again by a limiter of the same rules, and written once', async (t) => {
  const place = openBreakable();
  const limiter = limiterOf(hourly, daily, children);
  const kept = await keep(limiter, place);
  t.equal(kept.writtenAtMs(), start, 'an empty store was loaded');
  use(limiter, '/x', 3, { tokens: 40 });
  use(limiter, '/c/a/deep', 2, { tokens: 7 });
  await kept.flush();
  t.same(await stored(place), {
    [hourly.key]: [5, 47],
    [daily.key]: [5, 0],
    [`${children.key} /c/a`]: [2, 7],
  });
  t.equal(place.batches.length, 1);
  await kept.flush();
  t.equal(place.batches.length, 1, 'nothing changed, nothing is written');

  const next = limiterOf(hourly, daily, children);
  const nextKept = await keep(next, place);
  t.same(usedUnder(next, '/c/a'), [5, 5, 2]);
  use(next, '/x', 1);
  await nextKept.close();
  t.match(await stored(place), { [hourly.key]: [6, 47], [`${children.key} /c/a`]: [2, 7] });
  t.same(kept.troubles.concat(nextKept.troubles), []);
});

await test('each instance has rows of its own', async (t) => {
  const place = openBreakable();
  const [a, b] = [limiterOf(hourly), limiterOf(hourly)];
  const [keptA, keptB] = [await keep(a, place), await keep(b, place, { instance: 'two' })];
  use(a, '/', 3);
  use(b, '/', 5);
  await Promise.all([keptA.flush(), keptB.flush()]);
  t.same(await stored(place), { [hourly.key]: [3, 0] });
  t.same(await stored(place, 'two'), { [hourly.key]: [5, 0] });
});

await test('thousands of changed children are written by the thousand, and the loop is never blocked for 50 ms', async (t) => {
  const { instance } = openBreakable();
  const { keeping, portions } = recordPortions();
  const limiter = limiterOf(children);
  const kept = await keep(limiter, { keeping, instance }, { nowMs: () => start + 61_000 });
  const count = extent(10_000, 2_000);
  // Every slice of every child holds something: rows do not get longer.
  for (let slice = 1; slice <= 61; slice += 1) {
    for (let child = 0; child < count; child += 1)
      use(limiter, `/c/${child}`, 1, { tokens: 12_345, nowMs: start + slice * 1_000 });
  }
  const blocks: number[] = [];
  for (const round of ['first', 'second', 'third']) {
    for (let child = 0; child < count; child += 1) use(limiter, `/c/${child}`, 1, { tokens: 1, nowMs: start + 61_000 });
    portions.length = 0;
    const startedMs = performance.now();
    const longest = await longestBlock(() => kept.flush());
    const tookMs = performance.now() - startedMs;
    t.comment(`${round} flush: longest block ${longest.toFixed(1)} ms, ${tookMs.toFixed(0)} ms in all`);
    blocks.push(longest);
    t.same(
      portions,
      Array.from({ length: count / 1_000 }, () => 1_000),
    );
    if (longest < 50) break;
  }
  // What the portions take they take every time; a pause of the collector comes and goes.
  t.ok(Math.min(...blocks) < 50, `${Math.min(...blocks).toFixed(1)} ms`);
  t.equal((await storedRows(instance)).length, count);
  t.same(kept.troubles, []);
});

await test('a write that fails is tried again with the same rows and another number', async (t) => {
  const place = openBreakable();
  const limiter = limiterOf(hourly);
  const kept = await keep(limiter, place);
  use(limiter, '/', 3);
  place.next.push('fail', 'fail');
  await kept.flush();
  use(limiter, '/', 4);
  await kept.flush();
  t.same(await stored(place), {});
  t.same(kept.troubles, ['the store is away'], 'said once');
  await kept.flush();
  t.same(await stored(place), { [hourly.key]: [7, 0] }, 'what came meanwhile is written with it');
  t.same(kept.troubles, ['the store is away', undefined]);
  const [first, second, third, last] = place.batches;
  t.same([second?.rows, third?.rows], [first?.rows, first?.rows]);
  t.same(
    place.batches.map(({ sequence }) => sequence),
    [1, 2, 3, 4],
  );
  t.equal(rowsOf(last?.rows ?? [])[0]?.requests[0]?.[1], 7);
});

await test('a write that was done although it seemed to fail does no harm', async (t) => {
  const place = openBreakable();
  const limiter = limiterOf(hourly);
  const kept = await keep(limiter, place);
  use(limiter, '/', 3);
  place.next.push('late');
  await kept.flush();
  t.same(await stored(place), { [hourly.key]: [3, 0] });
  use(limiter, '/', 1);
  await kept.flush();
  t.same(await stored(place), { [hourly.key]: [4, 0] });
  t.same(kept.troubles, ['the store was too slow', undefined]);
});

await test('the last write takes along what changed after a write that failed', async (t) => {
  const place = openBreakable();
  const limiter = limiterOf(hourly);
  const kept = await keep(limiter, place);
  use(limiter, '/', 3);
  place.next.push('fail');
  await kept.flush();
  use(limiter, '/', 2);
  await kept.close();
  t.same(await stored(place), { [hourly.key]: [5, 0] });
});

await test('the last write waits for one under way and takes along what came after it', async (t) => {
  const place = openBreakable();
  const limiter = limiterOf(hourly);
  const kept = await keep(limiter, place);
  const { open, gate } = createBarrier();
  place.gate = gate;
  use(limiter, '/', 3);
  const flushing = kept.flush();
  t.equal(kept.flush(), flushing, 'never two at once');
  await waitFor('the write to begin', () => place.batches.length === 1);
  use(limiter, '/', 2);
  const closing = kept.close();
  t.equal(kept.close(), closing, 'closed once');
  open();
  await closing;
  t.same(await stored(place), { [hourly.key]: [5, 0] });
  t.equal(place.mostAtOnce(), 1);
});

await test('a timer that fires while the store is slow starts no second write', async (t) => {
  const place = openBreakable();
  const limiter = limiterOf(hourly);
  const kept = await keep(limiter, place, { intervalMs: 5 });
  t.teardown(() => kept.close());
  const { open, gate } = createBarrier();
  place.gate = gate;
  use(limiter, '/', 1);
  await waitFor('the write to begin', () => place.batches.length === 1);
  const startedMs = performance.now();
  await waitFor('twenty intervals', () => performance.now() - startedMs > 100);
  t.equal(place.batches.length, 1);
  open();
  use(limiter, '/', 1);
  await waitFor('both to be written', async () => (await stored(place))[hourly.key]?.[0] === 2);
  t.equal(place.mostAtOnce(), 1);
  await kept.close();
  const batches = place.batches.length;
  use(limiter, '/', 1);
  const closedMs = performance.now();
  await waitFor('ten more intervals', () => performance.now() - closedMs > 50);
  t.equal(place.batches.length, batches, 'the timer is gone');
});

await test('removals and changes keep their order over failures', async (t) => {
  const place = openBreakable();
  const limiter = limiterOf(hourly, daily);
  const kept = await keep(limiter, place);
  use(limiter, '/', 5);
  await kept.flush();

  use(limiter, '/', 1);
  place.next.push('fail', 'fail');
  await kept.flush();
  limiter.reconcile([daily]);
  limiter.reconcile([hourly, daily]);
  use(limiter, '/', 2);
  await kept.flush();
  await kept.flush();
  t.same(await stored(place), { [hourly.key]: [2, 0], [daily.key]: [8, 0] }, 'the rule that came back started anew');
  t.same(
    place.batches.slice(-2).map(({ removed, rows }) => [removed, rows.map(({ key }) => key).sort()]),
    [
      [[], [daily.key, hourly.key].sort()],
      [[hourly.key], [daily.key, hourly.key].sort()],
    ],
  );

  place.next.push('fail');
  limiter.reconcile([daily]);
  await kept.flush();
  t.same(place.batches.at(-1)?.removed, [hourly.key]);
  limiter.reconcile([hourly, daily]);
  use(limiter, '/', 1);
  await kept.flush();
  t.same(
    await stored(place),
    { [hourly.key]: [1, 0], [daily.key]: [9, 0] },
    'a removal that failed removes nothing newer',
  );
});

await test('a reset deletes the rows of every child', async (t) => {
  const place = openBreakable();
  const limiter = limiterOf(children);
  const kept = await keep(limiter, place);
  for (const child of ['a', 'b', 'c']) use(limiter, `/c/${child}`, 2);
  await kept.flush();
  t.equal(Object.keys(await stored(place)).length, 3);
  limiter.reconcile([{ ...children, epoch: 1 }]);
  use(limiter, '/c/b', 1);
  await kept.flush();
  t.same(await stored(place), { [`${children.key} /c/b`]: [1, 0] });
  const old = limiterOf(children);
  await keep(old, place);
  t.same(usedUnder(old, '/c/b'), [0], 'a row of another epoch counts nothing');
});

await test('what is loaded late is added to what was counted meanwhile', async (t) => {
  const place = openBreakable();
  const before = limiterOf(hourly, daily, children);
  const keptBefore = await keep(before, place);
  use(before, '/c/a', 5, { tokens: 50 });
  await keptBefore.close();

  const limiter = limiterOf(hourly, daily, children);
  place.next.push('fail', 'fail');
  const kept = await keep(limiter, place);
  t.equal(kept.writtenAtMs(), 0);
  use(limiter, '/c/a', 2, { tokens: 3 });
  use(limiter, '/c/b', 1);
  await kept.flush();
  t.same(usedUnder(limiter, '/c/a'), [3, 3, 2], 'counting goes on without the store');
  t.same(kept.troubles, ['the store is away']);
  await kept.flush();
  t.same(usedUnder(limiter, '/c/a'), [8, 8, 7]);
  t.same(await stored(place), {
    [hourly.key]: [8, 53],
    [daily.key]: [8, 0],
    [`${children.key} /c/a`]: [7, 53],
    [`${children.key} /c/b`]: [1, 0],
  });
  t.same(kept.troubles, ['the store is away', undefined]);
  t.equal(kept.writtenAtMs(), start);
});

await test('a store that comes back just for the last write gets everything', async (t) => {
  const place = openBreakable();
  const before = limiterOf(hourly);
  use(before, '/', 5);
  await (await keep(before, place)).close();
  const limiter = limiterOf(hourly);
  place.next.push('fail');
  const kept = await keep(limiter, place);
  use(limiter, '/', 2);
  await kept.close();
  t.same(await stored(place), { [hourly.key]: [7, 0] });
});

await test('a rule that started anew before its rows could be read does not get them back', async (t) => {
  const place = openBreakable();
  const before = limiterOf(hourly, daily);
  use(before, '/', 5);
  await (await keep(before, place)).close();
  const limiter = limiterOf(hourly, daily);
  place.next.push('fail');
  const kept = await keep(limiter, place);
  limiter.reconcile([daily]);
  limiter.reconcile([hourly, daily]);
  use(limiter, '/', 1);
  await kept.flush();
  t.same(usedUnder(limiter), [1, 6]);
  t.same(await stored(place), { [hourly.key]: [1, 0], [daily.key]: [6, 0] });
});

await test('rows of rules that are gone are deleted at the start, so that they do not come back with the rule', async (t) => {
  const place = openBreakable();
  const before = limiterOf(hourly, daily);
  use(before, '/', 5);
  await (await keep(before, place)).close();
  await keep(limiterOf(daily), place);
  t.same(await stored(place), { [daily.key]: [5, 0] });
  const after = limiterOf(hourly, daily);
  await keep(after, place);
  t.same(usedUnder(after), [0, 5]);
});

await test('a run with limits switched off costs no count', async (t) => {
  const place = openBreakable();
  const before = limiterOf(hourly, daily);
  use(before, '/', 5);
  await (await keep(before, place)).close();
  const off = createLimiter();
  off.reconcile([hourly, daily], { isEnforced: false });
  const kept = await keep(off, place);
  use(off, '/', 3);
  await kept.close();
  t.same(await stored(place), { [hourly.key]: [5, 0], [daily.key]: [5, 0] });
  const after = limiterOf(hourly, daily);
  await keep(after, place);
  t.same(usedUnder(after), [5, 5]);
});

await test('a store that never answers the load does not delay the end', async (t) => {
  const place = openBreakable();
  const limiter = limiterOf(hourly);
  place.next.push('fail', 'fail');
  const kept = await keep(limiter, place);
  use(limiter, '/', 1);
  await kept.close();
  t.same(place.batches, []);
  t.same(await stored(place), {});
  t.same(kept.troubles, ['the store is away']);
});

await test('rows are loaded page by page, and after a failure from the page that failed', async (t) => {
  const place = openBreakable();
  const before = limiterOf(hourly, children);
  const count = 2 * counterPageRows + 7;
  for (let child = 0; child < count; child += 1) use(before, `/c/${child}`, 1);
  await (await keep(before, place)).close();
  const limiter = limiterOf(hourly, children);
  place.next.push('work', 'fail', 'fail');
  const kept = await keep(limiter, place);
  t.same(kept.troubles, ['the store is away']);
  t.ok(limiter.size >= counterPageRows && limiter.size < count, 'the first page was taken');
  await kept.flush();
  await kept.flush();
  t.same(kept.troubles, ['the store is away', undefined]);
  t.equal(limiter.size, count + 1);
  t.same(usedUnder(limiter), [count], 'nothing twice');
  t.same(usedUnder(limiter, '/c/0'), [count, 1]);
});

await test('stored counters that cannot be read are left out, and said', async (t) => {
  const place = openBreakable();
  const before = limiterOf(hourly, daily);
  use(before, '/', 5);
  await (await keep(before, place)).close();
  const file = new DatabaseSync(stateFilePath(directory), { timeout: timeoutMs });
  file
    .prepare("UPDATE counter SET counts = 'garbage' WHERE rule_key = ? AND instance = ?")
    .run(daily.key, place.instance);
  file.close();
  const limiter = limiterOf(hourly, daily);
  const kept = await keep(limiter, place);
  t.same(kept.warnings, ['1 of the stored counters cannot be read and are left out']);
  t.same(usedUnder(limiter), [5, 0]);
});

await test('of stored children no more are taken than may have counters, and none is lost to the rules above them', async (t) => {
  const place = openBreakable();
  const before = limiterOf(hourly, children);
  for (let child = 0; child < 30; child += 1) use(before, `/c/${child}`, 1);
  await (await keep(before, place)).close();
  const limiter = createLimiter();
  limiter.reconcile([hourly, children], { maxChildren: 10 });
  await keep(limiter, place);
  t.equal(limiter.size, 11);
  t.equal(limiter.dropped, 20);
  t.same(usedUnder(limiter), [30]);
});
