// Sessions of shared limits in the store: its time, who is who, who is over, and what a loss of the store is worth.
import { test } from 'tap';
import { exchangeVersion } from '../../../../domain/limits/exchange.ts';
import { isNewer } from '../../../../store/state/limits/book.ts';
import { Book, only, startMs, startSlice } from '../../../support/limit-book.ts';
import { limitGroup, limitItem } from '../../../support/limit-messages.ts';

const key = 'counter';
const item = limitItem(key);

await test('the time of the store never goes back, and goes on with its clock', async (t) => {
  const book = new Book();
  const proxy = book.attach('a');
  proxy.exchange({ items: [limitItem(key, { uses: [[startSlice, 60]] })] });
  book.clockMs = startMs - 3_600_000;
  t.equal(proxy.exchange({}).now, startMs);
  book.clockMs += 61_000 - 1;
  const before = proxy.exchange({ items: [item] });
  t.equal(before.now, startMs + 60_999);
  t.equal(only(before).used, 60, 'the slice is in the trailing minute');
  book.clockMs += 1;
  t.equal(only(proxy.exchange({ items: [item] })).used, 0);
});

await test('an attach that arrives behind one of a later connection changes nothing', async (t) => {
  const book = new Book();
  const proxy = book.attach('a', { connection: 2 });
  proxy.exchange({ items: [limitItem(key, { held: 5 })] });
  t.match(book.attach('a', { connection: 1 }).attached, { session: proxy.session, live: 1 });
  t.equal(proxy.exchange({ items: [limitItem(key, { held: 5 })] }).status, 'done', 'what it holds is still its own');
  t.same(book.look(key), { used: 0, held: 5, oldest: -1, newest: -1, sessions: [['a', 5, 5]] });
});

await test('a clock that steps on buries nobody: an outage ages sessions by one second', async (t) => {
  const book = new Book();
  const [a, b] = [book.attach('a'), book.attach('b')];
  b.exchange({ items: [limitItem(key, { held: 5 })] });
  book.clockMs += 3_600_000;
  t.equal(a.exchange({ beat: true }).live, 2);
  t.equal(b.exchange({}).live, 2);
});

await test('the first exchange counts, its repetition and one of a former connection do not', async (t) => {
  const book = new Book();
  const first = book.attach('a');
  first.exchange({ items: [limitItem(key, { uses: [[startSlice, 1]] })] });
  const again = { sequence: 1, items: [limitItem(key, { uses: [[startSlice, 1]] })] };
  t.same(first.send(again), { status: 'stale' });
  const { attached } = book.attach('a', { connection: 2, session: first.session, generation: 'store of a' });
  t.match(attached, { former: 'known', session: first.session, sequence: 1, recovering: false });
  t.same(first.send({ ...again, sequence: 2 }), { status: 'stale' }, 'it was sent on the first connection');
  t.equal(book.look(key).used, 1);
});

await test('an exchange of a session that the store does not know books nothing', async (t) => {
  const book = new Book();
  const proxy = book.attach('a');
  book.tables.clear();
  t.same(proxy.send({ items: [limitItem(key, { uses: [[startSlice, 1]] })] }), { status: 'unknown' });
  t.equal(book.look(key).used, 0);
});

await test('a session is buried on the first beat after more than ten seconds of silence', async (t) => {
  const book = new Book();
  const [a, b] = [book.attach('a'), book.attach('b')];
  b.exchange({ items: [limitItem(key, { held: 5, uses: [[startSlice, 1]] })] });
  book.pass(10_000, [a]);
  t.same(book.look(key).sessions, [['b', 5, 5]]);
  book.clockMs += 1;
  t.equal(a.exchange({}).live, 2, 'no beat');
  t.equal(a.exchange({ beat: true }).live, 1);
  t.match(book.look(key), { used: 6, held: 0, sessions: [] });
  t.same(b.send({}), { status: 'unknown' });
  const { attached } = book.attach('b', { connection: 2, session: b.session, generation: 'store of a' });
  t.match(attached, { former: 'buried', sequence: 1, recovering: false });
  t.not(attached.session, b.session);
});

await test('what a buried session held counts as used three seconds after its last message', async (t) => {
  const book = new Book();
  const [a, b] = [book.attach('a'), book.attach('b')];
  const slots = limitItem('slots', { period: 0, held: 3 });
  b.exchange({ items: [limitItem(key, { held: 5 }), slots] });
  book.pass(10_001, [a]);
  t.match(book.look(key), { newest: startSlice + 3, oldest: startSlice + 3, used: 5 });
  t.match(book.look('slots'), { used: 0, held: 0 }, 'slots are free');
  book.clockMs = startMs + 63_999;
  t.equal(only(a.exchange({ items: [item] })).used, 5);
  book.clockMs += 1;
  t.equal(only(a.exchange({ items: [item] })).used, 0);
});

await test('another start of the same instance ends the session before at once', async (t) => {
  const book = new Book();
  const first = book.attach('a');
  first.exchange({ items: [limitItem(key, { held: 5 }), limitItem('slots', { period: 0, held: 3 })] });
  book.clockMs += 1_000;
  const second = book.attach('a', { boot: 'next', session: first.session, generation: 'store of a' });
  t.match(second.attached, { former: 'unknown', live: 1, rank: 0 });
  t.match(book.look(key), { used: 5, held: 0, newest: startSlice + 1 }, 'it can have used them until now');
  t.equal(book.look('slots').held, 0);
  t.same(first.send({}), { status: 'unknown' });
});

await test('a clean end leaves the others their places', async (t) => {
  const book = new Book();
  const [a, b, c] = [book.attach('a'), book.attach('b'), book.attach('c')];
  t.match(c.attached, { live: 3, rank: 2 });
  a.detach();
  t.match(c.exchange({}), { live: 2, rank: 1 });
  t.match(b.exchange({}), { live: 2, rank: 0 });
  t.same(a.send({}), { status: 'unknown' });
});

await test('a late goodbye of a former connection ends nothing', async (t) => {
  const book = new Book();
  const first = book.attach('a');
  book.attach('a', { connection: 2, session: first.session, generation: 'store of a' });
  first.detach();
  t.equal(book.attach('b').attached.live, 2);
});

await test('units of a session count from now on when its grave is forgotten', async (t) => {
  const book = new Book();
  const [a, b] = [book.attach('a'), book.attach('b')];
  b.exchange({ items: [limitItem(key, { held: 5 })] });
  book.pass(10_001, [a]);
  const copy = book.tables.copy();
  book.tables.restore({ ...copy, graves: new Map() });
  t.match(book.look(key), { used: 5, held: 0, newest: startSlice + 10 });
});

await test('nothing is granted behind a new run of the server until each session has told', async (t) => {
  const book = new Book();
  const [a, b] = [book.attach('a'), book.attach('b')];
  const asking = { items: [item], groups: [limitGroup(1, [0])] };
  const again = { connection: 2, generation: 'store of a', server: 'run 2', live: 2 };
  const nextA = book.attach('a', { ...again, session: a.session });
  t.match(nextA.attached, { former: 'known', recovering: true });
  t.match(nextA.exchange({ ...asking, told: true }), { recovering: true, admitted: [0] });
  const nextB = book.attach('b', { ...again, session: b.session });
  t.equal(nextB.attached.recovering, true, 'it has attached, not told');
  const used = limitItem(key, { uses: [[startSlice, 7]], held: 3 });
  t.match(nextB.exchange({ items: [used], told: true }), { recovering: false });
  t.match(nextA.exchange(asking), { recovering: false, admitted: [1], answers: [{ used: 7, others: 3, free: 89 }] });
});

await test('a store that was emptied waits for as many proxies as the first one knew, for two seconds at most', async (t) => {
  const book = new Book();
  const a = book.attach('a', { generation: 'former', session: 7, live: 3 });
  t.match(a.attached, { former: 'unknown', recovering: true, generation: 'store of a' });
  const asking = { items: [item], groups: [limitGroup(1, [0])], told: true };
  t.match(a.exchange(asking), { recovering: true, admitted: [0] });
  book.attach('fresh');
  const b = book.attach('b', { generation: 'former', session: 8, live: 3 });
  t.match(
    b.exchange(asking),
    { recovering: true },
    'one that is new does not stand for one that has something to tell',
  );
  book.clockMs += 999;
  a.exchange({});
  book.clockMs += 1_000;
  t.match(a.exchange(asking), { recovering: true, admitted: [0] });
  book.clockMs += 1;
  t.match(a.exchange(asking), { recovering: false, admitted: [1] });
});

await test('a proxy that knew another store makes this one wait for it alone', async (t) => {
  const book = new Book();
  const a = book.attach('a');
  const late = book.attach('late', { generation: 'former', session: 1, live: 1 });
  t.match(late.attached, { recovering: true, former: 'unknown', session: 2 });
  const asking = { items: [item], groups: [limitGroup(1, [0])] };
  t.match(a.exchange(asking), { recovering: true, admitted: [0] });
  t.match(late.exchange({ told: true }), { recovering: false });
  t.match(a.exchange(asking), { recovering: false, admitted: [1] });
});

await test('the numbers of sessions that were lost are given anew, and taken for nobody else', async (t) => {
  const book = new Book();
  book.attach('a');
  const copy = book.tables.copy();
  const lost = book.attach('b');
  book.tables.restore(copy);
  const next = book.attach('c', { server: 'run 2' });
  t.equal(next.session, lost.session);
  const b = book.attach('b', { session: lost.session, generation: 'store of a', server: 'run 2', connection: 2 });
  t.match(b.attached, { former: 'unknown', sequence: 0, session: lost.session + 1 });
});

await test('a store of a newer version is known as such', async (t) => {
  const book = new Book();
  t.equal(isNewer(book.tables), false);
  t.equal(book.attach('a').attached.version, exchangeVersion);
  t.equal(isNewer(book.tables), false);
  const meta = book.tables.meta();
  if (meta !== undefined) meta.version += 1;
  t.equal(isNewer(book.tables), true);
});
