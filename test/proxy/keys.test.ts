// Managed keys at the running proxy: who gets in, as whom, to which models, and how soon a revoked key is worth nothing.
import { AuthenticationError, NotFoundError, OpenAI, PermissionDeniedError } from 'openai';
import { t as suite, type Test, test } from 'tap';
import { type AuthKey, authKey, authKeyBody, authKeyKind } from '../../domain/keys/auth-key.ts';
import { digestOf, newSecret } from '../../domain/keys/secret.ts';
import { createGate, type FakeUpstream, startFakeUpstream } from '../support/fake-upstream.ts';
import { type Gateway, masterKey, startGateway } from '../support/gateway.ts';
import { sampleKey } from '../support/managed-state.ts';
import type { LogLine } from '../support/process.ts';
import { openRaw, rawRequest } from '../support/raw-http.ts';
import { openSealedStore } from '../support/sealed.ts';
import { commitAnyhow } from '../support/store-calls.ts';
import type { Teardown } from '../support/teardown.ts';
import { waitFor } from '../support/wait-for.ts';

interface Stand {
  readonly upstream: FakeUpstream;
  readonly gateway: Gateway;
  /** Puts a key into the store and waits until the proxy knows it. */
  readonly issue: (more?: Partial<AuthKey>) => Promise<{ key: AuthKey; secret: string }>;
  /** Replaces or (with undefined) deletes the key's document. */
  readonly put: (id: string, key: AuthKey | undefined) => Promise<void>;
}

const paths = ['/', '/team', '/other'];

/** A proxy with rules for some paths, so that /v1/usage tells whose the caller is. */
async function startStand(t: Teardown): Promise<Stand> {
  const upstream = await startFakeUpstream({ t });
  const limits = [{ period: 'minute', max_requests: 1_000 }];
  const gateway = await startGateway(t, {
    upstream,
    config: {
      aliases: [
        { source: 'chat', target: 'fake/fake-small' },
        { source: 'mix', targets: [{ model: 'fake/fake-small' }, { model: 'fake/fake-large' }] },
      ],
      rate_limits: { user_paths: paths.map((path) => ({ path, limits })) },
    },
  });
  const store = openSealedStore({ directory: gateway.dataDir });
  t.teardown(() => store.close());
  const put = async (id: string, key: AuthKey | undefined): Promise<void> => {
    const body = key === undefined ? undefined : authKeyBody(key);
    const { conflict } = await commitAnyhow(store, { expected: new Map(), changes: [{ kind: authKeyKind, id, body }] });
    if (conflict) throw new Error('nothing was expected');
  };
  return {
    upstream,
    gateway,
    put,
    async issue(more = {}) {
      const secret = newSecret();
      const key = sampleKey(secret, more);
      await put(key.id, key);
      // Asked with the right key only once it counts: failures would be held against this address.
      const { revision } = await store.revision();
      await waitFor('the proxy to know the key', async () => {
        return ((await gateway.metric('gateway_state_revision')) ?? 0) >= revision;
      });
      return { key, secret };
    },
  };
}

/** For all tests. */
const stand = await startStand(suite);
suite.beforeEach(() => stand.upstream.behave({ kind: 'openai' }));

const bearer = (secret: string, more: Record<string, string> = {}) => ({
  headers: { authorization: `Bearer ${secret}`, ...more },
});
const ask = (model: string) => ({ model, messages: [{ role: 'user' as const, content: 'say hello' }] });

/** An error of the SDK by type, status and code; otherwise what was answered. */
async function outcome(request: Promise<unknown>): Promise<unknown> {
  try {
    return await request;
  } catch (error) {
    if (error instanceof OpenAI.APIError)
      return `${error.constructor.name} ${error.status} ${error.code} ${error.param}`;
    throw error;
  }
}

await test('the official client works with a managed key, within what the key may use', async (t) => {
  const { gateway, issue } = stand;
  const { secret } = await issue({ allowedModels: ['FAKE/fake-small', 'fake-embedding'] });
  const client = new OpenAI({ apiKey: secret, baseURL: `${gateway.url}/v1`, maxRetries: 0 });

  const { data } = await client.models.list();
  t.same(
    data.map(({ id }) => id),
    ['chat', 'fake/fake-embedding', 'fake/fake-small', 'mix'],
  );
  for (const model of ['fake/fake-small', 'fake-small', 'chat', 'mix'])
    t.match(await client.chat.completions.create(ask(model)), { model: 'fake-small' }, model);
  t.match(await client.embeddings.create({ model: 'fake-embedding', input: 'x' }), { object: 'list' });
  t.match(await client.models.retrieve('fake-small'), { owned_by: 'fake' });

  const denied = `${PermissionDeniedError.name} 403 model_access_denied model`;
  for (const model of ['fake/fake-large', 'fake-large'])
    t.equal(await outcome(client.chat.completions.create(ask(model))), denied, model);
  const missing = `${NotFoundError.name} 404 model_not_found model`;
  t.equal(await outcome(client.chat.completions.create(ask('nothing'))), missing);
  for (const id of ['fake/fake-large', 'fake-large'])
    t.equal(await outcome(client.models.retrieve(id)), missing, `${id} is not shown`);

  const wrong = new OpenAI({ apiKey: `${secret}x`, baseURL: `${gateway.url}/v1`, maxRetries: 0 });
  t.equal(await outcome(wrong.models.list()), `${AuthenticationError.name} 401 invalid_api_key null`);
});

await test('the body of a restricted key cannot send its provider elsewhere, unless the provider may be sent', async (t) => {
  const { gateway, issue, upstream } = stand;
  const [restricted, free] = [await issue({ allowedModels: ['fake/*'] }), await issue()];
  const body = `{"model":"fake/fake-small","\\u006dodels":["x"], "messages":[{"role":"user","content":"hi"}],"Route":"fallback"}`;
  const send = async (secret: string) => {
    const { headers } = bearer(secret, { 'content-type': 'application/json' });
    const response = await fetch(`${gateway.url}/v1/chat/completions`, { method: 'POST', body, headers });
    const { error } = (await response.json()) as { error?: { code: string; param: string } };
    return [response.status, error?.code, error?.param];
  };
  const sent = upstream.ledger.length;
  t.same(await send(restricted.secret), [400, 'routing_member_not_allowed', 'models']);
  t.equal(upstream.ledger.length, sent, 'nothing was sent');
  t.same(await send(free.secret), [200, undefined, undefined]);
  t.equal(upstream.ledger.at(-1)?.body.toString(), body.replace('fake/fake-small', 'fake-small'), 'byte for byte');
  const { url, models } = upstream;
  const fake = { type: 'openai', base_url: url, models, allow_routing_members: true };
  await gateway.applyConfig({ 'providers.yaml': { providers: { fake } } });
  t.same(await send(restricted.secret), [200, undefined, undefined]);
});

await test('an alias fails over within what the key may use only', async (t) => {
  const { gateway, issue, upstream } = stand;
  const { secret } = await issue({ allowedModels: ['fake/fake-small'] });
  const sent = upstream.ledger.length;
  await upstream.behave({ kind: 'error', status: 503 });
  const response = await gateway.fetch('/v1/chat/completions', { method: 'POST', body: ask('mix'), ...bearer(secret) });
  t.equal(response.status, 503);
  await response.body?.cancel();
  const asked = upstream.ledger.slice(sent).map((entry) => (entry.json() as { model: string }).model);
  t.same(asked, ['fake-small', 'fake-small'], 'the only one that it may use is asked once more');
});

await test('a key speaks for its own path, whatever the request says; one without names a path only when it may name any', async (t) => {
  const { gateway, issue } = stand;
  const bound = await issue({ userPath: '/team/app' });
  const free = await issue({ anyUserPath: true });
  const plain = await issue({ anyUserPath: false });
  const userPath = async (secret: string, path?: string): Promise<unknown> => {
    const more = path === undefined ? {} : { 'x-gateway-user-path': path };
    const response = await gateway.fetch('/v1/usage', bearer(secret, more));
    const { user_path, error } = (await response.json()) as Record<string, { code?: string }>;
    return user_path ?? error?.code;
  };
  for (const path of [undefined, '/other', '/', '/a/../b'])
    t.equal(await userPath(bound.secret, path), '/team/app', path ?? '');
  t.equal(await userPath(free.secret, '/other/x'), '/other/x');
  t.equal(await userPath(free.secret), '/');
  t.same([await userPath(plain.secret), await userPath(plain.secret, '/team')], ['/', 'user_path_denied']);
  t.equal(await userPath(masterKey, '/team'), '/team');
  t.equal(await userPath(free.secret, '/a/../b'), 'invalid_user_path');
});

/** Within a second; other work on the machine may make one of them late, but none early. */
function areSoon(t: Test, times: readonly number[]): void {
  const shown = times.map((ms) => `${Math.round(ms)} ms`).join(', ');
  t.ok(Math.min(...times) < 1_000 && Math.max(...times) < 3_000, `after ${shown}`);
}

await test('the line of a refused request names the key, as far as it is still there, and why it was refused', async (t) => {
  const { gateway, issue } = stand;
  const expired = await issue({ expiresAtMs: 1, userPath: '/team/app' });
  const revoked = await issue({ enabled: false });
  const plain = await issue({ anyUserPath: false });
  const bound = await issue({ userPath: '/team' });
  let count = 0;
  const lineOf = async (path: string, secret: string, headers: Record<string, string> = {}): Promise<LogLine> => {
    count += 1;
    const id = `refused-${count}`;
    const init = bearer(secret, { ...headers, 'x-request-id': id });
    const response = await gateway.fetch(
      path,
      path.endsWith('completions') ? { ...init, method: 'POST', body: {} } : init,
    );
    await response.body?.cancel();
    return waitFor('its line', () => gateway.process.requests().find(({ request_id }) => request_id === id));
  };
  const code = 'invalid_api_key';
  for (const path of ['/v1/models', '/v1/chat/completions', '/admin/auth-keys']) {
    t.match(await lineOf(path, expired.secret), {
      error_code: code,
      key_id: expired.key.id,
      user_path: '/team/app',
      reason: 'expired',
    });
    t.match(await lineOf(path, revoked.secret), { error_code: code, key_id: revoked.key.id, reason: 'revoked' });
    const stranger = await lineOf(path, 'sk-gw-unknown');
    t.match(stranger, { error_code: code, reason: 'unknown' });
    t.notOk('key_id' in stranger || 'user_path' in stranger);
  }
  for (const path of ['/v1/models', '/v1/chat/completions']) {
    const denied = await lineOf(path, plain.secret, { 'x-gateway-user-path': '/other' });
    t.match(denied, { status: 403, error_code: 'user_path_denied', key_id: plain.key.id, reason: 'denied' });
    const odd = await lineOf(path, masterKey, { 'x-gateway-user-path': '/a/../b' });
    t.match(odd, { error_code: 'invalid_user_path', key_id: 'master_key' });
  }
  const absent = await lineOf('/v1/models/none', bound.secret);
  t.match(absent, { error_code: 'model_not_found', key_id: bound.key.id, user_path: '/team' });
  t.notOk('reason' in absent);
  t.notMatch(gateway.process.stdout.join(''), /sk-gw-/);
});

await test('a key that is revoked is refused within a second, on open connections too, and its open stream may finish', async (t) => {
  const { gateway, issue, put, upstream } = stand;
  const times: number[] = [];
  for (const change of ['deactivate', 'delete'] as const) {
    const { key, secret } = await issue();
    const gate = createGate();
    await upstream.behave([{ kind: 'sse', chunks: ['data: {"choices":[]}\n\n', gate, 'data: [DONE]\n\n'] }]);
    const body = { ...ask('chat'), stream: true };
    const stream = await gateway.fetch('/v1/chat/completions', { method: 'POST', body, ...bearer(secret) });
    t.equal(stream.status, 200);

    const connection = await openRaw(gateway.port, { t });
    const request = `GET /v1/models HTTP/1.1\r\nHost: a\r\nx-api-key: ${secret}\r\n\r\n`;
    let asked = 0;
    const next = async (): Promise<number | undefined> => {
      await connection.send(request);
      asked += 1;
      const { responses } = await connection.waitFor((exchange) =>
        exchange.responses.filter(({ complete }) => complete).length === asked ? exchange : undefined,
      );
      return responses.at(-1)?.status;
    };
    t.equal(await next(), 200);
    const revoked = authKey({ ...key, enabled: false, deactivatedAtMs: 1 });
    await put(key.id, change === 'delete' ? undefined : revoked);
    const startedAtMs = performance.now();
    await waitFor('the key to be refused', async () => (await next()) === 401);
    const tookMs = performance.now() - startedAtMs;
    times.push(tookMs);
    const again = await gateway.fetch('/v1/models', bearer(secret));
    t.equal(again.status, 401);
    await again.body?.cancel();
    gate.release();
    t.match(await stream.text(), 'data: [DONE]');
  }
  areSoon(t, times);
});

await test('with server.cut_revoked_streams streams of a key that no longer lets in end within a second', async (t) => {
  const { gateway, issue, put, upstream } = stand;
  const refusedBefore = (await gateway.metric('gateway_requests_total', { status: '401' })) ?? 0;
  const others = { secret: masterKey, key: undefined };
  const times: number[] = [];
  const begin = async (secret: string) => {
    const gate = createGate();
    const entries = upstream.ledger.length;
    await upstream.behave([{ kind: 'sse', chunks: ['data: {"choices":[]}\n\n', gate, 'data: [DONE]\n\n'] }]);
    const body = { ...ask('chat'), stream: true };
    const stream = await gateway.fetch('/v1/chat/completions', { method: 'POST', body, ...bearer(secret) });
    return { gate, stream, entry: await upstream.waitFor((ledger) => ledger[entries]) };
  };
  const cut = async (name: string, secret: string, change: () => Promise<unknown>) => {
    const [lost, kept] = [await begin(secret), await begin(others.secret)];
    await change();
    const changedAtMs = performance.now();
    const text = await lost.stream.text();
    const tookMs = performance.now() - changedAtMs;
    t.match(
      text,
      /^data: \{"choices":\[\]\}\n\ndata: \{"error":\{"code":"key_revoked".*"type":"authentication_error"\}\}\n\n$/,
      name,
    );
    t.notMatch(text, '"provider"', 'the provider has nothing to do with it');
    times.push(tookMs);
    await waitFor('the provider to be let go', () => lost.entry.clientClosedAtMs);
    kept.gate.release();
    t.match(await kept.stream.text(), 'data: [DONE]', 'the streams of others go on');
  };
  t.teardown(() => gateway.applyConfig(settings(false)));
  const settings = (on: boolean) => ({ 'server.yaml': { server: { cut_revoked_streams: on } } });
  await gateway.applyConfig(settings(true));
  const deleted = await issue();
  await cut('deleted', deleted.secret, () => put(deleted.key.id, undefined));
  const deactivated = await issue();
  await cut('deactivated', deactivated.secret, () =>
    put(deactivated.key.id, authKey({ ...deactivated.key, enabled: false, deactivatedAtMs: 1 })),
  );
  const expiring = await issue({ expiresAtMs: Date.now() + 1_500 });
  await cut('expired', expiring.secret, () => waitFor('it to expire', () => Date.now() >= expiring.key.expiresAtMs));
  await gateway.applyConfig(settings(false));
  const late = await issue();
  await cut('switched on behind the revocation', late.secret, async () => {
    await put(late.key.id, undefined);
    await gateway.applyConfig(settings(true));
  });
  areSoon(t, times);
  t.equal(await gateway.metric('gateway_requests_total', { status: '401' }), refusedBefore + 4);
  await waitFor('every slot', async () => (await gateway.metric('gateway_requests_in_flight')) === 0);
});

await test('a key is refused from the millisecond it expires, on a connection that knows it', async (t) => {
  const { gateway, issue } = stand;
  const expiresAtMs = Date.now() + 700;
  const { secret } = await issue({ expiresAtMs });
  const connection = await openRaw(gateway.port, { t });
  let count = 0;
  await waitFor('the key to be refused', async () => {
    const sentAtMs = Date.now();
    await connection.send(`GET /v1/models HTTP/1.1\r\nHost: a\r\nx-api-key: ${secret}\r\n\r\n`);
    count += 1;
    const { responses } = await connection.waitFor((exchange) =>
      exchange.responses.filter(({ complete }) => complete).length === count ? exchange : undefined,
    );
    const doneAtMs = Date.now();
    const status = responses.at(-1)?.status;
    // The proxy's clock was set by this machine's at its start; a few milliseconds may lie between them.
    if (sentAtMs > expiresAtMs + 50) t.equal(status, 401, `${sentAtMs - expiresAtMs} ms too late`);
    if (doneAtMs < expiresAtMs - 50) t.equal(status, 200);
    return status === 401;
  });
});

const failures: [claim: string, lines: string][] = [
  ['no header', ''],
  ['an empty header', 'Authorization:\r\n'],
  ['the scheme alone', 'Authorization: Bearer\r\n'],
  ['another scheme', `Authorization: Basic ${masterKey}\r\n`],
  ['a token scheme', `Authorization: Token ${masterKey}\r\n`],
  ['no scheme', `Authorization: ${masterKey}\r\n`],
  ['two tokens in one line', `Authorization: Bearer ${masterKey}, Bearer ${masterKey}\r\n`],
  ['a tab for a blank', `Authorization: Bearer\t${masterKey}\r\n`],
  ['more than the key', `x-api-key: ${masterKey}0\r\n`],
  ['another header', `x-auth-key: ${masterKey}\r\n`],
  ['a cookie', `Cookie: key=${masterKey}\r\n`],
  ['bytes that are not text', 'Authorization: Bearer \xff\xfe\r\n'],
  ['look-alikes', `Authorization: Bearer ${masterKey.replace('s', '\u0455')}\r\n`],
  ['8 KB', `Authorization: Bearer ${'x'.repeat(8_000)}\r\n`],
  ['a query', "Authorization: Bearer ' OR 1=1 --\r\n"],
  ['a digest', `Authorization: Bearer ${digestOf(masterKey)}\r\n`],
];

await test('every failure is the same 401, byte for byte, however many keys were tried', async (t) => {
  const { gateway, issue } = stand;
  const off = await issue({ enabled: false });
  const past = await issue({ expiresAtMs: 1 });
  const right = await issue();
  const rows = [
    ...failures,
    ['a revoked key', `Authorization: Bearer ${off.secret}\r\n`],
    ['an expired key', `x-api-key: ${past.secret}\r\n`],
    ['the beginning of a key', `x-api-key: ${right.secret.slice(0, -1)}\r\n`],
    ['a key beside its own', `x-api-key: ${right.secret}x\r\n`],
  ] as const;
  const ask401 = async (lines: string) => {
    const body = JSON.stringify(ask('chat'));
    const head = `POST /v1/chat/completions?key=${masterKey} HTTP/1.1\r\nHost: a\r\nX-Request-Id: r\r\nContent-Type: application/json\r\n`;
    const sent = `${head}Content-Length: ${body.length}\r\n${lines}Connection: close\r\n\r\n${body}`;
    const { responses } = await rawRequest(gateway.port, Buffer.from(sent, 'utf8'));
    return responses[0];
  };
  const answers = new Set<string>();
  for (const [claim, lines] of rows) {
    const response = await ask401(lines);
    t.equal(response?.status, 401, claim);
    const head = response?.headers.filter(([name]) => name.toLowerCase() !== 'date');
    answers.add(JSON.stringify([head, response?.text()]));
  }
  t.equal(answers.size, 1);
  const guesses = Array.from({ length: 30 }, (_, count) => ask401(`x-api-key: guess-${count}\r\n`));
  t.same([...new Set((await Promise.all(guesses)).map((response) => response?.status))], [401], 'always 401');
  for (const secret of [masterKey, right.secret]) {
    const response = await gateway.fetch('/v1/models', bearer(secret));
    t.equal(response.status, 200, 'a right key is let in all the same');
    await response.body?.cancel();
  }
});

await test('garbage in place of a key authenticates no request, and every other key stays in force', async (t) => {
  const { gateway, issue } = stand;
  const store = openSealedStore({ directory: gateway.dataDir });
  t.teardown(() => store.close());
  const secret = newSecret();
  const half = { name: 'x', digest: digestOf(secret), enabled: true, user_path: '/a/../b' };
  await commitAnyhow(store, { expected: new Map(), changes: [{ kind: authKeyKind, id: 'half', body: half }] });
  const right = await issue();
  for (const [token, status] of [
    [right.secret, 200],
    [secret, 401],
  ] as const) {
    const response = await gateway.fetch('/v1/models', bearer(token));
    t.equal(response.status, status);
    await response.body?.cancel();
  }
});
