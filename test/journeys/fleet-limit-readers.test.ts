// Whoever reads a limit of the fleet reads the same figures: headers, /v1/usage, listing, explanation (design section 7).
import { test } from 'tap';
import { ask, usageOf } from '../support/consumer.ts';
import { scenarioStores } from '../support/extent.ts';
import { createGate, startFakeUpstream } from '../support/fake-upstream.ts';
import type { Fleet } from '../support/fleet.ts';
import type { Gateway } from '../support/gateway.ts';
import { listRules } from '../support/operator.ts';
import { shareFleet } from '../support/shared.ts';
import { waitFor } from '../support/wait-for.ts';

/** What a reader says of a rule. */
interface Figures {
  readonly used: unknown;
  readonly remaining: unknown;
}

type Row = Readonly<Record<string, unknown>>;

const used = 7;
const cap = 10;

/** The figures of the fleet, or of one of its proxies, for the cap on requests of /read. */
const readers: readonly [name: string, read: (proxy: Gateway, fleet: Fleet) => Promise<Figures>][] = [
  ['usage', async (proxy) => figuresOf((await usageOf(proxy, '/read')).find(isMinute))],
  ['the listing', async (_, fleet) => figuresOf((await listRules(fleet)).find(isMinute))],
  ['an explanation', async (proxy) => figuresOf((await explained(proxy)).find(isMinute))],
];

function isMinute(row: { readonly period_seconds?: unknown; readonly subject?: unknown }): boolean {
  return row.subject === '/read' && row.period_seconds === 60;
}

function isSlots(row: { readonly period_seconds?: unknown; readonly subject?: unknown }): boolean {
  return row.subject === '/read' && row.period_seconds === 0;
}

function figuresOf(row: object | undefined): Figures {
  const { requests_used, requests_remaining } = (row ?? {}) as Row;
  return { used: requests_used, remaining: requests_remaining };
}

async function explained(proxy: Gateway): Promise<Row[]> {
  const response = await proxy.fetch('/admin/explain?model=fake/fake-small&user_path=/read');
  return ((await response.json()) as { rules: Row[] }).rules;
}

for (const store of scenarioStores) {
  await test(`on ${store}, every reader of a limit says what the fleet has used`, async (t) => {
    const upstream = await startFakeUpstream({ t });
    const limits = [
      { period: 'minute', max_requests: cap },
      { period: 'concurrent', max_requests: 4 },
    ];
    const config = { rate_limits: { scope: 'fleet', user_paths: [{ path: '/read', limits }] } };
    const fleet = await shareFleet({ store, upstream, config });
    const [first, second] = fleet.proxies;
    if (first === undefined || second === undefined) throw new Error('there are two proxies');

    for (let count = 1; count < used; count += 1) await ask(count % 2 === 0 ? first : second, '/read');
    const gate = createGate();
    await upstream.behave({ kind: 'sse', chunks: [gate] });
    const open = ask(first, '/read', { stream: true });
    await upstream.waitFor((ledger) => ledger.some(({ finished }) => !finished));

    for (const [name, read] of readers) {
      for (const proxy of fleet.proxies) {
        const expected = { used, remaining: cap - used };
        let said: Figures | undefined;
        await waitFor(`${name} to say it`, async () => {
          said = await read(proxy, fleet);
          return said.used === used;
        });
        t.same(said, expected, name);
      }
    }

    const row = await waitFor('the slot in the listing', async () => {
      const found = (await listRules(fleet)).find(isSlots) as unknown as Row | undefined;
      return found?.['in_flight'] === 1 && found;
    });
    t.match(row, { counted: 'fleet', replicas: 2, exactness: 'exact', requests_remaining: 3 });
    const minute = await waitFor('the part of each proxy in the listing', async () => {
      const found = (await listRules(fleet)).find(isMinute) as unknown as { proxies: Row[]; held: number };
      const parts = found.proxies.map((part) => `${String(part['instance'])} ${Number(part['requests_used'])}`);
      return parts.join() === 'proxy-1 4,proxy-2 3' && found;
    });
    t.ok(minute.held <= cap - used, 'and no more is held than is left');

    gate.release();
    await open;
    await upstream.behave({ kind: 'openai' });
    const answer = await ask(second, '/read');
    t.equal(answer.headers.get('x-ratelimit-limit-requests'), `${cap}`);
    t.equal(
      answer.headers.get('x-ratelimit-remaining-requests'),
      `${cap - used - 1}`,
      'the headers count this request',
    );
    for (let count = used + 1; count < cap; count += 1) await ask(first, '/read');
    for (const proxy of fleet.proxies) {
      const refused = await ask(proxy, '/read');
      t.equal(refused.status, 429);
      t.equal(refused.headers.get('x-ratelimit-remaining-requests'), '0');
      const [usage] = (await usageOf(proxy, '/read')).filter(isMinute);
      const resetsIn = (usage as unknown as Row)['resets_in_seconds'] as number;
      t.ok(Math.abs(Number(refused.headers.get('retry-after')) - resetsIn) <= 1, 'Retry-After is the reset of usage');
    }
  });
}

/** The six figures of a rule on tokens, and of one on slots, at a reader that shows both. */
const openReaders: readonly [name: string, read: (proxy: Gateway, fleet: Fleet) => Promise<readonly Row[]>][] = [
  ['usage', async (proxy) => (await usageOf(proxy, '/read')) as unknown as Row[]],
  ['the listing', async (_, fleet) => (await listRules(fleet)) as unknown as Row[]],
  ['an explanation', explained],
];

await test('every reader of a limit says what an open request at one proxy has set aside and holds', async (t) => {
  const upstream = await startFakeUpstream({ t });
  const limits = [
    { period: 'minute', max_tokens: 10_000, on_store_loss: 'closed' },
    { period: 'concurrent', max_requests: 4 },
  ];
  const rate_limits = { scope: 'fleet', reserve_tokens: 'max', user_paths: [{ path: '/read', limits }] };
  const fleet = await shareFleet({ store: 'redis', upstream, config: { rate_limits } });
  const [first, second] = fleet.proxies;
  if (first === undefined || second === undefined) throw new Error('there are two proxies');
  const gate = createGate();
  await upstream.behave({ kind: 'sse', chunks: [gate] });
  const open = ask(first, '/read', { stream: true, max_tokens: 4_000 });
  await upstream.waitFor((ledger) => ledger.some(({ finished }) => !finished));
  for (const [name, read] of openReaders) {
    for (const proxy of fleet.proxies) {
      let tokens: Row = {};
      let slots: Row = {};
      await waitFor(`${name} to say it`, async () => {
        const rows = await read(proxy, fleet);
        tokens = rows.find((row) => isMinute(row)) ?? {};
        slots = rows.find((row) => isSlots(row)) ?? {};
        return Number(tokens['tokens_reserved']) >= 4_000 && slots['in_flight'] === 1;
      });
      const reserved = Number(tokens['tokens_reserved']);
      t.equal(tokens['tokens_remaining'], 10_000 - reserved, `${name}: what is set aside does not remain`);
      t.equal(slots['requests_remaining'], 3, `${name}: the free slots`);
    }
  }
  const refused = await ask(second, '/read', { max_tokens: 9_000 });
  t.equal(refused.status, 429);
  t.equal(refused.headers.get('retry-after'), '1', 'the end of a request cannot be foreseen');
  const left = Number(refused.headers.get('x-ratelimit-remaining-tokens'));
  t.ok(left > 5_000 && left <= 6_000, `what the open request has left: ${left}`);
  const row = (await explained(second)).find(isMinute);
  t.match(row, { counted: 'fleet', replicas: 2, exactness: 'exact', on_store_loss: 'closed' });
  t.match((await listRules(fleet)).find(isMinute), { on_store_loss: 'closed', exactness: 'exact' });
  gate.release();
  await open;
});
