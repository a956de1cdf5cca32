// Every attempt that a provider has seen is in the record store once, with its cost, whatever is killed while clients come and go.
import { join } from 'node:path';
import { t as suite, test } from 'tap';
import { openRecordStore } from '../../store/records/open-records.ts';
import type { UsageEntry } from '../../store/records/record-store.ts';
import { extent, scenarioStores } from '../support/extent.ts';
import { startFakeUpstream } from '../support/fake-upstream.ts';
import { startFleet } from '../support/fleet.ts';
import { type Gateway, masterKey } from '../support/gateway.ts';
import { Agent, fetch } from '../support/undici.ts';
import { waitFor } from '../support/wait-for.ts';

const calls = extent(20_000, 240);
const clients = 12;
/** One of so many clients leaves at the first byte of its answer. */
const leaving = 5;
/** What a proxy may lose that is killed: its last second. Milliseconds. */
const lossMs = 1_000;
const pricing = { input_per_mtok: 1, output_per_mtok: 2 };

for (const store of scenarioStores) {
  await test(`records on ${store}`, async (t) => {
    const upstream = await startFakeUpstream({ t: suite });
    const models = upstream.models.map((id) => ({ id, pricing }));
    const fake = { type: 'openai', base_url: upstream.url, models, circuit_breaker: false };
    const fleet = await startFleet(t, { store, config: { providers: { fake } } });
    // Streams last long enough to be left.
    await upstream.behave(() => ({ kind: 'openai', pauseMs: 2 }));
    const [first, second] = fleet.proxies as [Gateway, Gateway];
    const agent = new Agent({ connections: clients, pipelining: 1 });
    t.teardown(() => agent.destroy());
    /** When each call was sent to the proxy that is killed. */
    const sentToSecond = new Map<string, number>();
    /** The calls whose answer came to its end. */
    const answered = new Set<string>();
    let killedMs = Number.POSITIVE_INFINITY;

    async function call(number: number): Promise<void> {
      const isSecond = number % 2 === 1;
      const id = `call-${number}`;
      if (isSecond) sentToSecond.set(id, performance.now());
      const body = {
        model: 'fake-small',
        stream: number % 3 === 0,
        messages: [{ role: 'user', content: `Hello ${number}` }],
      };
      const headers = {
        authorization: `Bearer ${masterKey}`,
        'content-type': 'application/json',
        'x-request-id': id,
        'x-gateway-user-path': `/team-${number % 7}`,
      };
      const { url } = isSecond ? second : first;
      const options = { method: 'POST', headers, body: JSON.stringify(body), dispatcher: agent } as const;
      // What a killed proxy does not answer is no matter here.
      const answer = await fetch(`${url}/v1/chat/completions`, options).catch(() => undefined);
      if (number % leaving === 0) await answer?.body?.cancel().catch(() => undefined);
      else if ((await answer?.text().catch(() => undefined)) !== undefined && answer?.ok) answered.add(id);
    }

    const moments: readonly (readonly [number, () => Promise<unknown>])[] = [
      [calls * 0.25, () => fleet.controlPlane.kill().then(() => fleet.restartControlPlane())],
      [
        calls * 0.5,
        () => (fleet.redis === undefined ? Promise.resolve() : fleet.redis.kill().then(() => fleet.redis?.restart())),
      ],
      [
        calls * 0.75,
        async () => {
          killedMs = performance.now();
          await second.process.kill();
          await second.restart();
        },
      ],
    ];
    let next = 0;
    const faults: Promise<unknown>[] = [];
    await Promise.all(
      Array.from({ length: clients }, async () => {
        while (next < calls) {
          const number = next;
          next += 1;
          for (const [moment, strike] of moments) if (number === moment) faults.push(strike());
          await call(number);
        }
      }),
    );
    await Promise.all(faults);

    const idsOf = (): string[] => upstream.ledger.map((entry) => entry.header('x-request-id') ?? '');
    const isExcused = (id: string): boolean => {
      const sentMs = sentToSecond.get(id);
      return sentMs !== undefined && sentMs > killedMs - lossMs && sentMs <= killedMs;
    };
    const records = openRecordStore({ directory: join(fleet.home, 'data') });
    t.teardown(() => records.close());
    const filter = { span: { fromMs: 0, toMs: Number.MAX_SAFE_INTEGER }, cacheMode: 'all' } as const;
    const missing = async (): Promise<string[]> => {
      const { entries } = await records.usageLog(filter, { limit: 100_000, offset: 0 });
      const known = new Set(entries.map(({ request_id }) => request_id));
      return idsOf().filter((id) => !known.has(id) && !isExcused(id));
    };
    await waitFor(
      'every attempt to be stored',
      async () => (await missing()).length === 0,
      extent(60_000, 10_000),
    ).catch(async (error: unknown) => t.same(await missing(), [], String(error)));

    const { entries } = await records.usageLog(filter, { limit: 100_000, offset: 0 });
    const totals = await records.usageTotals(filter);
    const stored = entries.map(({ request_id }) => request_id);
    t.equal(new Set(stored).size, stored.length, 'none is stored twice');
    const asked = new Set(idsOf());
    t.same(
      stored.filter((id) => !asked.has(id)),
      [],
      'none is stored that no provider has seen',
    );
    t.equal(totals.requests, entries.length);
    t.equal(
      totals.total_cost,
      entries.reduce((sum, { total_cost }) => sum + (total_cost ?? 0), 0),
    );
    t.equal(totals.unpriced, 0);
    const seen = new Map(upstream.ledger.map((entry) => [entry.header('x-request-id') ?? '', entry.usage]));
    const wrong = entries.filter((entry) => {
      const usage = seen.get(entry.request_id);
      return entry.source === 'reported' && costOf(entry) !== costOf(usage && { ...usage, ...renamed(usage) });
    });
    t.same(wrong, [], 'what a provider reported is what it cost');
    t.same(
      entries.filter(({ request_id, source }) => answered.has(request_id) && source !== 'reported'),
      [],
      'what came to its end is what the provider reported',
    );
    t.ok(
      entries.some(({ source }) => source === 'partial'),
      'clients that left have used something',
    );
  });
}

type Counted = Pick<UsageEntry, 'input_tokens' | 'output_tokens'>;

/** Nano-dollars at `pricing`. */
function costOf(used: Counted | undefined): number | undefined {
  return (
    used && used.input_tokens * pricing.input_per_mtok * 1000 + used.output_tokens * pricing.output_per_mtok * 1000
  );
}

function renamed({ prompt_tokens, completion_tokens }: { prompt_tokens: number; completion_tokens: number }): Counted {
  return { input_tokens: prompt_tokens, output_tokens: completion_tokens };
}
