// Requests that wait for the store: in what order they are decided, and how they are asked for.
import { test } from 'tap';
import { Stock } from '../../../../proxy/limits/fleet/stock.ts';
import { groupsAsTold, lackedUnits, type Need, WaitingRequests } from '../../../../proxy/limits/fleet/waiting.ts';

function stockOf(key: string): Stock {
  return new Stock({ key, lane: 'requests', periodSeconds: 60, inUse: 0 }, 0);
}

const [one, other] = [stockOf('one'), stockOf('other')];
const needOf = (stock: Stock, units = 1): Need => ({ stock, units, alone: false });

/** A request that is decided when `isReady` says so, and tells it. */
function add(
  to: WaitingRequests,
  needs: readonly Need[],
  untilMs: number,
  decided: (isLast: boolean) => boolean,
): void {
  to.add({ needs, untilMs, askAtMs: 0, decide: (_nowMs, isLast) => (decided(isLast) ? undefined : needs) });
}

await test('all are decided in the order in which they came, and those that go on waiting keep their places', (t) => {
  const waiting = new WaitingRequests();
  const order: string[] = [];
  let isFull = true;
  for (const name of ['a', 'b', 'c']) {
    add(waiting, [needOf(one)], 250, () => {
      order.push(name);
      return name === 'b' || !isFull;
    });
  }
  waiting.run(1, () => 20);
  isFull = false;
  waiting.run(2, () => 20);
  t.same(order, ['a', 'b', 'c', 'a', 'c']);
  t.equal(waiting.size, 0);
  t.end();
});

await test('a request whose time is over is told that it must be decided', (t) => {
  const waiting = new WaitingRequests();
  add(waiting, [needOf(one)], 250, (isLast) => isLast);
  waiting.expire(249);
  t.equal(waiting.size, 1);
  t.equal(waiting.nextMs(true), 250);
  waiting.expire(250);
  t.equal(waiting.size, 0);
  t.end();
});

await test('requests with the same needs are one group, and those that are to wait are in none', (t) => {
  const waiting = new WaitingRequests();
  const never = (): boolean => false;
  add(waiting, [needOf(one), needOf(other, 5)], 250, never);
  add(waiting, [needOf(one)], 250, never);
  add(waiting, [needOf(one), needOf(other, 5)], 250, never);
  t.same(
    waiting.groups(1).map(({ requests, needs }) => [requests, needs.length]),
    [
      [2, 2],
      [1, 1],
    ],
  );
  waiting.run(1, () => 20);
  t.same(waiting.groups(19), []);
  t.notOk(waiting.isWanting(19));
  t.equal(waiting.groups(20).length, 2);
  t.end();
});

await test('what is spare is kept for the first groups', (t) => {
  const items = [
    { key: 'one', period: 60, cap: 9, held: 3, spare: 3, uses: [], refunds: [], wish: 0, least: 4, dated: false },
  ] as const;
  const groups = [
    { requests: 2, needs: [needOf(one)] },
    { requests: 5, needs: [needOf(one)] },
  ];
  t.same(
    groupsAsTold(groups, items, () => 0).map(({ needs }) => needs[0]?.[2]),
    [2, 1],
  );
  t.end();
});

await test('a counter lacks the units of the smallest request that may not go', (t) => {
  const groups = [
    { requests: 1, needs: [needOf(one, 2)] },
    { requests: 2, needs: [needOf(one, 50)] },
    { requests: 1, needs: [needOf(one, 10), needOf(other, 7)] },
  ];
  t.same(
    [...lackedUnits(groups, [1, 1, 0])],
    [
      [one, 10],
      [other, 7],
    ],
  );
  t.same([...lackedUnits(groups, [1, 2, 1])], []);
  t.end();
});
