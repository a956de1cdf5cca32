// What one proxy holds of a counter: when it is wanted, given back, dry, and what is told of it.
import { test } from 'tap';
import { Stock } from '../../../../proxy/limits/fleet/stock.ts';

const nothingSaid = {
  granted: 0,
  spare: 0,
  free: 0,
  used: 0,
  others: 0,
  othersOpen: 0,
  freeInMs: 0,
  recallMs: 0,
  oldest: -1,
  newest: -1,
};
const asked = { wish: 0, cap: 1_000, units: 1 };

function stockOf(lane: 'requests' | 'tokens' = 'requests', inUse = 0): Stock {
  const stock = new Stock({ key: 'key', lane, periodSeconds: 1, inUse }, 0);
  stock.cap = 1_000;
  return stock;
}

await test('an idle stock is given back and asks for nothing more', (t) => {
  const stock = stockOf();
  stock.note(1, 0);
  stock.tell(100, 1);
  stock.take({ ...nothingSaid, granted: 4 }, asked, 101, undefined);
  const { item } = stock.tell(5_000, 1);
  t.match(item, { held: 0, wish: 0 });
  t.end();
});

await test('demand is forgotten without a request, though nothing is told', (t) => {
  const stock = new Stock({ key: 'key', lane: 'requests', periodSeconds: 60, inUse: 0 }, 0);
  stock.cap = 1_000;
  stock.note(100, 0);
  stock.tell(100, 1);
  stock.take({ ...nothingSaid, granted: 500 }, asked, 101, undefined);
  t.notOk(stock.hasSurplus(101));
  t.ok(stock.hasSurplus(3_000), 'others may want it');
  t.end();
});

await test('what the store said of large requests does not hide that a small one has waited in vain', (t) => {
  const stock = stockOf('tokens');
  stock.take({ ...nothingSaid, freeInMs: 5_000 }, { ...asked, units: 100 }, 0, 5_000);
  t.match(stock, { dryUntilMs: 5_000, dryUnits: 100 });
  stock.timeOut(10, 250);
  t.match(stock, { dryUntilMs: 251, dryUnits: 10 });
  t.end();
});

await test('what the store said of the same requests is kept when one has waited in vain', (t) => {
  const stock = stockOf('tokens');
  stock.take({ ...nothingSaid, freeInMs: 5_000 }, { ...asked, units: 10 }, 0, 5_000);
  stock.timeOut(10, 250);
  t.equal(stock.dryUntilMs, 5_000);
  t.end();
});

await test('tokens beyond what was held are told though the session was buried', (t) => {
  const stock = stockOf('tokens');
  stock.take({ ...nothingSaid, granted: 10 }, asked, 0, undefined);
  stock.hold(10);
  stock.use(25, 7, true);
  stock.release(10, true);
  stock.bury();
  t.same(stock.tell(10, 1).item.uses, [[7, 15]]);
  t.end();
});

await test('tokens beyond what was held are told as such, so that they are told again to a store that buried the session', (t) => {
  const stock = stockOf('tokens');
  stock.take({ ...nothingSaid, granted: 10 }, asked, 0, undefined);
  stock.hold(10);
  stock.use(25, 7, true);
  stock.release(10, true);
  t.match(stock.tell(10, 1).told, { covered: [[7, 10]], uncovered: [[7, 15]] });
  t.end();
});

await test('what open requests hold is held, and not spare', (t) => {
  const stock = stockOf('tokens', 3);
  stock.take({ ...nothingSaid, granted: 10 }, asked, 0, undefined);
  stock.hold(6);
  t.match(stock.tell(1, 1).item, { held: 13, spare: 4 });
  stock.release(6, false);
  t.match(stock.tell(2, 1).item, { held: 7, spare: 4 });
  t.end();
});

await test('a use that was not told is taken back at once, one that was told with the next exchange', (t) => {
  const stock = stockOf();
  stock.take({ ...nothingSaid, granted: 2 }, asked, 0, undefined);
  stock.use(1, 7, true);
  stock.refund(1, 6, 7, true);
  t.match(stock, { units: 2, untold: 0 });
  stock.use(1, 7, true);
  stock.tell(1, 1);
  stock.refund(1, 6, 7, false);
  t.same(stock.tell(2, 1).item.refunds, [[6, 7, 1]]);
  t.equal(stock.units, 1);
  t.end();
});

await test('beyond what two seconds of demand need, units are given back; at a recall all', (t) => {
  const stock = stockOf();
  stock.take({ ...nothingSaid, granted: 500 }, asked, 0, undefined);
  stock.use(20, 7, true);
  stock.note(20, 100);
  t.equal(stock.tell(100, 1).item.spare, 200, 'of a demand of 100 a second');
  t.equal(stock.tell(600, 1).item.spare, 74, 'which is forgotten meanwhile');
  stock.isRecalled = true;
  t.match(stock.tell(510, 1).item, { spare: 0, wish: 0 });
  t.end();
});

await test('what was granted under a higher cap is given back unused', (t) => {
  const stock = stockOf();
  stock.note(1, 0);
  stock.tell(100, 1);
  stock.take({ ...nothingSaid, granted: 4, free: 900 }, asked, 101, undefined);
  stock.tell(102, 1);
  stock.changeCap(50);
  t.match(stock, { units: 0, view: { free: -50 }, isWanted: true }, 'nothing spare is left, and nothing is free');
  stock.take({ ...nothingSaid, granted: 4 }, asked, 103, undefined);
  t.equal(stock.units, 0, 'what the store granted before it heard of the cap is left');
  t.match(stock.tell(104, 1).item, { cap: 50, held: 0 }, 'and the store hears that it is not held');
  t.end();
});
