// Who may pass what on: keys that are restricted to some models, providers of one type, and providers whose requests are signed.
import { once } from 'node:events';
import { type IncomingMessage, request as requestOf } from 'node:http';
import { t as suite, test } from 'tap';
import { authKeyBody, authKeyKind } from '../../domain/keys/auth-key.ts';
import { parseAwsKey } from '../../domain/keys/aws-key.ts';
import { newSecret } from '../../domain/keys/secret.ts';
import { signAws } from '../../proxy/upstream/sign-aws.ts';
import { startFakeUpstream } from '../support/fake-upstream.ts';
import { providerKey } from '../support/gateway.ts';
import { sampleKey } from '../support/managed-state.ts';
import { openSealedStore } from '../support/sealed.ts';
import { awsKey, shareGateway } from '../support/shared.ts';
import { commitAnyhow } from '../support/store-calls.ts';
import { waitFor } from '../support/wait-for.ts';

const mebibyte = 2 ** 20;
const upstream = await startFakeUpstream({ t: suite });
const origin = new URL(upstream.url).origin;
const at = (path: string, more: object = {}) => {
  return { type: 'openai', base_url: `${origin}${path}`, api_key: `\${TEST_PROVIDER_KEY}`, models: ['small'], ...more };
};
const gateway = await shareGateway({
  config: {
    providers: {
      first: at('/first'),
      second: at('/second', { allow_routing_members: true }),
      google: at('/google', { type: 'gemini' }),
      claude: at('/claude', { type: 'anthropic' }),
      aws: at('/aws', { type: 'bedrock', api_key: `\${TEST_AWS_KEY}` }),
    },
  },
});
suite.beforeEach(() => upstream.behave({ kind: 'json', body: { ok: true } }));

/** A key that may use these models alone; the proxy knows it. */
async function issue(allowedModels: string[]): Promise<string> {
  const secret = newSecret();
  const key = sampleKey(secret, { allowedModels });
  const store = openSealedStore({ directory: gateway.dataDir });
  suite.teardown(() => store.close());
  const change = { kind: authKeyKind, id: key.id, body: authKeyBody(key) };
  await commitAnyhow(store, { expected: new Map(), changes: [change] });
  const { revision } = await store.revision();
  await waitFor('the proxy to know the key', async () => {
    return ((await gateway.metric('gateway_state_revision')) ?? 0) >= revision;
  });
  return secret;
}

/** What comes of a request, and where it went. */
async function pass(secret: string | undefined, path: string, body?: string): Promise<string> {
  const before = upstream.ledger.length;
  const headers: Record<string, string> = secret === undefined ? {} : { authorization: `Bearer ${secret}` };
  const asked = body === undefined ? { headers } : { method: 'POST', headers, body };
  const answer = await gateway.fetch(`/p/${path}`, asked);
  const { error } = (await answer.json()) as { error?: { code: string } };
  return error === undefined ? `${answer.status} ${upstream.ledger[before]?.target}` : `${answer.status} ${error.code}`;
}

/** Of a request with a body, whatever its method. */
async function statusOf(method: string, secret: string, path: string, body: string): Promise<number | undefined> {
  const headers = { authorization: `Bearer ${secret}`, 'content-length': body.length };
  const asking = requestOf(`${gateway.url}/p/${path}`, { method, headers });
  const answered = once(asking, 'response') as Promise<[IncomingMessage]>;
  asking.end(body);
  const [answer] = await answered;
  answer.resume();
  return answer.statusCode;
}

await test('a key that is restricted to models passes only what asks one of them', async (t) => {
  const small = await issue(['second/small', 'google/gemini-pro']);
  const model = (name: string, more = ''): string => `{"model":"${name}"${more}}`;
  const long = `,"input":"${'x'.repeat(70_000)}"`;
  const rows: [path: string, body: string | undefined, outcome: string][] = [
    ['second/chat/completions', model('small'), '200 /second/chat/completions'],
    ['second/v1/embeddings', model('SMALL'), '200 /second/embeddings'],
    // The first provider of the type that the key may use.
    ['openai/chat/completions', model('small'), '200 /second/chat/completions'],
    ['google/models/gemini-pro:generateContent', '{}', '200 /google/models/gemini-pro:generateContent'],
    ['second/chat/completions', model('large'), '403 model_access_denied'],
    ['first/chat/completions', model('small'), '403 model_access_denied'],
    ['google/models/gemini-ultra:generateContent', '{}', '403 model_access_denied'],
    ['google/models/gemini-ultra:generateContent', model('gemini-pro'), '403 model_access_denied'],
    // What names no model that the provider is known to obey.
    ['second/models', undefined, '403 passthrough_model_unknown'],
    ['second/files', model('small'), '403 passthrough_model_unknown'],
    ['second/x/chat/completions', model('small'), '403 passthrough_model_unknown'],
    ['second/chat/completions', '{"modal":"small"}', '403 passthrough_model_unknown'],
    ['second/chat/completions', 'small', '403 passthrough_model_unknown'],
    ['second/chat/completions', model('small', long), '200 /second/chat/completions'],
    ['second/chat/completions', '{"model":"small","model":"large"}', '400 duplicate_key'],
    // This provider may go where the body says; the other may not.
    ['second/chat/completions', model('small', ',"models":["large"]'), '200 /second/chat/completions'],
  ];
  for (const [path, body, outcome] of rows)
    t.equal(await pass(small, path, body), outcome, `${path} ${body?.slice(0, 60)}`);
  for (const method of ['GET', 'HEAD', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']) {
    t.equal(await statusOf(method, small, 'second/chat/completions', model('small')), 403, `${method} asks no model`);
  }
  const both = await issue(['first/*']);
  const routed = model('small', ',"models":["large"]');
  t.equal(await pass(both, 'first/chat/completions', routed), '400 routing_member_not_allowed');
  t.equal(await pass(both, 'openai/chat/completions', model('small')), '200 /first/chat/completions');
  t.equal(await pass(undefined, 'openai/files', routed), '200 /first/files', 'others are not restricted');
});

await test('a client of Google sends the key of the gateway in its own ways, and the model in its path counts', async (t) => {
  const secret = await issue(['google/gemini-pro']);
  const asked = async (url: string, headers: Record<string, string> = {}): Promise<[number, string | undefined]> => {
    const before = upstream.ledger.length;
    const answer = await fetch(`${gateway.url}/p/${url}`, { method: 'POST', headers, body: '{}' });
    await answer.body?.cancel();
    const entry = upstream.ledger[before];
    t.notMatch(JSON.stringify(entry?.headers ?? []), secret, 'the key of the client does not go on');
    return [answer.status, entry?.target];
  };
  const path = '/google/models/gemini-pro:generateContent';
  const model = 'google/v1beta/models/gemini-pro:generateContent';
  t.same(await asked(model, { 'X-Goog-Api-Key': secret }), [200, path]);
  t.same(await asked(`${model}?key=${secret}&alt=json`), [200, `${path}?alt=json`]);
  t.same(await asked('google/v1beta/models/gemini-ultra:generateContent', { 'x-goog-api-key': secret }), [
    403,
    undefined,
  ]);
  t.same(await asked(model), [401, undefined], 'no key');
  t.same(await asked(`${model}?key=wrong`), [401, undefined], 'a wrong one');
  t.same(
    await asked(`${model}?key=other`, { 'x-goog-api-key': secret }),
    [200, path],
    'the header is the one that counts',
  );
  const two = { 'x-goog-api-key': secret, 'x-api-key': 'sk-another' };
  t.same(await asked(model, two), [400, undefined], 'two different keys');
  const elsewhere = await fetch(`${gateway.url}/v1/models?key=${secret}`);
  t.equal(elsewhere.status, 401, 'the query counts behind /p/ alone');
});

await test('each provider is told of the key in its own way', async (t) => {
  const rows = [
    ['google', 'x-goog-api-key', providerKey],
    ['claude', 'x-api-key', providerKey],
    ['first', 'authorization', `Bearer ${providerKey}`],
  ] as const;
  for (const [provider, name, value] of rows) {
    await pass(undefined, `${provider}/x`);
    const entry = upstream.ledger.at(-1);
    t.equal(entry?.header(name), value);
    const others = rows.map(([, other]) => other).filter((other) => other !== name);
    t.same(
      others.map((other) => entry?.header(other)),
      [undefined, undefined],
    );
  }
  await pass(undefined, 'claude/messages', '{}');
  t.equal(upstream.ledger.at(-1)?.header('anthropic-version'), '2023-06-01');
  await gateway.fetch('/p/claude/messages', { headers: { 'anthropic-version': '2099-01-01' } });
  t.equal(upstream.ledger.at(-1)?.header('anthropic-version'), '2099-01-01', 'unless the client says another');
});

await test('a request to AWS is signed with its method, its query and all of its body', async (t) => {
  const parsed = parseAwsKey(awsKey);
  if (!('kind' in parsed) || parsed.kind !== 'credentials') throw new Error('no pair');
  const rows = [
    ['GET', 'model/anthropic.claude%3A0/x?b=2&a=1', undefined],
    ['PUT', 'model/m/converse', 'x'.repeat(100_000)],
  ] as const;
  for (const [method, path, body] of rows) {
    const answer = await gateway.fetch(`/p/aws/${path}`, { method, ...(body === undefined ? {} : { body }) });
    t.equal(answer.status, 200);
    const entry = upstream.ledger.at(-1);
    const signed = /SignedHeaders=([^,]*)/.exec(entry?.header('authorization') ?? '')?.[1]?.split(';') ?? [];
    const headers = signed
      .filter((name) => name !== 'host' && name !== 'x-amz-date')
      .flatMap((name) => [name, entry?.header(name) ?? '']);
    const date = entry?.header('x-amz-date') ?? '';
    const nowMs = Date.parse(date.replace(/(....)(..)(..)T(..)(..)(..)Z/, '$1-$2-$3T$4:$5:$6Z'));
    const request = {
      method,
      host: new URL(origin).host,
      path: `/aws/${path}`,
      headers,
      body: Buffer.from(body ?? ''),
    };
    const expected = signAws({ ...request, region: 'us-east-1', service: 'bedrock' }, parsed.credentials, nowMs);
    t.equal(entry?.header('authorization'), expected.at(-1));
    t.equal(entry?.target, `/aws/${path}`);
    t.equal(entry?.body.toString(), body ?? '');
  }
  const calls = upstream.ledger.length;
  t.equal(await pass(undefined, 'aws/model/m/converse', 'x'.repeat(16 * mebibyte + 1)), '413 body_too_large');
  t.equal(upstream.ledger.length, calls);
  t.equal(await gateway.metric('gateway_request_body_bytes'), 0);
});
