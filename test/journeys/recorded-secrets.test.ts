// Secrets that are sent in every way there is stand in no record, no line of the log and no metric, with bodies and headers recorded.
import { t as suite, test } from 'tap';
import { startFakeRealtime } from '../support/fake-realtime.ts';
import { type Behaviour, startFakeUpstream } from '../support/fake-upstream.ts';
import { providerKey, startGateway } from '../support/gateway.ts';
import { journaled, journalText } from '../support/journal.ts';
import { openSession } from '../support/realtime-client.ts';
import { waitFor } from '../support/wait-for.ts';

const upstream = await startFakeUpstream({ t: suite });
const voice = await startFakeRealtime(suite);
/** Has no form that is known: only the configuration tells that it is one. */
const plainKey = 'q7w8e9r0t1y2u3i4';
const masterKey = 'the-master-key-of-the-canaries-42';
const shared = { type: 'openai', circuit_breaker: false, learn_limits: false };
const gateway = await startGateway(suite, {
  env: { GATEWAY_MASTER_KEY: masterKey },
  config: {
    server: { access_log: 'all' },
    audit: { bodies: true, headers: true },
    providers: {
      fake: {
        ...shared,
        base_url: upstream.url,
        api_key: `\${TEST_PROVIDER_KEY}`,
        models: ['fake-small'],
        dialects: ['chat', 'audio'],
      },
      plain: { ...shared, base_url: upstream.url, api_key: plainKey, models: ['plain'] },
      voice: { ...shared, base_url: voice.url, api_key: plainKey, models: ['gpt-realtime'], dialects: ['realtime'] },
    },
  },
});

const canaries = {
  'an unknown key': 'sk-gw-canary0000000000000001',
  'a cookie': 'session=canary-of-the-cookie-02',
  'a header of a token': 'canary-without-a-form-03',
  'the value of any header': 'sk-ant-api03-canary00000004',
  'the user agent': 'AKIACANARY0000000005',
  'a parameter of a query': 'canary-of-the-query-06',
  'a path': 'ghp_canary0000000000000000000007',
  'a message': 'xoxb-canary0000-00000008',
  'a message with escapes': 'AIzaCanary000000000000000009',
  'a token in a message': 'eyJhbGciOiJIUzI1NiJ9.eyJjYW5hcnkiOiIxMCJ9.c2lnbmF0dXJl',
  'a field of a form': 'github_pat_canary000000000011',
  'a stream, in pieces': 'sk-proj-canary00000000000012',
  'a sub-protocol': 'canary-of-the-protocol-13',
  'a model': 'gsk_canary0000000000000014',
} as const;

async function send(path: string, body: string | object, behaviour: Behaviour = { kind: 'openai' }, headers = {}) {
  await upstream.behave(behaviour);
  const given = { authorization: `Bearer ${masterKey}`, ...headers };
  const response = await gateway.fetch(path, { method: 'POST', body, headers: given });
  await response.text();
}

const chat = { model: 'fake-small', messages: [{ role: 'user', content: 'Hello' }] };
const says = (content: string) => ({ ...chat, messages: [{ role: 'user', content }] });

await test('no secret is recorded, logged or counted', async (t) => {
  const at = '/v1/chat/completions';
  const behaviour: Behaviour = { kind: 'openai' };
  await send(at, chat, behaviour, { authorization: `Bearer ${canaries['an unknown key']}` });
  await send(at, chat, behaviour, {
    cookie: canaries['a cookie'],
    'x-auth-token': canaries['a header of a token'],
    'x-note': `for ${canaries['the value of any header']}`,
    'user-agent': `agent/1 (${canaries['the user agent']})`,
    referer: `http://localhost/?access_token=${canaries['a parameter of a query']}`,
  });
  await send(`/p/fake/keys/${canaries['a path']}?key=${canaries['a parameter of a query']}`, { ok: true });
  await send(at, says(`my key:\n${canaries['a message']}\nBearer ${canaries['a token in a message']}`));
  const escaped = canaries['a message with escapes'].replace('C', '\\u0043');
  await send(at, JSON.stringify(says('KEY')).replace('KEY', escaped));
  const form = `--B\r\nContent-Disposition: form-data; name="model"\r\n\r\nfake-small\r\n--B\r\nContent-Disposition: form-data; name="prompt"\r\n\r\n${canaries['a field of a form']}\r\n--B--\r\n`;
  const asForm = { 'content-type': 'multipart/form-data; boundary=B' };
  await send('/v1/audio/transcriptions', form, { kind: 'json', body: { text: 'a' } }, asForm);
  const whole = canaries['a stream, in pieces'];
  const pieces = [whole.slice(0, 5), whole.slice(5, 15), whole.slice(15)].map(
    (content) => `data: ${JSON.stringify({ id: 'c', choices: [{ index: 0, delta: { content } }] })}\n\n`,
  );
  await send(at, { ...chat, stream: true }, { kind: 'sse', chunks: [...pieces, 'data: [DONE]\n\n'] });
  const plain = { ...chat, model: 'plain' };
  await send(at, plain, { kind: 'json', status: 401, body: { error: { message: `Incorrect key: ${plainKey}` } } });
  await send(at, plain, { kind: 'json', body: { choices: [], echo: { authorization: `Bearer ${plainKey}` } } });
  await send(at, chat, { kind: 'json', status: 500, body: `oops: ${Buffer.from(providerKey).toString('base64')}` });
  await send(at, { ...chat, model: canaries['a model'] });
  await send(at, says(`I am ${masterKey}`));
  const session = await openSession(gateway, {
    headers: { authorization: undefined },
    protocols: ['realtime', `openai-insecure-api-key.${masterKey}`, `other-api-key.${canaries['a sub-protocol']}`],
  });
  session.say({ type: 'response.create', secret: canaries['a sub-protocol'] });
  session.socket.close();
  await session.closed;

  const records = await waitFor('thirteen records', () => {
    const written = journaled(gateway);
    return written.length >= 13 && written;
  });
  t.equal(records.length, 13);
  const opened = records.find(({ path }) => path === '/v1/realtime');
  t.match(opened?.data, { request_headers: { upgrade: 'websocket' }, response_headers: { 'x-request-id': /^req_/ } });
  t.equal(opened?.data?.request_body, undefined, 'no frame is recorded');
  const journal = journalText(gateway);
  t.ok((journal.match(/\[REDACTED\]/g) ?? []).length >= 25, 'something was taken out of all of them');
  await waitFor('their lines', () => gateway.process.requests().length >= 13);
  const logs = [...gateway.process.stdout, ...gateway.process.stderr].join('\n');
  const metrics = await gateway.metrics();
  const base64 = Buffer.from(providerKey).toString('base64').slice(0, -4);
  const secrets = {
    ...canaries,
    'a master key': masterKey,
    'a key of a provider': plainKey,
    'another one': providerKey,
    base64,
  };
  for (const [name, secret] of Object.entries(secrets)) {
    for (const [place, text] of Object.entries({ journal, logs, metrics })) {
      t.notOk(text.includes(secret), `${name} is not in the ${place}`);
    }
  }
});
