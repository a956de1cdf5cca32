// Stored responses as the proxy sees them, on a real store: whose they are, for how long, and which ids there can be.
import { type Test, test } from 'tap';
import { type KeptResponses, keepResponses } from '../../proxy/kept/kept-responses.ts';
import { openStateStore } from '../../store/state/open.ts';
import { temporaryDirectory } from '../support/teardown.ts';

const hour = 3_600_000;

interface Stand {
  readonly responses: KeptResponses;
  readonly clock: { nowMs: number };
  readonly settings: { isEnabled: boolean; ttlMs: number };
}

function start(t: Test, item?: number): Stand {
  const clock = { nowMs: 1_700_000_000_000 };
  const nowMs = (): number => clock.nowMs;
  const keptLimits = item === undefined ? {} : { item };
  const store = openStateStore({ directory: temporaryDirectory(t), nowMs, keptLimits, timeoutMs: 10_000 });
  t.teardown(() => store.close());
  const settings = { isEnabled: true, ttlMs: hour };
  return { responses: keepResponses({ kept: store.kept, nowMs, settings: () => settings }), clock, settings };
}

await test('a response is found as it was kept, by its user path alone, until its time is over', async (t) => {
  const { responses, clock, settings } = start(t);
  const record = { id: 'resp_1', output: [{ text: 'é 漢' }], none: null };
  t.equal(await responses.keep(record, { id: 'resp_1', owner: '/team', providerName: 'openai' }), true);
  t.same(await responses.find('resp_1', '/team'), { record, providerName: 'openai' });
  t.equal(await responses.find('resp_1', '/team/app'), undefined);
  t.equal(await responses.forget('resp_1', '/'), false);
  settings.ttlMs = 2 * hour;
  await responses.keep({}, { id: 'resp_2', owner: '/team' });
  clock.nowMs += hour;
  t.equal(await responses.find('resp_1', '/team'), undefined);
  t.same(await responses.find('resp_2', '/team'), { record: {}, providerName: undefined }, 'a new ttl is for new ones');
  t.equal(await responses.forget('resp_2', '/team'), true);
  t.equal(await responses.find('resp_2', '/team'), undefined);
});

await test('the provider that keeps a response is remembered, and forgotten with it', async (t) => {
  const { responses, clock, settings } = start(t);
  settings.isEnabled = false;
  t.equal(await responses.keep({}, { id: 'resp_a', owner: '/' }), false);
  t.equal(await responses.find('resp_a', '/'), undefined);
  const home = { provider: 'azure', key: 'a1b2' };
  for (const id of ['resp_a', 'resp_b']) t.equal(await responses.remember(id, { ...home, owner: '/' }), true);
  t.same(await responses.homeOf('resp_a', '/'), home);
  t.equal(await responses.homeOf('resp_a', '/team'), undefined);
  t.equal(await responses.forget('resp_a', '/'), true);
  t.equal(await responses.homeOf('resp_a', '/'), undefined);
  clock.nowMs += hour;
  t.equal(await responses.homeOf('resp_b', '/'), undefined);
});

await test('what is no id of a response, or is too large, is not kept', async (t) => {
  const { responses } = start(t, 1_000);
  const ids = ['resp_', 'msg_1', 'resp_a/b', 'resp_a\n', `resp_${'x'.repeat(129)}`, 'Resp_1', 'resp_é', ''];
  for (const id of ids) {
    t.equal(await responses.keep({}, { id, owner: '/' }), false, JSON.stringify(id));
    t.equal(await responses.remember(id, { provider: 'p', key: '', owner: '/' }), false);
    t.equal(await responses.find(id, '/'), undefined);
    t.equal(await responses.homeOf(id, '/'), undefined);
    t.equal(await responses.forget(id, '/'), false);
  }
  const longest = `resp_${'aZ0_-x'.repeat(22).slice(0, 128)}`;
  t.equal(await responses.keep({}, { id: longest, owner: '/' }), true);
  t.equal(await responses.keep({ text: 'x'.repeat(1_000) }, { id: 'resp_1', owner: '/' }), false);
});
