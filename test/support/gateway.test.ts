// startGateway starts a real gateway, edits its config and reads its state.
import { existsSync, readdirSync } from 'node:fs';
import { test } from 'tap';
import { startFakeUpstream } from './fake-upstream.ts';
import { masterKey, providerKey, readMetric, startGateway } from './gateway.ts';

const body = { model: 'fake/fake-small', messages: [{ role: 'user', content: 'hello' }] };

await test('a gateway in front of the fake upstream answers', async (t) => {
  const upstream = await startFakeUpstream({ t });
  const gateway = await startGateway(t, { upstream, config: { server: { shutdown_grace: '1s' } } });
  t.same(readdirSync(gateway.configDir).sort(), ['gateway.yaml', 'providers.yaml']);

  const response = await gateway.fetch('/v1/chat/completions', { method: 'POST', body });
  t.equal(response.status, 200);
  t.match(await response.json(), { object: 'chat.completion', usage: upstream.ledger[0]?.usage });
  t.equal(upstream.ledger.length, 1);
  t.equal(upstream.ledger[0]?.header('authorization'), `Bearer ${providerKey}`, 'with the key of the provider');
  t.same(upstream.malformed, []);

  const stream = await gateway.fetch('/v1/chat/completions', { method: 'POST', body: { ...body, stream: true } });
  t.match(await stream.text(), /data: \[DONE\]\n\n$/);

  const anonymous = await gateway.fetch('/v1/models', { headers: { authorization: '' } });
  t.equal(anonymous.status, 401);
  await anonymous.text();

  t.equal(await gateway.metric('gateway_requests_total', { provider: 'fake', status: '200' }), 2);
  t.equal(await gateway.metric('gateway_no_such_metric'), undefined);
});

await test('an applied config is live, also after a restart', async (t) => {
  const upstream = await startFakeUpstream({ t });
  const gateway = await startGateway(t, { upstream });
  const status = async () => {
    const response = await gateway.fetch('/v1/chat/completions', { method: 'POST', body: { ...body, model: 'short' } });
    await response.text();
    return response.status;
  };
  t.equal(await status(), 404);
  await gateway.applyConfig({ 'aliases.yaml': { aliases: [{ source: 'short', target: 'fake/fake-small' }] } });
  t.equal(await status(), 200);
  await gateway.applyConfig({ 'aliases.yaml': null });
  t.equal(await status(), 404);

  gateway.writeConfig({ 'aliases.yaml': 'aliases: [{ source: short, target: fake/fake-small }]\n' });
  const { pid } = gateway.process;
  await gateway.restart();
  t.not(gateway.process.pid, pid);
  t.equal(await status(), 200);
});

await test('a start that is meant to fail can be watched', async (t) => {
  const gateway = await startGateway(t, { config: 'providers: 7\n', ready: 'spawned' });
  t.match(await gateway.process.exited, { code: 1 });
  t.match(gateway.process.stderr.join('\n'), /gateway\.yaml:1:\d+/);
});

await test('nothing stays when a test ends', async (t) => {
  let left = { configDir: '', pid: 0 };
  await t.test('inside', async (inner) => {
    const upstream = await startFakeUpstream({ t: inner });
    const gateway = await startGateway(inner, { upstream });
    left = { configDir: gateway.configDir, pid: gateway.process.pid };
    t.equal(gateway.masterKey, masterKey);
  });
  t.notOk(existsSync(left.configDir));
  t.throws(() => process.kill(left.pid, 0), { code: 'ESRCH' });
});

await test('metric samples are summed over the labels that are not named', (t) => {
  const text = [
    '# TYPE a_total counter',
    'a_total{x="1",y="a\\"}b"} 2',
    'a_total{x="1",y="c"} 3',
    'a_total{x="2",y="c"} 10',
    'a_total_other 1',
    'plain 1.5e3',
  ].join('\n');
  t.equal(readMetric(text, 'a_total'), 15);
  t.equal(readMetric(text, 'a_total', { x: '1' }), 5);
  t.equal(readMetric(text, 'a_total', { y: 'c', x: '2' }), 10);
  t.equal(readMetric(text, 'plain'), 1500);
  t.equal(readMetric(text, 'a_total', { x: '3' }), undefined);
  t.end();
});
