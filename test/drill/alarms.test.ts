// A drill tells which alerts a fault sets off and when, from seconds of real scrapes.
import { test } from 'tap';
import { alarmsOf } from './alarms.ts';
import type { Sample } from './series.ts';

const sampleOf = (text: string | undefined): Sample => [
  { job: 'gateway-proxy', instance: 'proxy-1', text: text === undefined ? undefined : `gateway_ready 1\n${text}` },
];
const times = (count: number, textOf: (second: number) => string | undefined): Sample[] =>
  Array.from({ length: count }, (_, second) => sampleOf(textOf(second)));

await test('a gauge keeps its last value', async (t) => {
  const before = times(10, () => 'gateway_config_last_reload_successful 1');
  t.same(alarmsOf(t, { before, during: times(20, () => 'gateway_config_last_reload_successful 1') }), []);
  const [alarm, ...others] = alarmsOf(t, {
    before,
    during: times(20, () => 'gateway_config_last_reload_successful 0'),
  });
  t.match(alarm, { name: 'GatewayConfigRejected', severity: 'ticket' });
  t.ok(alarm !== undefined && alarm.delay >= 60 && alarm.delay <= 90, `after ${alarm?.delay} s`);
  t.same(others, []);
});

await test('a counter grows on as it did', async (t) => {
  const attempts = (outcome: string, count: number): string =>
    `gateway_upstream_attempts_total{provider="primary",model="large",outcome="${outcome}"} ${count}`;
  const textOf = (good: number, bad: number): string => `${attempts('ok', good)}\n${attempts('unauthorized', bad)}`;
  const before = times(10, (second) => textOf(1_000 + 10 * second, 0));
  t.same(alarmsOf(t, { before, during: times(20, (second) => textOf(1_100 + 10 * second, 0)) }), []);
  const during = times(20, (second) => textOf(1_100, 10 * second));
  t.match(alarmsOf(t, { before, during })[0], { name: 'GatewayProviderKeyRefused' });
});

await test('a process that cannot be scraped is down', async (t) => {
  const before = times(10, () => 'gateway_sessions 1');
  const names = alarmsOf(t, { before, during: times(20, () => undefined) }).map(({ name }) => name);
  t.ok(names.includes('GatewayDown'), names.join(', '));
});
