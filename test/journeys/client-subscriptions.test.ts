// Clients that bring their own login to a vendor (`auth: client`): where their credential goes, and what one client's account means for others.
import { t as suite, type Test, test } from 'tap';
import { startFakeRealtime } from '../support/fake-realtime.ts';
import { type Behaviour, type Entry, startFakeUpstream } from '../support/fake-upstream.ts';
import { type GatewayRequest, masterKey, startGateway } from '../support/gateway.ts';
import { keepThings } from '../support/keeping-provider.ts';
import { openRaw, rawRequest } from '../support/raw-http.ts';
import { trySession } from '../support/realtime-client.ts';
import { ann, asking, login, refused, said } from './client-logins.ts';

const [vendor, company, rival, voice] = await Promise.all([
  startFakeUpstream({ t: suite }),
  startFakeUpstream({ t: suite }),
  startFakeUpstream({ t: suite }),
  startFakeRealtime(suite),
]);
const own = { type: 'anthropic', base_url: vendor.url, auth: 'client' } as const;
const gateway = await startGateway(suite, {
  config: {
    cache: { enabled: true },
    server: { access_log: 'all' },
    providers: {
      claude: { ...own, models: ['opus'] },
      codex: {
        type: 'openai',
        base_url: rival.url,
        auth: 'client',
        models: ['gpt', 'tts'],
        dialects: ['responses', 'audio'],
      },
      voice: { type: 'openai', base_url: voice.url, auth: 'client', models: ['gpt-realtime'], dialects: ['realtime'] },
      storing: { type: 'openai', base_url: rival.url, auth: 'client', models: ['gpt'] },
      keeping: { type: 'fireworks', base_url: rival.url, auth: 'client', models: ['gpt'] },
      company: { type: 'openai', base_url: company.url, api_key: `\${TEST_PROVIDER_KEY}`, models: ['small'] },
    },
    aliases: [
      {
        source: 'best',
        strategy: 'failover',
        targets: [{ model: 'claude/opus' }, { model: 'company/small' }],
        hedge: { after: '1ms' },
      },
      { source: 'paid-first', strategy: 'failover', targets: [{ model: 'company/small' }, { model: 'claude/opus' }] },
      { source: 'both', strategy: 'failover', targets: [{ model: 'claude/opus' }, { model: 'codex/gpt' }] },
    ],
  },
});

async function ask(model: string, headers: Record<string, string>, more: GatewayRequest = {}) {
  const answer = await gateway.fetch('/v1/messages', { method: 'POST', body: asking(model), ...more, headers });
  const text = await answer.text();
  const { error } = JSON.parse(text) as { error?: { message: string; type: string; code?: string } };
  return { status: answer.status, headers: answer.headers, text, error };
}

const last = (upstream: { readonly ledger: readonly Entry[] }): Entry => upstream.ledger.at(-1) as Entry;
const namesOf = ({ headers }: Entry): string[] => headers.map(([name]) => name.toLowerCase());

function isClean(t: Test, secret: string): void {
  for (const { ledger } of [company, rival])
    t.notOk(
      ledger.some((entry) => heard(entry).includes(secret)),
      'no one else got it',
    );
  for (const { headers } of voice.asked) t.notMatch(JSON.stringify(headers), secret);
  const printed = [...gateway.process.stdout, ...gateway.process.stderr].join('\n');
  t.notMatch(printed, secret, 'it is in no line');
}
const heard = (entry: Entry): string => JSON.stringify([entry.target, entry.headers, entry.body.toString()]);

await test('the login of a client goes to its vendor with what belongs to it, and the key of the gateway does not', async (t) => {
  await vendor.behave(
    said([
      ['anthropic-ratelimit-unified-5h-utilization', '0.4'],
      ['anthropic-ratelimit-requests-remaining', '7'],
    ]),
  );
  const headers = {
    ...login(ann),
    'anthropic-version': '2023-06-01',
    'user-agent': 'claude-cli/2 (external)',
    'x-app': 'cli',
    'x-stainless-lang': 'js',
    cookie: 'a=b',
    'x-other': 'c',
  };
  const { status, text, headers: told } = await ask('claude/opus', headers);
  t.equal(status, 200, text);
  const entry = last(vendor);
  t.match(
    ['authorization', 'anthropic-beta', 'anthropic-version', 'user-agent', 'x-app', 'x-stainless-lang'].map((name) =>
      entry.header(name),
    ),
    [`Bearer ${ann}`, 'oauth-2025-04-20', '2023-06-01', 'claude-cli/2 (external)', 'cli', 'js'],
  );
  const names = namesOf(entry);
  t.same(
    names.filter((name, index) => names.indexOf(name) !== index),
    [],
    'no header comes twice',
  );
  for (const name of ['x-gateway-key', 'x-api-key', 'cookie', 'x-other']) t.notOk(names.includes(name), name);
  t.equal(told.get('anthropic-ratelimit-unified-5h-utilization'), '0.4', 'how much of the subscription is used');
  t.equal(told.get('x-gateway-cache'), 'bypass');
  isClean(t, ann);
});

await test('with Bearer before the key of the gateway, and with an API key of the client', async (t) => {
  await vendor.behave(said());
  const { status } = await ask('claude/opus', {
    'x-gateway-key': `Bearer ${masterKey}`,
    authorization: '',
    'x-api-key': 'sk-ant-api03-of-ann',
  });
  t.equal(status, 200);
  t.equal(last(vendor).header('x-api-key'), 'sk-ant-api03-of-ann');
  t.equal(last(vendor).header('authorization'), undefined);
});

await test('a request without a login is told what to send, and no key of the gateway goes out in its place', async (t) => {
  const before = vendor.ledger.length;
  const without: Record<string, string>[] = [
    {},
    { authorization: '', 'x-gateway-key': masterKey },
    { ...login(masterKey) },
  ];
  for (const headers of without) {
    const { status, error } = await ask('claude/opus', headers);
    t.match(
      { status, error },
      { status: 401, error: { type: 'authentication_error', message: /"claude".*x-gateway-key: <key>/ } },
    );
  }
  t.equal(vendor.ledger.length, before);
  await company.behave({ kind: 'openai' });
  t.equal((await ask('best', {})).status, 200, 'another target of the alias is asked');
  t.equal(last(company).header('authorization'), 'Bearer sk-test-provider-key-canary');
});

await test('an explanation says which target needs a login', async (t) => {
  const foretold = await (await gateway.fetch('/admin/explain?model=best')).json();
  t.match(foretold, { targets: [{ target: 'claude/opus', would: 'ask', says: /login of the client, if/ }, {}] });
  const { headers } = await ask('best', { 'x-gateway-explain': '1' });
  const explained = await (await gateway.fetch(`/admin/explain/${headers.get('x-gateway-explain-id')}`)).json();
  const lacking = { target: 'claude/opus', would: 'skip', reason: 'client_credential_missing' };
  t.match(explained, { explanation: { targets: [{ target: 'company/small', would: 'ask' }, lacking] } });
});

await test('the key of the gateway is judged by its own header alone', async (t) => {
  const both = { authorization: `Bearer ${masterKey}`, 'x-gateway-key': 'sk-gw-wrong' };
  t.equal((await ask('company/small', both)).status, 401);
  t.equal((await ask('company/small', { ...login(ann), 'x-gateway-key': `${masterKey}, ${masterKey}` })).status, 401);
  t.equal(
    (await ask('company/small', { ...login(ann), 'x-api-key': 'k' })).status,
    200,
    'both are the own ones of the client',
  );
  const raw = await openRaw(gateway.port);
  const body = JSON.stringify(asking('claude/opus'));
  const head = (...lines: string[]): string =>
    [
      `POST /v1/messages HTTP/1.1`,
      'host: a',
      'content-type: application/json',
      `content-length: ${body.length}`,
      ...lines,
      '',
      body,
    ].join('\r\n');
  await raw.send(head(`x-gateway-key: ${masterKey}`, `X-Gateway-Key: ${masterKey}`, `authorization: Bearer ${ann}`));
  await raw.send(head(`x-gateway-key: ${masterKey}`, `authorization: Bearer ${ann}`, 'authorization: Bearer b'));
  const { responses } = await raw.waitFor((exchange) => exchange.responses.length === 2 && exchange);
  t.same(
    responses.map(({ status }) => status),
    [400, 400],
  );
  raw.socket.destroy();
  const hop = head(`x-gateway-key: ${masterKey}`, 'connection: authorization', `authorization: Bearer ${ann}`);
  const {
    responses: [told],
  } = await rawRequest(gateway.port, hop);
  t.match(told?.json(), { error: { code: 'client_credential_missing' } }, 'what is of the connection goes no further');
});

await test('several users on one connection: each request goes out with its own login', async (t) => {
  await vendor.behave(said());
  const before = vendor.ledger.length;
  const raw = await openRaw(gateway.port);
  const body = JSON.stringify(asking('claude/opus'));
  const head = (line: string): string =>
    [
      `POST /v1/messages HTTP/1.1`,
      'host: a',
      'content-type: application/json',
      `content-length: ${body.length}`,
      `x-gateway-key: ${masterKey}`,
      line,
      '',
      body,
    ].join('\r\n');
  const tokens = ['sk-ant-oat01-one-0123', 'sk-ant-oat01-two-0123', 'sk-ant-oat01-one-0123'];
  await raw.send([...tokens.map((token) => head(`authorization: Bearer ${token}`)), head('x-none: 1')].join(''));
  const { responses } = await raw.waitFor((exchange) => exchange.responses.length === 4 && exchange);
  t.same(
    responses.map(({ status }) => status),
    [200, 200, 200, 401],
    'the last one has none',
  );
  t.same(
    vendor.ledger.slice(before).map((entry) => entry.header('authorization')),
    tokens.map((token) => `Bearer ${token}`),
  );
  raw.socket.destroy();
});

await test('what the vendor says of a login is for that client, and changes nothing for others', async (t) => {
  const cases: [Behaviour, number, RegExp][] = [
    [refused(401, 'authentication_error', `OAuth token ${ann} has expired.`), 401, /has expired/],
    [refused(402, 'billing_error', 'No credit is left.'), 402, /No credit/],
    [refused(403, 'permission_error', 'Your organization does not allow it.'), 403, /organization/],
  ];
  for (const [behaviour, status, words] of cases) {
    for (let time = 0; time < 6; time += 1) {
      await vendor.behave(behaviour);
      const answer = await ask('best', login(ann));
      t.match({ status: answer.status, message: answer.error?.message }, { status, message: words });
      t.notMatch(answer.text, ann);
    }
  }
  const limit: [string, string][] = [
    ['retry-after', '3600'],
    ['anthropic-ratelimit-unified-status', 'rejected'],
  ];
  await vendor.behave(refused(429, 'rate_limit_error', 'Your limit is reached.', limit));
  const alone = await ask('claude/opus', login(ann));
  t.match({ status: alone.status, wait: alone.headers.get('retry-after') }, { status: 429, wait: '3600' });
  t.equal(alone.headers.get('anthropic-ratelimit-unified-status'), 'rejected');
  t.equal((await ask('best', login(ann))).status, 200, 'the alias names another target for that');
  t.notMatch(heard(last(company)), ann);
  await vendor.behave(said());
  const before = vendor.ledger.length;
  t.equal((await ask('best', login('sk-ant-oat01-of-bob-0123'))).status, 200);
  t.equal(vendor.ledger.length, before + 1, 'it is asked first for another client');
  isClean(t, ann);
});

await test('answers are not shared, and nothing is asked side by side', async (t) => {
  await vendor.behave(said());
  const before = [vendor.ledger.length, company.ledger.length];
  const [one, two] = await Promise.all([ask('best', login(ann)), ask('best', login('sk-ant-oat01-of-bob-0123'))]);
  const third = await ask('best', login(ann));
  t.same(
    [one, two, third].map(({ headers }) => headers.get('x-gateway-cache')),
    ['bypass', 'bypass', 'bypass'],
  );
  t.same([vendor.ledger.length, company.ledger.length], [(before[0] ?? 0) + 3, before[1]]);
});

await test('a login is of one vendor', async (t) => {
  await vendor.behave({ kind: 'reset' });
  t.equal((await ask('both', login(ann))).status, 502, 'the target of the other vendor is left out');
  t.equal((await ask('codex/gpt', login(ann))).status, 401, 'its beginning says whose it is');
  await vendor.behave(said());
  const fails: Behaviour = { kind: 'error', status: 500 };
  await company.behave(fails);
  t.equal((await ask('paid-first', login(ann))).status, 200, 'after a failure of another provider, too');
  await company.behave({ kind: 'openai' });
  isClean(t, ann);
});

const token = 'eyJhbGciOiJSUzI1NiJ9.of-ann.signature';
const chatgpt = { ...login(token), 'chatgpt-account-id': 'acc_1', originator: 'codex_cli_rs', session_id: 's1' };
const lines = JSON.stringify({
  custom_id: '1',
  method: 'POST',
  url: '/v1/responses',
  body: { model: 'gpt', input: 'a' },
});

async function send(path: string, { body, headers = chatgpt, ...more }: GatewayRequest = {}) {
  const method = body === undefined ? 'GET' : 'POST';
  const answer = await gateway.fetch(path, { method, ...more, ...(body === undefined ? {} : { body }), headers });
  return { status: answer.status, text: await answer.text(), headers: answer.headers };
}

/** The rival was asked with the login and what belongs to it, once each. */
function cameWithLogin(t: Test, door: string): void {
  const names = namesOf(last(rival));
  const wanted = ['authorization', 'chatgpt-account-id', 'originator', 'session_id'];
  t.same(
    wanted.map((name) => last(rival).header(name)),
    [`Bearer ${token}`, 'acc_1', 'codex_cli_rs', 's1'],
    door,
  );
  t.same(
    names.filter((name, index) => names.indexOf(name) !== index),
    [],
    'no header comes twice',
  );
  t.notOk(names.includes('x-gateway-key'));
}

await test('responses that the vendor keeps, passthrough and media are asked for with the login, each time', async (t) => {
  const kept = { id: 'resp_0123456789', object: 'response', status: 'completed', model: 'gpt', output: [] };
  await rival.behave({ kind: 'json', body: kept });
  const body = { model: 'keeping/gpt', input: 'Hello' };
  const path = '/v1/responses/resp_0123456789';
  const doors: [path: string, body: object | undefined][] = [
    ['/v1/responses', body],
    [path, undefined],
    ['/v1/responses', { ...body, previous_response_id: 'resp_0123456789' }],
    ['/p/keeping/v1/responses', { model: 'gpt', input: 'Hello' }],
    ['/p/keeping/v1/models?key=k', undefined],
    ['/v1/audio/speech', { model: 'codex/tts', input: 'Hello', voice: 'alloy' }],
  ];
  for (const [door, asked] of doors) {
    const init = asked === undefined ? {} : { body: asked };
    t.equal((await send(door, init)).status, 200, door);
    cameWithLogin(t, door);
    const before = rival.ledger.length;
    t.match(await send(door, { ...init, headers: {} }), { status: 401, text: /client_credential_missing/ }, door);
    t.equal(rival.ledger.length, before);
  }
  await rival.behave(refused(401, 'invalid_request_error', `The token ${token} has expired.`));
  for (const [door, asked] of doors) {
    const told = await send(door, asked === undefined ? {} : { body: asked });
    t.match(told, { status: 401, text: /has expired/ }, door);
    t.notMatch(told.text, token);
  }
});

await test('files and batches belong to the user, and are asked for with the login', async (t) => {
  const { files } = await keepThings(rival, 'sub');
  const fields = { purpose: 'batch', provider: 'storing' };
  const parts = Object.entries(fields).map(
    ([name, value]) => `--B\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`,
  );
  const file = `--B\r\nContent-Disposition: form-data; name="file"; filename="a.jsonl"\r\n\r\n${lines}\r\n--B--\r\n`;
  const body = parts.join('') + file;
  const made = await send('/v1/files', {
    body,
    headers: { ...chatgpt, 'content-type': 'multipart/form-data; boundary=B' },
  });
  t.equal(made.status, 200, made.text);
  cameWithLogin(t, 'upload');
  t.same(
    [...files.values()].map(({ owner }) => owner),
    [`Bearer ${token}`],
  );
  const { id } = JSON.parse(made.text) as { id: string };
  for (const path of [`/v1/files/${id}`, `/v1/files/${id}/content`]) {
    t.equal((await send(path)).status, 200, path);
    t.equal((await send(path, { headers: {} })).status, 401, path);
  }
  const batch = await send('/v1/batches', {
    body: { input_file_id: id, endpoint: '/v1/responses', completion_window: '24h' },
  });
  t.equal(batch.status, 200, batch.text);
  cameWithLogin(t, 'batch');
  const listed = await send('/v1/files');
  t.match(JSON.parse(listed.text), { data: [{ id }] });
  const less = await send('/v1/files', { headers: {} });
  t.match(JSON.parse(less.text), { data: [] });
  t.match(less.headers.get('x-gateway-incomplete'), /storing/);
});

await test('a response that repeats the login is given to its client, and not kept', async (t) => {
  const output = (text: string) => [{ type: 'message', role: 'assistant', content: [{ type: 'output_text', text }] }];
  const made = { id: 'resp_1', object: 'response', status: 'completed', model: 'gpt' };
  const body = { model: 'codex/gpt', input: 'Hello' };
  for (const [text, status] of [
    [`You are ${token}.`, 404],
    ['Hello.', 200],
  ] as const) {
    await rival.behave({ kind: 'json', body: { ...made, output: output(text) } });
    const { id } = JSON.parse((await send('/v1/responses', { body })).text) as { id: string };
    t.equal((await send(`/v1/responses/${id}`)).status, status, text);
  }
});

await test('sessions are opened with the login', async (t) => {
  const { session } = await trySession(gateway, { headers: chatgpt });
  session?.socket.close();
  await session?.closed;
  t.match(voice.asked.at(-1)?.headers, { authorization: `Bearer ${token}`, 'chatgpt-account-id': 'acc_1' });
  t.notOk(voice.asked.at(-1)?.headers['x-gateway-key']);
  const asked = voice.asked.length;
  t.match((await trySession(gateway)).refusal, { status: 401, error: { code: 'client_credential_missing' } });
  t.equal(voice.asked.length, asked);
});
