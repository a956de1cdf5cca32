// Active probes: one proxy of a fleet at a time, and what they find counts in all of them, without requests of clients.
import { t as suite, test } from 'tap';
import { startFakeUpstream } from '../support/fake-upstream.ts';
import { shareFleet, shareGateway } from '../support/shared.ts';
import { waitFor } from '../support/wait-for.ts';

suite.setTimeout(240_000);

const upstream = await startFakeUpstream({ t: suite, models: ['m'] });
const probe = { interval: '100ms', timeout: '300ms' };
const provider = { type: 'openai', base_url: upstream.url, models: ['m'] };
const listings = () => upstream.ledger.filter(({ path }) => path.endsWith('/models'));

/** The value of the first sample whose line begins so; undefined: there is none. */
function sampleOf(text: string, start: string): number | undefined {
  const line = text.split('\n').find((each) => each.startsWith(start));
  return line === undefined ? undefined : Number(line.slice(line.lastIndexOf(' ')));
}

await test('in a fleet one proxy at a time probes a provider, and every proxy knows what it found', async (t) => {
  let open = 0;
  let mostOpen = 0;
  await upstream.behave(() => {
    open = upstream.ledger.filter(({ finished }) => !finished).length;
    mostOpen = Math.max(mostOpen, open);
    return { kind: 'delay', ms: 60, next: { kind: 'json', body: { data: [{ id: 'm' }] } } };
  });
  const fleet = await shareFleet({ store: 'redis', config: { providers: { probed: { ...provider, probe } } } });
  await waitFor('ten probes', () => listings().length >= 10);
  t.equal(mostOpen, 1);
  await waitFor('the status to know it of both', async () => {
    const { proxies } = (await (await fleet.admin('/admin/status')).json()) as {
      proxies: { probes: { provider: string; model: string | null; outcome: string | null }[] }[];
    };
    const said = proxies.flatMap(({ probes }) => probes.map((each) => Object.values(each).slice(0, 3).join()));
    return said.length === 2 && said.every((each) => each === 'probed,,up');
  });
  const texts = await Promise.all(fleet.proxies.map((proxy) => proxy.metrics()));
  for (const text of texts) t.equal(sampleOf(text, 'gateway_probe_up{provider="probed"}'), 1);
  t.equal(sampleOf(texts.join('\n'), 'gateway_requests_total'), undefined, 'no client has asked');
});

await test('a probe of a model closes its open breaker, and no client has to ask', async (t) => {
  let isDown = true;
  await upstream.behave(() => (isDown ? { kind: 'error', status: 500 } : undefined));
  const gateway = await shareGateway({
    config: {
      providers: { probed: { ...provider, api_key: `\${TEST_PROVIDER_KEY}`, probe: { ...probe, model: 'm' } } },
    },
  });
  const breaker = async () => sampleOf(await gateway.metrics(), 'gateway_target_breaker_state{provider="probed"');
  await waitFor('probes that fail to open it', async () => ((await breaker()) ?? 0) > 0);
  isDown = false;
  await waitFor('a probe that goes well to close it', async () => (await breaker()) === 0);
  const asked = upstream.ledger.findLast(({ path }) => path.endsWith('/chat/completions'));
  t.match(asked?.json(), { model: 'm', max_tokens: 1 });
  const text = await gateway.metrics();
  t.ok((sampleOf(text, 'gateway_auxiliary_calls_total{purpose="probes",outcome="answered"}') ?? 0) > 0);
  t.equal(sampleOf(text, 'gateway_probe_up{provider="probed"}'), 1);
});
