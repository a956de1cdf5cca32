// Several API keys of one provider, from the environment and from files: used in turn, and a refused one left alone, across reloads.
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { t as suite, test } from 'tap';
import { startFakeUpstream } from '../support/fake-upstream.ts';
import { type Gateway, startGateway } from '../support/gateway.ts';
import { temporaryDirectory } from '../support/teardown.ts';
import { waitFor } from '../support/wait-for.ts';

const upstream = await startFakeUpstream({ t: suite });
const [first, second, third] = ['canary-first-0123456789', 'canary-second-0123456789', 'canary-third-0123456789'];
const env = { FIRST: first, SECOND: second, THIRD: third };
const fake = { type: 'openai', base_url: upstream.url, models: upstream.models };
const keys = { api_keys: [`\${FIRST}`, `\${SECOND}`, `\${THIRD}`] };

/** Sends that many requests, and gives the keys that the provider saw, and what the client did. */
async function ask(gateway: Gateway, count: number) {
  const before = upstream.ledger.length;
  const texts: string[] = [];
  for (let index = 0; index < count; index += 1) {
    const body = { model: 'fake/fake-small', messages: [{ role: 'user', content: 'hello' }] };
    texts.push(await (await gateway.fetch('/v1/chat/completions', { method: 'POST', body })).text());
  }
  const bearers = upstream.ledger.slice(before).map((entry) => entry.header('authorization'));
  return { used: new Set(bearers.map((bearer) => bearer?.replace('Bearer ', ''))), text: texts.join('\n') };
}

await test('a refused key rests, also across a reload, with one line in the log and without a trace of it', async (t) => {
  const gateway = await startGateway(t, { config: { providers: { fake: { ...fake, ...keys } } }, env });
  const resting = (key: number) => gateway.metric('gateway_provider_key_resting', { provider: 'fake', key: `${key}` });
  t.same((await ask(gateway, 3)).used, new Set([first, second, third]));
  t.same([await resting(1), await resting(2), await resting(3)], [0, 0, 0]);

  const message = `Incorrect API key provided: ${second}`;
  await upstream.behave((entry) => {
    return entry.header('authorization') === `Bearer ${second}` ? { kind: 'error', status: 401, message } : undefined;
  });
  const refused = await ask(gateway, 3);
  t.ok(refused.used.has(second), 'it had its turn');
  t.same((await ask(gateway, 4)).used, new Set([first, third]));
  t.equal(await resting(2), 1);
  await gateway.applyConfig({ 'gateway.yaml': { providers: { fake: { ...fake, ...keys, stream_usage: false } } } });
  t.same((await ask(gateway, 4)).used, new Set([first, third]), 'a reload does not forget it');

  const lines = gateway.process.logs().filter(({ msg }) => /refuses the API key/.test(String(msg)));
  t.match(lines, [{ level: 'warn', provider: 'fake', key: 2, msg: /number 2 of 3/ }]);
  t.equal(lines.length, 1);
  const seen = [refused.text, ...gateway.process.stdout, ...gateway.process.stderr, await gateway.metrics()];
  t.notMatch(seen.join('\n'), /canary-(first|second|third)/);
  await upstream.behave({ kind: 'openai' });
});

await test('keys in files are used in turn; one that is not there at the start joins when it comes', async (t) => {
  const folder = temporaryDirectory(t, 'api-keys');
  const paths = ['one', 'two'].map((name) => join(folder, name));
  const [one = '', two = ''] = paths;
  writeFileSync(two, second);
  const gateway = await startGateway(t, { config: { providers: { fake: { ...fake, api_key_files: paths } } } });
  t.same((await ask(gateway, 3)).used, new Set([second]));
  t.match(gateway.process.stdout.join('\n'), 'so the provider \\"fake\\" goes without this key until it can be read');
  writeFileSync(one, first);
  await waitFor('the other key', async () => (await ask(gateway, 2)).used.has(first), 2_500);
  rmSync(one);
  await waitFor('the loss', async () => (await gateway.metric('gateway_provider_key_files_unreadable')) === 1, 2_500);
  t.same((await ask(gateway, 4)).used, new Set([first, second]), 'the last key stays in force');
});
