// What else goes to a provider and comes back: the query of its address, headers of the client, the provider's id of the request.
import { t as suite, test } from 'tap';
import { type Field, startFakeUpstream } from '../support/fake-upstream.ts';
import { startGateway } from '../support/gateway.ts';

const upstream = await startFakeUpstream({ t: suite });
const azure = {
  type: 'openai',
  base_url: `${upstream.url}/openai?api-version=2024-10-21`,
  api_key: 'canary-key-0123456789',
  models: ['m'],
  forward_headers: ['OpenAI-Organization', 'HTTP-Referer'],
};
const plain = { type: 'openai', base_url: upstream.url, api_key: 'canary-key-0123456789', models: ['m'] };
const gateway = await startGateway(suite, { config: { providers: { azure, plain } } });

async function ask(model: string, headers: Record<string, string> = {}, stream = false) {
  const response = await gateway.fetch('/v1/chat/completions', {
    method: 'POST',
    headers,
    body: { model, stream, messages: [{ role: 'user', content: 'hello' }] },
  });
  return { status: response.status, id: response.headers.get('x-upstream-request-id'), text: await response.text() };
}

await test('the query of base_url stands behind the path of each request', async (t) => {
  await ask('azure/m');
  t.equal(upstream.ledger.at(-1)?.target, '/v1/openai/chat/completions?api-version=2024-10-21');
  await ask('plain/m');
  t.equal(upstream.ledger.at(-1)?.target, '/v1/chat/completions');
});

await test('listed headers of the client reach the provider, and no others', async (t) => {
  const sent = { 'openai-organization': 'org-1', 'HTTP-Referer': 'https://app.test', 'X-Title': 'app', cookie: 'a=b' };
  await ask('azure/m', sent);
  const entry = upstream.ledger.at(-1);
  t.equal(entry?.header('openai-organization'), 'org-1');
  t.equal(entry?.header('http-referer'), 'https://app.test');
  t.same([entry?.header('x-title'), entry?.header('cookie')], [undefined, undefined]);
  await ask('plain/m', sent);
  t.equal(upstream.ledger.at(-1)?.header('openai-organization'), undefined);
});

await test("the client learns the provider's id of its request, from errors, too", async (t) => {
  const answered = async (status: number, headers: Field[]) => {
    await upstream.behave({ kind: 'json', body: status === 200 ? { choices: [] } : { error: {} }, status, headers });
    return (await ask('plain/m')).id;
  };
  for (const status of [200, 400, 500]) {
    for (const name of ['x-request-id', 'request-id', 'apim-request-id'])
      t.equal(await answered(status, [[name, 'req-of-provider']]), 'req-of-provider', `${name} with ${status}`);
  }
  const several: Field[] = [
    ['Apim-Request-Id', 'c'],
    ['Request-Id', 'b'],
    ['X-Request-Id', 'a'],
  ];
  t.equal(await answered(200, several), 'a');
  t.equal(await answered(200, several.slice(0, 2)), 'b');
  t.equal(await answered(200, []), null);
  await upstream.behave({ kind: 'json', body: [], status: 200, headers: [['x-request-id', 'odd-answer']] });
  t.match(await ask('plain/m'), { status: 502, id: 'odd-answer' });
  await upstream.behave({ kind: 'sse', chunks: ['data: [DONE]\n\n'], headers: [['x-request-id', 'of-a-stream']] });
  t.match(await ask('plain/m', {}, true), { status: 200, id: 'of-a-stream' });
});

await test('an id that is too long, no text or holds the key is not passed on', async (t) => {
  for (const id of ['a'.repeat(129), 'a b', 'é', 'id-canary-key-0123456789', '']) {
    for (const status of [200, 500]) {
      await upstream.behave({ kind: 'json', body: { choices: [] }, status, headers: [['x-request-id', id]] });
      t.equal((await ask('plain/m')).id, null, `${id} with ${status}`);
    }
  }
});
