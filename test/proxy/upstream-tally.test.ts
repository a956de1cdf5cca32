// Series of providers and models come and go with the config: nothing that was removed keeps series, and what stayed keeps its counts.
import { test } from 'tap';
import { Exposition } from '../../proxy/tallies/exposition.ts';
import { RequestTally } from '../../proxy/tallies/request-tally.ts';
import { type CountedTarget, UpstreamTally } from '../../proxy/tallies/upstream-tally.ts';
import { readMetric } from '../support/gateway.ts';

const target = (name: string, model: string): CountedTarget => ({ upstream: { name }, model });

async function tallySamples(tally: Pick<UpstreamTally, 'write'>): Promise<string> {
  const exposition = new Exposition();
  await tally.write(exposition);
  return exposition.text();
}

const samplesOf = (text: string): string[] => text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
const attempts = 'gateway_upstream_attempts_total';

await test('a hundred configs with other providers and models leave the series of the last one, and `other`', async (t) => {
  const upstream = new UpstreamTally();
  const requests = new RequestTally();
  const stays = target('stays', 'm');
  for (let config = 0; config < 100; config += 1) {
    const leaves = target(`p${config}`, `m${config}`);
    upstream.keep([stays, leaves, target('stays', `m${config}`)]);
    requests.keep(new Set(['stays', `p${config}`]));
    for (const each of [stays, leaves, target('stays', `m${config}`), target(`p${config - 1}`, 'late')]) {
      upstream.begun(each, 1);
      upstream.ended(each, 'success', 2);
      upstream.charged(each, 3, 4);
      const request = { endpoint: '/v1/chat/completions', stream: true, status: 200, seconds: 2 };
      requests.begin();
      requests.end({ ...request, provider: each.upstream.name });
    }
  }
  const text = `${await tallySamples(upstream)}${await tallySamples(requests)}`;
  const namesIn = (label: string) =>
    new Set([...text.matchAll(new RegExp(`${label}="([^"]*)"`, 'g'))].map(([, name]) => name));
  t.strictSame(namesIn('provider'), new Set(['stays', 'p99', 'other']));
  t.strictSame(namesIn('model'), new Set(['m', 'm99', 'other']));
  t.equal(readMetric(text, attempts, { provider: 'stays', model: 'm', outcome: 'success' }), 100, 'it never restarted');
  t.equal(
    readMetric(text, attempts, { provider: 'other', model: 'other' }),
    100,
    'requests that outlived their target',
  );
  t.equal(readMetric(text, 'gateway_tokens_total', { provider: 'stays', model: 'm', type: 'completion' }), 400);
  t.equal(readMetric(text, 'gateway_upstream_first_byte_seconds_count', { provider: 'other' }), 100);
  t.equal(readMetric(text, 'gateway_requests_total', { provider: 'other' }), 100);
  t.equal(readMetric(text, 'gateway_http_requests_total', { trip: 'model' }), 400, 'of all providers that ever were');
});

await test('a provider that is named like the sum has one series with it', async (t) => {
  const tally = new UpstreamTally();
  tally.keep([target('other', 'other'), target('other', 'm')]);
  for (const each of [target('other', 'other'), target('other', 'm'), target('gone', 'm')]) {
    tally.begun(each, 1);
    tally.ended(each, 'success', 1);
  }
  const samples = samplesOf(await tallySamples(tally)).map((line) => line.replace(/ \S+$/, ''));
  t.equal(new Set(samples).size, samples.length, 'no sample twice');
  t.equal(readMetric(await tallySamples(tally), attempts, { model: 'other', outcome: 'success' }), 2);
});

await test('the failures of a few models are there at 0 from the start; of many models those that were asked', async (t) => {
  const few = new UpstreamTally();
  few.keep([target('p', 'm')]);
  t.equal(readMetric(await tallySamples(few), attempts, { outcome: 'unreachable' }), 0);
  const many = new UpstreamTally();
  many.keep(Array.from({ length: 3_000 }, (_, index) => target('p', `m${index}`)));
  t.strictSame(samplesOf(await tallySamples(many)), []);
  many.ended(target('p', 'm7'), 'timeout', 1);
  t.equal(readMetric(await tallySamples(many), attempts, { model: 'm7', outcome: 'timeout' }), 1);
});

await test('failures of model requests are there at 0 from the start', async (t) => {
  const text = await tallySamples(new RequestTally());
  for (const status of ['500', '502', '503', '504'])
    t.equal(readMetric(text, 'gateway_http_requests_total', { trip: 'model', status }), 0, status);
});

await test('a cost counts for the model that it was asked of, else for the others of its provider', async (t) => {
  const tally = new UpstreamTally();
  tally.keep([target('p', 'm')]);
  for (const [provider, model] of [
    ['p', 'm'],
    ['p', 'passed'],
    ['gone', 'm'],
  ] as const)
    tally.spent({ provider, model, nanoDollars: 5e8 });
  const text = await tallySamples(tally);
  for (const [provider, model] of [
    ['p', 'm'],
    ['p', 'other'],
    ['other', 'other'],
  ] as const)
    t.equal(readMetric(text, 'gateway_cost_dollars_total', { provider, model }), 0.5, `${provider} ${model}`);
});

await test('what did not reach a provider, or was cancelled, says nothing of how long it takes', async (t) => {
  const tally = new UpstreamTally();
  tally.keep([target('p', 'm')]);
  for (const outcome of ['unreachable', 'cancelled', 'success', 'server_error'] as const)
    tally.ended(target('p', 'm'), outcome, 2);
  const text = await tallySamples(tally);
  t.equal(readMetric(text, 'gateway_upstream_duration_seconds_count'), 2);
  const bucket = (le: string) => readMetric(text, 'gateway_upstream_duration_seconds_bucket', { le });
  t.strictSame([bucket('1.5'), bucket('2'), bucket('600')], [0, 2, 2], 'two seconds are told from one and a half');
});
