// The access log of a real proxy: which requests have a line, its content, the switch while it runs, and a standard output that is not read.
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { t as suite, test } from 'tap';
import { createGate, startFakeUpstream } from '../support/fake-upstream.ts';
import { masterKey, providerKey, readMetric, startGateway, untilIdle, writeStartConfig } from '../support/gateway.ts';
import type { LogLine } from '../support/process.ts';
import { rawRequest } from '../support/raw-http.ts';
import { watchSlowdown } from '../support/slowdown.ts';
import { temporaryDirectory } from '../support/teardown.ts';
import { waitFor } from '../support/wait-for.ts';

const upstream = await startFakeUpstream({ t: suite, models: ['m'] });
const other = await startFakeUpstream({ t: suite, models: ['m'] });

const provider = ({ url }: { url: string }) => ({
  type: 'openai',
  base_url: url,
  api_key: `\${TEST_PROVIDER_KEY}`,
  models: ['m'],
});
const config = (access_log?: string) => ({
  'gateway.yaml': {
    ...(access_log === undefined ? {} : { server: { access_log } }),
    providers: { first: provider(upstream), second: provider(other) },
    aliases: [{ source: 'both', targets: [{ model: 'first/m', weight: 1000000 }, { model: 'second/m' }] }],
    rate_limits: {
      user_paths: [
        { path: '/few', limits: [{ period: 'minute', max_requests: 1, name: 'few at a time' }] },
        { path: '/unnamed', limits: [{ period: 'minute', max_requests: 1 }] },
      ],
    },
  },
});
const gateway = await startGateway(suite, { files: config() });

/** The lines of requests with this id; each request has one at most. */
const linesOf = (id: string): LogLine[] => gateway.process.requests().filter((line) => line['request_id'] === id);

const lineOf = (id: string): Promise<LogLine> => waitFor(`the line of ${id}`, () => linesOf(id)[0], 2_000);

interface LoggedRequest {
  readonly path?: string;
  readonly model?: string;
  readonly stream?: boolean;
}

async function ask(id: string, { path = '/team/ann', model = 'first/m', stream = false }: LoggedRequest = {}) {
  const response = await gateway.fetch('/v1/chat/completions', {
    method: 'POST',
    headers: { 'x-request-id': id, 'x-gateway-user-path': path },
    body: { model, stream, messages: [{ role: 'user', content: 'a secret question' }] },
  });
  return { status: response.status, text: await response.text().catch(() => ''), headers: response.headers };
}

suite.beforeEach(async () => {
  await upstream.behave({ kind: 'openai' });
  await other.behave({ kind: 'openai' });
});

await test('by default failures alone have a line; the rule that refused is in it by name, in the 429 and in the listing of rules', async (t) => {
  t.equal((await ask('good', { path: '/few' })).status, 200);
  const refused = await ask('refused', { path: '/few' });
  t.equal(refused.status, 429);
  t.equal(refused.headers.get('x-gateway-rule'), 'few at a time');
  const line = await lineOf('refused');
  t.match(line, {
    level: 'info',
    time: /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/,
    service: 'model-gateway',
    plane: 'proxy',
    instance: String,
    version: /^\d+\.\d+\.\d+$/,
    client_address: '127.0.0.1',
    key_id: 'master_key',
    user_path: '/few',
    method: 'POST',
    endpoint: '/v1/chat/completions',
    status: 429,
    error_code: 'rate_limit_exceeded',
    rule: 'few at a time',
    rule_scope: 'user_path',
    attempts: [],
    duration_ms: Number,
    config_revision: /^[0-9a-f]{12}$/,
  });
  const info = /^gateway_rate_limit_rule_info\{.*name="few at a time".*$/m.exec(await gateway.metrics())?.[0];
  t.match(info, `rule="${String(line['rule_id'])}"`);
  t.same(linesOf('good'), []);

  await ask('once', { path: '/unnamed' });
  const unnamed = await ask('unnamed', { path: '/unnamed' });
  const { rule, rule_id: id } = await lineOf('unnamed');
  t.same([rule, unnamed.headers.get('x-gateway-rule')], [id, id], 'a rule without a name goes by its id');
});

await test('every request that fails has a line, wherever it knocks; its key is in none', async (t) => {
  const wrong = { authorization: 'Bearer sk-wrong-canary' };
  await gateway.fetch('/v1/chat/completions', { method: 'POST', headers: { ...wrong, 'x-request-id': 'm' }, body: {} });
  await gateway.fetch('/v1/models?key=canary', { headers: { ...wrong, 'x-request-id': 'models' } });
  await gateway.fetch('/admin/keys', { headers: { ...wrong, 'x-request-id': 'admin' } });
  await gateway.fetch('/nothing', { headers: { 'x-request-id': 'nothing' } });
  const code = { status: 401, error_code: 'invalid_api_key' };
  t.match(await lineOf('m'), { ...code, endpoint: '/v1/chat/completions' });
  t.match(await lineOf('models'), { ...code, method: 'GET', endpoint: '/v1/models', client_address: '127.0.0.1' });
  t.match(await lineOf('admin'), { ...code, endpoint: '/admin/keys' });
  t.notOk('key_id' in (await lineOf('m')));
  await gateway.fetch('/v1/models/unknown', { headers: { 'x-request-id': 'unknown' } });
  t.match(await lineOf('unknown'), { status: 404, error_code: 'model_not_found', endpoint: '/v1/models/unknown' });
  t.match(await lineOf('nothing'), { status: 404, error_code: 'route_not_found', endpoint: '/nothing' });
});

await test('a request that cannot be read has a line, too: by the id of its answer, without method and path', async (t) => {
  const rows: [sent: string, status: number, code: string][] = [
    ['BREW / HTTP/1.1\r\n\r\n', 400, 'malformed_request'],
    [`GET / HTTP/1.1\r\nx: ${'x'.repeat(20_000)}\r\n\r\n`, 431, 'headers_too_large'],
    ['GET / HTTP/1.1\r\nHost: a\r\n', 408, 'request_timeout'],
  ];
  const { 'gateway.yaml': settings } = config();
  await gateway.applyConfig({ 'gateway.yaml': { ...settings, server: { timeouts: { headers: '200ms' } } } });
  for (const [sent, status, error_code] of rows) {
    const { responses } = await rawRequest(gateway.port, sent);
    t.equal(responses[0]?.status, status, error_code);
    const line = await lineOf(responses[0]?.header('x-request-id') ?? '');
    t.match(line, { status, error_code, client_address: '127.0.0.1', config_revision: String, msg: 'request' });
    t.notOk('method' in line || 'endpoint' in line || 'key_id' in line);
  }
});

await test('every attempt is in the line, also of a request that went well in the end', async (t) => {
  await gateway.applyConfig(config('all'));
  await upstream.behave({ kind: 'error', status: 503 });
  t.equal((await ask('over', { model: 'both' })).status, 200);
  t.match(await lineOf('over'), {
    requested_model: 'both',
    resolved_model: 'second/m',
    stream: false,
    status: 200,
    attempts: [
      { provider: 'first', model: 'm', status: 503, ms: Number },
      { provider: 'second', model: 'm', status: 200, ms: Number },
    ],
    prompt_tokens: Number,
    completion_tokens: Number,
    total_tokens: Number,
    tokens_source: 'reported',
    first_byte_ms: Number,
  });
  await upstream.behave({ kind: 'refused' });
  t.equal((await ask('down')).status, 502);
  const unreachable = { provider: 'first', error_code: 'upstream_unavailable' };
  t.match(await lineOf('down'), { status: 502, error_code: 'upstream_unavailable', attempts: [unreachable] });
});

await test('a stream that breaks off, and one whose client leaves, are failures', async (t) => {
  await gateway.applyConfig(config('failures'));
  t.equal((await ask('whole', { stream: true })).status, 200);
  await upstream.behave({ kind: 'cut-chunk', after: 2 });
  t.equal((await ask('cut', { stream: true })).status, 200, 'the status that the client saw');
  t.match(await lineOf('cut'), {
    status: 502,
    error_code: /^(stream_incomplete|upstream_disconnected)$/,
    stream: true,
    attempts: [{ provider: 'first', status: 200, error_code: String }],
  });
  const gate = createGate();
  t.teardown(() => gate.release());
  await upstream.behave({ kind: 'sse', chunks: ['data: {"choices":[]}\n\n', gate, 'data: [DONE]\n\n'] });
  const leaving = new AbortController();
  const response = await gateway.fetch('/v1/chat/completions', {
    method: 'POST',
    headers: { 'x-request-id': 'left' },
    body: { model: 'first/m', stream: true, messages: [] },
    signal: leaving.signal,
  });
  t.equal(response.status, 200);
  leaving.abort();
  t.match(await lineOf('left'), { status: 499, error_code: 'client_left', client_address: '127.0.0.1', stream: true });
  t.same(linesOf('whole'), []);
});

await test('switched while it runs: all, off, failures; nothing secret is in any line', async (t) => {
  await gateway.applyConfig(config('all'));
  await ask('in-all');
  t.match(await lineOf('in-all'), { status: 200 });
  await gateway.applyConfig(config('off'));
  await ask('in-off', { model: 'none' });
  await gateway.fetch('/v1/models', { headers: { authorization: 'Bearer wrong', 'x-request-id': 'stranger' } });
  await gateway.applyConfig(config('failures'));
  await ask('in-failures', { model: 'none' });
  t.match(await lineOf('in-failures'), { status: 404, error_code: 'model_not_found', requested_model: 'none' });
  t.same([...linesOf('in-off'), ...linesOf('stranger')], []);
  await untilIdle(gateway);
  const said = gateway.process.stdout.join('\n');
  for (const secret of [masterKey, providerKey, 'a secret question', 'canary']) t.notMatch(said, secret);
});

await test('waiting lines are written at the end', async (t) => {
  await gateway.applyConfig(config('all'));
  await ask('last');
  await gateway.process.stop();
  t.match(linesOf('last'), [{ status: 200 }]);
});

await test('a standard output that is not read takes bounded memory and delays no request', async (t) => {
  const home = temporaryDirectory(t);
  writeStartConfig(home, { files: config('all') });
  const env = {
    PATH: process.env['PATH'],
    NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'],
    GATEWAY_CONFIG: home,
    GATEWAY_DATA: join(home, 'data'),
    GATEWAY_PORT: '0',
    GATEWAY_MASTER_KEY: masterKey,
    GATEWAY_METRICS_MAX_AGE_MS: '0',
    TEST_PROVIDER_KEY: providerKey,
  };
  const child = spawn(process.execPath, [join(import.meta.dirname, '../../proxy/main.ts')], {
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  t.teardown(() => child.kill('SIGKILL'));
  let said = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    said += text;
  });
  const address = await waitFor('its address', () => /"address":"(http:[^"]+)".*"listening"/.exec(said)?.[1], 30_000);
  child.stdout.pause();

  // A failed login takes no provider, and its line a long path.
  const knock = async (): Promise<void> => {
    const response = await fetch(`${address}/v1/models/${'x'.repeat(300)}`);
    await response.body?.cancel();
  };
  const dropped = async (): Promise<number> =>
    readMetric(await (await fetch(`${address}/metrics`)).text(), 'gateway_access_log_dropped_total') ?? 0;
  let slowestMs = 0;
  const slowdown = watchSlowdown({ pid: child.pid ?? 0 });
  const isDropping = async (): Promise<boolean> => {
    for (let round = 0; round < 20; round += 1) {
      const beganMs = performance.now();
      await Promise.all(Array.from({ length: 25 }, knock));
      slowestMs = Math.max(slowestMs, performance.now() - beganMs);
    }
    return (await dropped()) > 0;
  };
  await waitFor('lines to be dropped', isDropping, 30_000);
  t.ok(slowestMs < 1_000 * slowdown(), `25 requests at a time took at most ${Math.round(slowestMs)} ms`);
  t.equal((await fetch(`${address}/health`)).status, 200);

  child.stdout.resume();
  const told = await waitFor('a line that says how many', () => /^.*"lines were dropped.*$/m.exec(said)?.[0]);
  t.match(JSON.parse(told), { level: 'warn', request_lines: await dropped(), event_lines: 0 });
  child.kill('SIGTERM');
  await waitFor('its end', () => child.exitCode !== null);
});
