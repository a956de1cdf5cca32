// The contract of shared limits as cases for any engine: it answers as the book does, and says when it comes and goes.
import { type Test, test } from 'tap';
import type { LimitNotice } from '../../domain/limits/exchange.ts';
import { attach, detach, exchange, look } from '../../store/state/limits/book.ts';
import type { LimitLine } from '../../store/state/limits/limit-store.ts';
import { extent } from '../support/extent.ts';
import { attachMessage, exchangeMessage, limitGroup, limitItem } from '../support/limit-messages.ts';
import { MemoryTables } from '../support/limit-tables.ts';
import { createRandom } from '../support/random.ts';
import { waitFor } from '../support/wait-for.ts';
import { Heard, type LimitEngine } from './limits-engines.ts';
import { LimitWorld, worldKeys } from './limits-world.ts';
import { rejection } from './state-store-case-tools.ts';

const messages = 250;

/** How often each kind of answer was given. */
type Played = Record<'done' | 'stale' | 'unknown' | 'buried' | 'recovering' | 'admitted', number>;

/** One random world on the engine, through two connections, and on the model: each answer must be the same. */
async function playWorld(t: Test, engine: LimitEngine, seed: number, played: Played): Promise<void> {
  const place = await engine.start(t);
  const random = createRandom(seed);
  const world = new LimitWorld(random);
  const stores = Array.from({ length: 2 }, () => place.open(() => world.nowMs));
  const heard = stores.map((store) => new Heard(store));
  const lines = await Promise.all(heard.map((each) => each.line()));
  const tables = new MemoryTables({ forgets: engine.forgetsByOwnTime });
  const notices: LimitNotice[] = [];
  const compare = (found: unknown, wanted: unknown, what: string): void => {
    if (JSON.stringify(found) !== JSON.stringify(wanted)) t.same(found, wanted, `seed ${seed}, ${what}`);
  };
  for (let step = 0; step < messages; step += 1) {
    const said = world.next();
    const line = lines[Math.floor(random() * 2)] as LimitLine;
    const what = `message ${step}: ${JSON.stringify(said)}`;
    if (said.kind === 'attach') {
      const wanted = attach(tables, said.message, world.nowMs);
      compare(await line.attach(said.message), wanted, what);
      said.taken(wanted.session, wanted.former === 'known' ? wanted.sequence : 0);
      world.knows(wanted.generation);
      if (wanted.former === 'buried') played.buried += 1;
    } else if (said.kind === 'detach') {
      detach(tables, said.message, world.nowMs);
      await line.detach(said.message);
    } else {
      const wanted = exchange(tables, said.message, world.nowMs, (notice) => notices.push(notice));
      compare(await line.exchange(said.message), wanted, what);
      played[wanted.status] += 1;
      if (wanted.status === 'unknown') said.refused();
      if (wanted.status === 'done') {
        said.granted(wanted.answers.map(({ granted }) => granted));
        if (wanted.recovering) played.recovering += 1;
        played.admitted += wanted.admitted.filter((requests) => requests > 0).length;
      }
    }
    if (step % 10 === 0) {
      const wanted = worldKeys.map((key) => look(tables, key, world.nowMs));
      compare(await stores[0]?.look(worldKeys), wanted, `counters after message ${step}`);
    }
    if (!t.passing()) return;
  }
  for (const { lost } of heard) t.same(lost, []);
  for (const [index, line] of lines.entries()) {
    // One that neither holds nor waits need not hear anything.
    const { session } = await line.attach(attachMessage(`last ${index}`));
    await line.exchange(exchangeMessage(session, { items: [limitItem('last', { held: 1 })] }));
    const { notices: found = [] } = heard[index] ?? {};
    await waitFor('all notices', () => found.length >= notices.length);
    t.same(sorted(found), sorted(notices), `seed ${seed}, notices to connection ${index}`);
    await stores[index]?.close();
  }
}

function sorted(notices: readonly LimitNotice[]): string[] {
  return notices.map(({ kind, key }) => `${kind} ${key}`).sort();
}

type LimitCase = (t: Test, engine: LimitEngine) => Promise<void>;

const cases: Readonly<Record<string, LimitCase>> = {
  async 'random proxies are answered as by the book'(t, engine) {
    const seeds = extent(60, engine.seeds);
    const played: Played = { done: 0, stale: 0, unknown: 0, buried: 0, recovering: 0, admitted: 0 };
    for (let seed = 1; seed <= seeds && t.passing(); seed += 1) await playWorld(t, engine, seed, played);
    for (const [kind, times] of Object.entries(played)) t.ok(times >= seeds, `${kind}: ${times} times`);
  },

  async 'the clock of the engine is that of this machine, in whole milliseconds'(t, engine) {
    const place = await engine.start(t);
    const line = await new Heard(place.open()).line();
    const before = Date.now();
    const { now } = await line.attach(attachMessage('a'));
    t.ok(Number.isInteger(now) && now >= before && now <= Date.now(), String(now));
  },

  async 'what is told reaches every listener while it holds something or waits, and no other key'(t, engine) {
    const place = await engine.start(t);
    const [one, other] = [new Heard(place.open()), new Heard(place.open())];
    const [first, second] = [await one.line(), await other.line()];
    const { session: a } = await first.attach(attachMessage('a'));
    const { session: b } = await second.attach(attachMessage('b'));
    await second.exchange(
      exchangeMessage(b, { items: [limitItem('k', { held: 100 }), limitItem('quiet', { held: 1 })] }),
    );
    const asking = { items: [limitItem('k')], groups: [limitGroup(1, [0])] };
    await first.exchange(exchangeMessage(a, asking));
    for (const { notices } of [one, other]) {
      await waitFor('the call to give back', () => notices.length > 0);
      t.same(notices, [{ kind: 'return', key: 'k' }]);
    }
    await second.exchange(exchangeMessage(b, { sequence: 2, items: [limitItem('k', { held: 90 })] }));
    for (const { notices } of [one, other]) {
      await waitFor('the news of room', () => notices.length > 1);
      t.same(notices.at(-1), { kind: 'room', key: 'k' });
    }
  },

  async 'a store that is emptied makes itself known by another generation'(t, engine) {
    const place = await engine.start(t);
    const heard = new Heard(place.open());
    const line = await heard.line();
    const former = await line.attach(attachMessage('a'));
    await line.exchange(exchangeMessage(former.session, { items: [limitItem('k', { held: 5 })] }));
    await place.empty();
    const said = await line
      .exchange(exchangeMessage(former.session, { sequence: 2 }))
      .catch(() => ({ status: 'lost' }));
    t.match(said.status, /^(unknown|lost)$/);
    const next = said.status === 'lost' ? await heard.line(2) : line;
    const knows = { session: former.session, generation: former.generation, live: 1, connection: 2 };
    const again = await next.attach(attachMessage('a', { ...knows, fresh: 'new', server: next.server }));
    t.match(again, { generation: 'new', former: 'unknown', recovering: true });
  },

  async 'a store that recovers is not told by a proxy that is new'(t, engine) {
    const place = await engine.start(t);
    const line = await new Heard(place.open()).line();
    const knew = { session: 7, generation: 'former', live: 3 };
    const a = await line.attach(attachMessage('a', knew));
    await line.exchange(exchangeMessage(a.session, { told: true }));
    await line.attach(attachMessage('new'));
    const b = await line.attach(attachMessage('b', knew));
    const told = await line.exchange(exchangeMessage(b.session, { told: true }));
    t.match(told, { recovering: true }, 'the third one that was known has not told');
    const c = await line.attach(attachMessage('c', knew));
    t.match(await line.exchange(exchangeMessage(c.session, { told: true })), { recovering: false });
  },

  async 'a store that was opened answers nothing after its end, and opens nothing'(t, engine) {
    const place = await engine.start(t);
    const store = place.open();
    const heard = new Heard(store);
    const line = await heard.line();
    await store.close();
    t.match(await rejection(line.attach(attachMessage('a'))), { name: 'StoreUnavailable', reason: 'unreachable' });
    t.match(await rejection(store.look(['60:k'])), { name: 'StoreUnavailable' });
    t.same(heard.lost, [], 'it was closed, not lost');
  },

  async 'counters that nobody has spoken of are empty'(t, engine) {
    const place = await engine.start(t);
    const empty = { used: 0, held: 0, oldest: -1, newest: -1, sessions: [] };
    t.same(await place.open().look(['60:a', '0:b']), [empty, empty]);
  },
};

export async function testLimits(engine: LimitEngine): Promise<void> {
  for (const [claim, run] of Object.entries(cases)) await test(`${engine.name}: ${claim}`, (t) => run(t, engine));
}
