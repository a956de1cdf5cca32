// A client that may name its user path names thousands: children beyond the bound share a counter, also after a restart.
import { t as suite, test } from 'tap';
import { usageOf } from '../support/consumer.ts';
import { startGateway } from '../support/gateway.ts';
import { callQuick, startQuickProvider } from '../support/quick-provider.ts';
import { waitFor } from '../support/wait-for.ts';

const quick = await startQuickProvider(suite);
const cap = 20;
const config = (maxChildren: number, seconds: number) => ({
  providers: { quick },
  rate_limits: {
    max_children: maxChildren,
    user_paths: [
      { path: '/crowd', per_child: true, limits: [{ period_seconds: seconds, max_requests: cap }] },
      { path: '/calm', per_child: true, limits: [{ period: 'day', max_requests: 1_000 }] },
    ],
  },
});
const gateway = await startGateway(suite, {
  config: config(100, 3_600),
  env: { GATEWAY_ENTITLEMENTS: 'quota_templates' },
});
const said = (text: string) => gateway.process.stdout.filter((line) => line.includes(text)).length;
const names = (count: number) => Array.from({ length: count }, (_, index) => `/crowd/${index}-${'n'.repeat(900)}`);
const overflowed = async () => (await gateway.metric('gateway_rate_limit_overflowed_requests_total')) ?? 0;

await test('children beyond the bound share one counter; others notice nothing, and it is told once', async (t) => {
  const statuses = await callQuick(gateway.port, names(500));
  t.same([statuses.get(200), statuses.get(429)], [100 + cap, 400 - cap], 'a counter each, then one for all others');
  t.same([...(await callQuick(gateway.port, ['/calm/one', '/calm/two', '/', '/crowd']))], [[200, 4]]);
  t.match(await usageOf(gateway, names(101).at(-1)), [{ requests_used: cap, requests_remaining: 0 }]);
  t.match(await usageOf(gateway, names(1)[0]), [{ requests_used: 1, requests_remaining: cap - 1 }]);
  await waitFor('the scrape to show it', async () => (await overflowed()) === cap);
  t.equal(await gateway.metric('gateway_rate_limit_counters'), 100 + 1 + 2);
  await waitFor('the log line', () => said('further ones share one counter') === 1);
});

await test('a restart takes no more stored counters than there is room for, and says how many it left out', async (t) => {
  await gateway.process.stop();
  gateway.writeConfig({ 'gateway.yaml': config(30, 3_600) });
  await gateway.restart();
  t.equal(await gateway.metric('gateway_rate_limit_counters'), 30 + 1 + 2);
  t.equal(await gateway.metric('gateway_rate_limit_counters_dropped_total'), 70);
  await waitFor('the log line', () => said('70 stored counters of children were left out') === 1);
  t.match(await usageOf(gateway, '/calm/one'), [{ requests_used: 1 }], 'none of another template');
  t.same([...(await callQuick(gateway.port, ['/crowd/newcomer']))], [[429, 1]], 'what is shared is used up still');
});

await test('a child gets its own counter once others are idle', async (t) => {
  await gateway.applyConfig({ 'gateway.yaml': config(5, 2) });
  await callQuick(gateway.port, names(30));
  await waitFor('the log line', () => said('further ones share one counter') === 2);
  await waitFor('it to be over', () => said('have counters of their own again') === 1);
  t.same(
    [
      ...(await callQuick(
        gateway.port,
        Array.from({ length: cap }, () => '/crowd/newcomer'),
      )),
    ],
    [[200, cap]],
  );
  t.equal(said('further ones share one counter'), 2, 'once for each time');
});
