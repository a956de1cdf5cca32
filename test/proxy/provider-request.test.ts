// What else goes to a provider and comes back: the query of its address, headers of the client, the provider's id of the request.
import { t as suite, test } from 'tap';
import { type Field, startFakeUpstream } from '../support/fake-upstream.ts';
import { shareGateway } from '../support/shared.ts';

const upstream = await startFakeUpstream({ t: suite });
const azure = {
  type: 'openai',
  base_url: `${upstream.url}/openai?api-version=2024-10-21`,
  api_key: 'canary-key-0123456789',
  models: ['m'],
  forward_headers: ['OpenAI-Organization', 'HTTP-Referer'],
};
const plain = { type: 'openai', base_url: upstream.url, api_key: 'canary-key-0123456789', models: ['m'] };
const gateway = await shareGateway({ config: { providers: { azure, plain } } });

async function ask(model: string, headers: Record<string, string> = {}, stream = false) {
  const response = await gateway.fetch('/v1/chat/completions', {
    method: 'POST',
    headers,
    body: { model, stream, messages: [{ role: 'user', content: 'hello' }] },
  });
  const { headers: told, status } = response;
  return { status, headers: told, id: response.headers.get('x-upstream-request-id'), text: await response.text() };
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
    for (const name of ['x-request-id', 'request-id', 'apim-request-id', 'x-amzn-requestid'])
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
  await upstream.behave({
    kind: 'sse',
    chunks: ['data: {"choices":[{"delta":{"content":"a"}}]}\n\ndata: [DONE]\n\n'],
    headers: [['x-request-id', 'of-a-stream']],
  });
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

await test('headers that clients of the provider read come with its answers and its errors, without its key', async (t) => {
  const told: Field[] = [
    ['OpenAI-Processing-Ms', '17'],
    ['openai-version', '2020-10-01'],
    ['openai-organization', 'org-1'],
    ['anthropic-organization-id', 'org-2'],
    ['Server-Timing', 'queue;dur=1'],
    ['server-timing', 'model;dur=2'],
  ];
  const expected = {
    'openai-processing-ms': '17',
    'openai-version': '2020-10-01',
    'openai-organization': 'org-1',
    'anthropic-organization-id': 'org-2',
    'server-timing': 'queue;dur=1, model;dur=2',
  };
  const answered = async (status: number, headers: Field[], stream = false) => {
    const body = status === 200 ? { choices: [] } : { error: {} };
    await upstream.behave(
      stream
        ? { kind: 'sse', chunks: ['data: {"choices":[]}\n\n', 'data: [DONE]\n\n'], headers }
        : { kind: 'json', body, status, headers },
    );
    return Object.fromEntries((await ask('plain/m', {}, stream)).headers);
  };
  for (const status of [200, 400, 503]) t.match(await answered(status, told), expected, `status ${status}`);
  t.match(await answered(200, told, true), expected, 'a stream');
  const telling = await answered(200, [['openai-organization', `org of ${plain.api_key}`]]);
  t.notOk('openai-organization' in telling, 'a header with the key of the provider is left out');
});
