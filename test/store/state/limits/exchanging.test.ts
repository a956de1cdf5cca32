// Counters of shared limits in the store: what is booked, what is granted to whom, and who hears of it.
import { test } from 'tap';
import { Book, only, startMs, startSlice } from '../../../support/limit-book.ts';
import { limitGroup, limitItem } from '../../../support/limit-messages.ts';

const key = 'counter';

await test('uses count in their slice, those from the future now, and those that are over not at all', (t) => {
  const book = new Book();
  const a = book.attach('a');
  const uses = [
    [startSlice - 61, 1],
    [startSlice - 60, 2],
    [startSlice + 9, 4],
  ] as const;
  t.match(only(a.exchange({ items: [limitItem(key, { uses })] })), { used: 6, free: 94, others: 0 });
  t.match(book.look(key), { oldest: startSlice - 60, newest: startSlice });
  t.end();
});

await test('what is held is what was said last, and what was said later is booked beside it', (t) => {
  const book = new Book();
  const [a, b] = [book.attach('a'), book.attach('b')];
  a.exchange({ items: [limitItem(key, { held: 10, spare: 4 })] });
  const said = only(b.exchange({ items: [limitItem(key, { held: 5, spare: 5 })] }));
  t.match(said, { others: 10, othersOpen: 6, free: 85 });
  const used = limitItem(key, { held: 7, spare: 5, uses: [[startSlice, 20]] });
  t.match(only(a.exchange({ items: [used] })), { used: 20, others: 5, free: 68 }, 'all 20, whatever was held');
  t.same(book.look(key), {
    used: 20,
    held: 12,
    oldest: startSlice,
    newest: startSlice,
    sessions: [
      ['a', 7, 2],
      ['b', 5, 0],
    ],
  });
  t.end();
});

await test('a refund is taken from the oldest slices that may count it, and from no other', (t) => {
  const book = new Book();
  const a = book.attach('a');
  const uses = [
    [startSlice - 3, 2],
    [startSlice - 2, 2],
    [startSlice - 1, 2],
    [startSlice, 2],
  ] as const;
  a.exchange({ items: [limitItem(key, { uses })] });
  const refund = limitItem(key, { refunds: [[startSlice - 2, startSlice - 1, 3]] });
  t.equal(only(a.exchange({ items: [refund] })).used, 5);
  t.match(book.look(key), { oldest: startSlice - 3, newest: startSlice });
  const more = limitItem(key, { refunds: [[startSlice - 2, startSlice - 1, 3]] });
  t.equal(only(a.exchange({ items: [more] })).used, 4, 'there is one left in these slices');
  t.end();
});

await test('a refund takes nothing where its use may have left the period, so that no other use is taken for it', (t) => {
  const book = new Book();
  const a = book.attach('a');
  const uses = [
    [startSlice - 60, 1],
    [startSlice - 59, 1],
  ] as const;
  a.exchange({ items: [limitItem(key, { uses })] });
  book.clockMs += 1_000;
  const refund = limitItem(key, { refunds: [[startSlice - 60, startSlice - 59, 1]] });
  t.equal(only(a.exchange({ items: [refund] })).used, 1);
  t.end();
});

await test('the moment that is told is that of the smallest request that may not go', (t) => {
  const book = new Book();
  const a = book.attach('a');
  const uses = [
    [startSlice - 60, 20],
    [startSlice - 50, 75],
  ] as const;
  const groups = [limitGroup(1, [0], 2), limitGroup(1, [0], 50), limitGroup(1, [0], 10)];
  const answer = a.exchange({ items: [limitItem(key, { uses })], groups });
  t.same(answer.admitted, [1, 0, 0]);
  t.equal(only(answer).freeInMs, 1_000, 'for 10 tokens, not for 50');
  t.end();
});

await test('as many requests go as all their counters have room for, and none holds part of what it needs', (t) => {
  const book = new Book();
  const a = book.attach('a');
  const items = [
    limitItem('wide', { cap: 10 }),
    limitItem('narrow', { cap: 2 }),
    limitItem('slots', { cap: 7, period: 0 }),
  ];
  const first = a.exchange({ items, groups: [limitGroup(5, [0, 1]), limitGroup(3, [2]), limitGroup(9, [0, 2])] });
  t.same(first.admitted, [2, 3, 4]);
  t.same(
    first.answers.map(({ granted, free }) => [granted, free]),
    [
      [6, 4],
      [2, 0],
      [7, 0],
    ],
  );
  const held = [limitItem('wide', { cap: 10, held: 6 }), limitItem('narrow', { cap: 2, held: 2 })];
  const second = a.exchange({ items: held, groups: [limitGroup(1, [0, 1])] });
  t.match(second, {
    admitted: [0],
    answers: [
      { granted: 0, free: 4 },
      { granted: 0, free: 0 },
    ],
  });
  t.end();
});

await test('spare units that a session keeps for its requests count for them', (t) => {
  const book = new Book();
  const a = book.attach('a');
  a.exchange({ items: [limitItem(key, { cap: 10, held: 4, spare: 4 })] });
  const kept = { requests: 5, needs: [[0, 2, 4, 0]] as const };
  const answer = a.exchange({ items: [limitItem(key, { cap: 10, held: 4, spare: 4 })], groups: [kept] });
  t.match(answer, { admitted: [5], answers: [{ granted: 6, free: 0 }] });
  t.end();
});

await test('spare units: a part of the cap and of what is free, by the number of sessions', (t) => {
  const book = new Book();
  const a = book.attach('a');
  const asking = limitItem(key, { cap: 1_000, wish: 500 });
  t.equal(only(a.exchange({ items: [asking] })).granted, 100, 'a tenth of the cap');
  const some = { ...asking, held: 100, spare: 40 };
  t.equal(only(a.exchange({ items: [some] })).granted, 60, 'with those it has');
  const [b] = [book.attach('b'), book.attach('c'), book.attach('d')];
  t.equal(only(b.exchange({ items: [asking] })).granted, 25);
  const scarce = limitItem('scarce', { cap: 33, wish: 9 });
  t.equal(only(b.exchange({ items: [scarce] })).granted, 4, 'the least, of 33 free for two times four sessions');
  t.equal(only(a.exchange({ items: [{ ...scarce, wish: 2 }] })).granted, 2, 'no more than is wanted');
  const empty = limitItem('empty', { cap: 7, wish: 9 });
  t.match(only(a.exchange({ items: [empty] })), { granted: 0, free: 7, recallMs: 0 }, 'less than one for each');
  t.end();
});

await test('others are asked to give back, once in 100 ms, and waited for 20 ms', (t) => {
  const book = new Book();
  const [a, b] = [book.attach('a'), book.attach('b')];
  b.exchange({ items: [limitItem(key, { held: 100 })] });
  const asking = { items: [limitItem(key)], groups: [limitGroup(1, [0])] };
  t.match(only(a.exchange(asking)), { recallMs: 20, freeInMs: -1, granted: 0 });
  t.same(book.notices, [{ kind: 'return', key }]);
  book.clockMs += 15;
  t.equal(only(a.exchange(asking)).recallMs, 5);
  book.clockMs += 84;
  t.equal(only(a.exchange(asking)).recallMs, 0);
  t.equal(book.notices.length, 1);
  book.clockMs += 1;
  t.equal(only(a.exchange(asking)).recallMs, 20);
  t.equal(book.notices.length, 2);
  t.end();
});

await test('spare units of others are waited for until they are given back, unless their proxy is silent', (t) => {
  const book = new Book();
  const [a, b] = [book.attach('a'), book.attach('b')];
  const asking = { items: [limitItem(key)], groups: [limitGroup(1, [0])] };
  b.exchange({ items: [limitItem(key, { wish: 25 })] });
  b.exchange({ items: [limitItem(key, { held: 100, spare: 25 })] });
  t.equal(only(a.exchange(asking)).recallMs, 20);
  book.clockMs += 90;
  t.equal(only(a.exchange(asking)).recallMs, 10, 'it is asked again when they are called back again');
  b.exchange({ items: [limitItem(key, { held: 75, uses: [[startSlice, 25]] })] });
  t.match(only(a.exchange(asking)), { recallMs: 0, freeInMs: 60_910 }, 'what is in use does not come back');
  b.exchange({ items: [limitItem(key, { held: 75, spare: 1 })] });
  book.clockMs += 730;
  t.equal(only(a.exchange(asking)).recallMs, 20);
  book.clockMs += 20;
  t.equal(only(a.exchange(asking)).recallMs, 80);
  book.clockMs += 1;
  t.equal(only(a.exchange(asking)).recallMs, 0, 'a proxy that beats no more gives nothing back');
  t.end();
});

await test('units for requests that go are not spare; those that are left, and those granted beside them, are', (t) => {
  const book = new Book();
  const a = book.attach('a');
  const item = limitItem(key, { held: 5, spare: 5, wish: 3 });
  const answer = a.exchange({ items: [item], groups: [{ requests: 2, needs: [[0, 2, 5, 0]] }] });
  t.match(only(answer), { granted: 3, spare: 4 });
  t.match(only(a.exchange({ items: [limitItem(key, { held: 5 })], groups: [limitGroup(3, [0])] })), { spare: 0 });
  t.end();
});

await test('nothing left for sure is 0, and what others hold is not', (t) => {
  const book = new Book();
  const [a, b] = [book.attach('a'), book.attach('b')];
  const uses = [[startSlice - 10, 60]] as const;
  const asking = { items: [limitItem(key, { uses, held: 40 })], groups: [limitGroup(1, [0])] };
  t.match(only(a.exchange(asking)), { recallMs: 0, freeInMs: 51_000 });
  t.same(book.notices, []);
  t.equal(only(a.exchange({ items: [limitItem(key, { held: 40, wish: 1 })] })).recallMs, 0);
  t.match(only(b.exchange({ items: [limitItem(key, { wish: 1 })] })), { recallMs: -1, granted: 0 });
  t.match(only(b.exchange({ items: [limitItem(key)] })), { recallMs: 0, freeInMs: 0 }, 'nothing was wanted');
  t.end();
});

await test('the moment at which the units of a request are free', (t) => {
  const book = new Book();
  const a = book.attach('a');
  const uses = [
    [startSlice - 20, 3],
    [startSlice - 10, 3],
    [startSlice, 94],
  ] as const;
  const item = limitItem(key, { uses });
  t.equal(only(a.exchange({ items: [item], groups: [limitGroup(2, [0], 3)] })).freeInMs, 41_000);
  t.equal(only(a.exchange({ items: [limitItem(key)], groups: [limitGroup(1, [0], 4)] })).freeInMs, 51_000);
  t.equal(only(a.exchange({ items: [limitItem(key)], groups: [limitGroup(1, [0], 101)] })).freeInMs, -1);
  book.clockMs += 41_000;
  t.match(a.exchange({ items: [limitItem(key)], groups: [limitGroup(2, [0], 3)] }), { admitted: [1] });
  t.end();
});

await test('those who were told that nothing is free hear when something is given back', (t) => {
  const book = new Book();
  const [a, b] = [book.attach('a'), book.attach('b')];
  a.exchange({ items: [limitItem(key, { held: 100 })] });
  a.exchange({ items: [limitItem(key, { held: 99 })] });
  t.same(book.notices, [], 'nobody was told');
  b.exchange({ items: [limitItem(key, { held: 1 })] });
  b.exchange({ items: [limitItem(key, { held: 1, wish: 1 })] });
  a.exchange({ items: [limitItem(key, { held: 98, uses: [[startSlice, 1]] })] });
  t.same(book.notices, [], 'a use is no room');
  a.exchange({ items: [limitItem(key, { held: 97 })] });
  t.same(book.notices, [{ kind: 'room', key }]);
  a.exchange({ items: [limitItem(key, { held: 96 })] });
  t.equal(book.notices.length, 1, 'once');
  b.exchange({ items: [limitItem(key, { held: 4, wish: 1 })] });
  b.exchange({ items: [limitItem(key, { held: 4, refunds: [[startSlice, startSlice, 1]] })] });
  t.equal(book.notices.length, 2, 'a refund is room');
  t.end();
});

await test('slots of a buried session are room, and that is told', (t) => {
  const book = new Book();
  const [a, b] = [book.attach('a'), book.attach('b')];
  const slots = limitItem('slots', { period: 0, cap: 2 });
  b.exchange({ items: [{ ...slots, held: 2 }] });
  const asking = { items: [slots], groups: [limitGroup(1, [0])] };
  t.match(a.exchange(asking), { admitted: [0] });
  book.notices.length = 0;
  book.pass(10_001, [a]);
  t.match(a.exchange(asking), { admitted: [1] });
  t.same(book.notices, [{ kind: 'room', key: 'slots' }]);
  t.end();
});

await test('nothing is granted under a cap that was lowered until it is kept', (t) => {
  const book = new Book();
  const a = book.attach('a');
  a.exchange({ items: [limitItem(key, { uses: [[startSlice, 30]], held: 30 })] });
  const lower = limitItem(key, { cap: 50, held: 30, wish: 5 });
  t.match(a.exchange({ items: [lower], groups: [limitGroup(1, [0])] }), { admitted: [0], answers: [{ free: -10 }] });
  t.match(only(a.exchange({ items: [{ ...lower, held: 19 }] })), { granted: 0, free: 1 });
  t.match(a.exchange({ items: [{ ...lower, held: 19 }], groups: [limitGroup(1, [0])] }), { admitted: [1] });
  t.end();
});

await test('slots that are open count beyond the cap, and none is granted until they fit', (t) => {
  const book = new Book();
  const [a, b] = [book.attach('a'), book.attach('b')];
  const slots = limitItem('slots', { period: 0, cap: 4 });
  const asking = { items: [slots], groups: [limitGroup(1, [0])] };
  a.exchange({ items: [{ ...slots, held: 3 }] });
  t.match(only(b.exchange({ items: [{ ...slots, held: 3 }] })), { free: -2, others: 3 });
  t.match(b.exchange({ items: [{ ...slots, held: 2 }], groups: asking.groups }), {
    admitted: [0],
    answers: [{ freeInMs: -1 }],
  });
  t.match(b.exchange({ items: [{ ...slots, held: 0 }], groups: asking.groups }), { admitted: [1] });
  t.end();
});

await test('one request may go without room for all its units when no other is open and the cap is not reached', (t) => {
  const book = new Book();
  const [a, b] = [book.attach('a'), book.attach('b')];
  const item = limitItem(key, { uses: [[startSlice, 90]] });
  const alone = [limitGroup(3, [0], 50, 1)];
  t.match(a.exchange({ items: [limitItem('other'), item], groups: [limitGroup(1, [1], 50)] }), { admitted: [0] });
  t.match(a.exchange({ items: [limitItem(key)], groups: alone }), {
    admitted: [1],
    answers: [{ granted: 10, free: 0 }],
  });
  t.match(b.exchange({ items: [limitItem(key)], groups: alone }), { admitted: [0] }, 'one is open');
  a.exchange({ items: [limitItem(key, { held: 0, uses: [[startSlice, 9]] })] });
  const first = b.exchange({ items: [limitItem(key)], groups: [...alone, ...alone] });
  t.match(first, { admitted: [1, 0], answers: [{ granted: 1 }] });
  b.exchange({ items: [limitItem(key, { held: 0, uses: [[startSlice, 1]] })] });
  t.match(b.exchange({ items: [limitItem(key)], groups: alone }), { admitted: [0] }, 'the cap is reached');
  t.end();
});

await test('a request that needs no unit goes, even over the cap', (t) => {
  const book = new Book();
  const a = book.attach('a');
  const over = limitItem(key, { uses: [[startSlice, 120]] });
  t.match(a.exchange({ items: [over], groups: [limitGroup(2, [0], 0)] }), { admitted: [2] });
  t.end();
});

await test('a counter is forgotten when nobody has spoken of it for as long as it matters', (t) => {
  const book = new Book();
  const a = book.attach('a');
  const uses = [[startSlice, 1]] as const;
  a.exchange({
    items: [
      limitItem('used', { uses }),
      limitItem('held', { held: 1 }),
      limitItem('slot', { period: 0, held: 1 }),
      limitItem('free', { period: 0 }),
    ],
  });
  const present = (afterMs: number): string[] => {
    book.clockMs = startMs + afterMs;
    a.exchange({});
    return ['used', 'held', 'slot', 'free'].filter((name) => book.tables.counter(name) !== undefined);
  };
  t.same(present(19_999), ['used', 'held', 'slot', 'free']);
  t.same(present(80_999), ['used', 'held', 'slot']);
  t.same(present(81_000), ['held', 'slot']);
  t.same(present(3_681_000), ['slot']);
  t.same(present(86_400_000), []);
  t.end();
});
