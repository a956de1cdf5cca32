// An unexpected exception: inside a request it costs that request; anywhere else the process ends with its counters written.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';
import { t as suite, type Test, test } from 'tap';
import { askTimes, countsOf } from '../support/counters.ts';
import { type Behaviour, createGate, startFakeUpstream } from '../support/fake-upstream.ts';
import { masterKey, startGateway } from '../support/gateway.ts';
import { journaled } from '../support/journal.ts';
import { type LogLine, type RunningProcess, startProcess } from '../support/process.ts';
import { openRaw, type RawResponse } from '../support/raw-http.ts';
import { temporaryDirectory } from '../support/teardown.ts';
import { waitFor } from '../support/wait-for.ts';
import { canary, saboteur } from './saboteur.ts';

const path = '/v1/chat/completions';
const models = ['fake-small', 'break-target'];
const upstream = await startFakeUpstream({ t: suite, models });
suite.setTimeout(240_000);
suite.beforeEach(() => upstream.behave({ kind: 'openai' }));

/** Node flags that run a program before the process under test; it is removed with the test. */
function preload(program: string): string[] {
  const file = join(temporaryDirectory(suite), 'preload.mjs');
  writeFileSync(file, program);
  return ['--import', pathToFileURL(file).href];
}

const limits = { period: 'hour', max_requests: 1_000_000, max_tokens: 1_000_000_000 };
const slots = { period: 'concurrent', max_requests: 50 };
const config = {
  rate_limits: {
    user_paths: [{ path: '/', limits: [limits, slots] }],
    providers: [{ name: 'fake', limits: [limits, slots] }],
  },
};

const bombs = {
  'an exception in a timer': `setTimeout(() => { throw new TypeError('${canary}'); }, 0)`,
  'a rejected promise': `Promise.reject(new TypeError('${canary}'))`,
  'a rejected promise without an error': `Promise.reject('${canary}')`,
};

/** Node flags for a process that holds every bomb; SIGUSR2 sets off the one that the variable `BOMB` names. */
const withBombs = preload(`const bombs = {
${Object.entries(bombs)
  .map(([name, bomb]) => `${JSON.stringify(name)}: () => { ${bomb}; }`)
  .join(',\n')}
};
process.on('SIGUSR2', () => bombs[process.env.BOMB]());
`);

/** It fails on purpose, for requests that ask for it; at the end each bomb ends it, and it is started again. */
const gateway = await startGateway(suite, {
  upstream,
  config,
  execArgv: [...preload(saboteur), ...withBombs],
  fromSource: true,
  env: { BOMB: 'an exception in a timer' },
});

// --- a request catches it

interface Broken {
  userPath?: string;
  /** JSON text. */
  model?: string;
  method?: 'GET';
  target?: string;
  /** What it costs of the windows: nothing before the provider is asked. */
  counted: 0 | 1;
}

/** By the step that fails. */
const steps: Record<string, Broken> = {
  authenticate: { userPath: '/break-authenticate', counted: 0 },
  receive: { counted: 0 },
  read: { model: '"break-read\\u0021"', counted: 0 },
  resolve: { model: '"break-resolve"', counted: 0 },
  admit: { userPath: '/break-admit', counted: 0 },
  target: { model: '"break-target"', counted: 0 },
  dispatch: { counted: 1 },
  relay: { counted: 1 },
  'relay-stream': { model: '"fake-small","stream":true', counted: 1 },
  usage: { method: 'GET', target: '/v1/usage', userPath: '/break-admit', counted: 0 },
};

function requestOf(id: string, { userPath = '/', model = '"fake-small"', method, target = path }: Broken): string {
  const body = method === 'GET' ? '' : `{"model":${model},"messages":[]}`;
  const lines = [`${method ?? 'POST'} ${target} HTTP/1.1`, 'Host: x', `Authorization: Bearer ${masterKey}`];
  const framing = [`X-Request-Id: ${id}`, `X-Gateway-User-Path: ${userPath}`];
  if (body !== '') framing.push('Content-Type: application/json', `Content-Length: ${body.length}`);
  return `${[...lines, ...framing].join('\r\n')}\r\n\r\n${body}`;
}

await test('an unexpected failure in any step of a request is the end of that request alone', async (t) => {
  const gate = createGate();
  t.teardown(() => gate.release());
  await upstream.behave([{ kind: 'hold', gate }]);
  const asked = upstream.ledger.length;
  const bystander = gateway.fetch(path, { method: 'POST', body: { model: 'fake-small', messages: [] } });
  await upstream.waitFor((ledger) => ledger[asked]?.bodyComplete);

  for (const [step, broken] of Object.entries(steps)) {
    const before = await countsOf(gateway);
    const id = `break-${step}-1`;
    const connection = await openRaw(gateway.port, { t });
    await connection.send(requestOf(id, broken));
    const answer: RawResponse = await connection.waitFor(({ responses }) => responses[0]?.complete && responses[0]);
    t.equal(answer.status, 500, step);
    t.equal(answer.header('x-request-id'), id);
    const { error } = answer.json() as { error: Record<string, unknown> };
    t.match(error, { code: 'internal_error', type: 'provider_error', param: null, message: id });
    t.notOk('provider' in error);
    t.notMatch(answer.text(), /TypeError|on purpose|at .*\.ts/);
    const logged = gateway.process.logs().filter(({ request_id }) => request_id === id);
    t.match(
      logged,
      [{ level: 'error', msg: 'unexpected failure', err: { message: canary, stack: /preload\.mjs/ } }],
      step,
    );
    t.equal(logged.length, 1);
    const after = await countsOf(gateway);
    t.equal(after.requests - before.requests, broken.counted, `${step}: the window`);
    t.equal(await gateway.metric('gateway_rate_limit_in_flight'), 2, `${step}: the bystander's slots and no other`);
    t.equal(await gateway.metric('gateway_requests_in_flight'), 1, step);
    await askTimes(gateway, 1);
  }
  gate.release();
  t.equal((await bystander).status, 200);
  await waitFor('all slots to be free', async () => (await countsOf(gateway)).inFlight === 0);
  t.equal(await gateway.metric('gateway_rate_limit_in_flight'), 0);
  t.equal(await gateway.metric('gateway_requests_in_flight'), 0);
  t.ok(gateway.process.running);
});

await test('an unexpected failure in the middle of a stream breaks that stream off', async (t) => {
  const { requests: before } = await countsOf(gateway);
  const gate = createGate();
  const event = (text: string) => `data: {"choices":[{"index":0,"delta":{"content":"${text}"}}]}\n\n`;
  t.teardown(() => gate.release());
  await upstream.behave({ kind: 'sse', chunks: [event('first'), gate, event('second'), 'data: [DONE]\n\n'] });
  const streaming = { model: '"fake-small","stream":true', counted: 1 } as const;
  const connections = await Promise.all(
    ['break-stream-1', 'fine'].map(async (id) => {
      const connection = await openRaw(gateway.port, { t });
      await connection.send(requestOf(id, streaming));
      await connection.waitFor(({ responses }) => responses[0]?.text().includes('first'));
      return connection;
    }),
  );
  gate.release();
  const [broken, fine] = connections;
  const whole = await fine?.waitFor(({ responses }) => responses[0]?.complete && responses[0]);
  t.match(whole?.text(), /second.*\n\ndata: \[DONE\]\n\n$/);
  const cut = await broken?.waitFor(({ responses }) => responses[0]?.complete && responses[0]);
  t.match(cut?.text(), /^data: [^\n]*first[^\n]*\n\ndata: \{"error":[^\n]*\n\n$/, 'an error in place of the rest');
  const { error } = JSON.parse(cut?.text().split('data: ')[2] ?? '') as { error: Record<string, unknown> };
  t.match(error, { code: 'internal_error', type: 'provider_error', message: 'break-stream-1' });
  t.notOk('provider' in error, 'it is not the fault of the provider');
  const logged = gateway.process.logs().filter(({ request_id }) => request_id === 'break-stream-1');
  t.match(logged, [{ level: 'error', msg: 'unexpected failure', err: { message: canary, stack: /preload\.mjs/ } }]);
  t.equal(logged.length, 1);
  t.notMatch(cut?.text(), canary);
  const short = `${event('first')}${event('second')}data: [DONE]\n\n`;
  const head = `HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: ${short.length}\r\n\r\n`;
  await upstream.behave({ kind: 'raw', steps: [head + short] });
  const whollyThere = await openRaw(gateway.port, { t });
  await whollyThere.send(requestOf('break-stream-2', streaming));
  const failed = await whollyThere.waitFor(({ responses }) => responses[0]?.complete && responses[0]);
  t.match(
    failed.text(),
    /"code":"internal_error"[^\n]*\n\n$/,
    'also when all of it was there before the first byte went out',
  );
  t.notMatch(failed.text(), /\[DONE\]/);
  await waitFor('all slots to be free', async () => (await countsOf(gateway)).inFlight === 0);
  t.equal(await gateway.metric('gateway_requests_in_flight'), 0);
  t.equal((await countsOf(gateway)).requests, before + 3);
  await upstream.behave({ kind: 'openai' });
  await askTimes(gateway, 1);
});

await test('an unexpected failure at the very end of an answer cuts the connection and holds nothing', async (t) => {
  const long = `{"choices":[],"padding":"${'x'.repeat(200_000)}"}`;
  const ok = 'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n';
  const answers: Record<string, Behaviour> = {
    'a short answer': { kind: 'openai' },
    'a stream': { kind: 'sse', chunks: ['data: {"choices":[]}\n\n', 'data: [DONE]\n\n'] },
    'a long answer': { kind: 'raw', steps: [`${ok}Content-Length: ${long.length}\r\n\r\n${long}`] },
    'a refusal': { kind: 'raw', steps: [`${ok}Content-Length: 4\r\n\r\nnone`] },
  };
  for (const [index, [answer, behaviour]] of Object.entries(answers).entries()) {
    await upstream.behave(behaviour);
    const id = `break-end-${index}`;
    const connection = await openRaw(gateway.port, { t });
    await connection.send(requestOf(id, { counted: 1 }));
    await connection.waitFor(({ closedByServer }) => closedByServer);
    const logged = gateway.process.logs().filter(({ request_id }) => request_id === id);
    t.match(logged, [{ level: 'error', msg: 'unexpected failure', err: { message: canary } }], answer);
    t.equal(logged.length, 1);
    await waitFor('all slots to be free', async () => (await countsOf(gateway)).inFlight === 0);
    t.equal(await gateway.metric('gateway_requests_in_flight'), 0);
  }
  const connection = await openRaw(gateway.port, { t });
  await connection.send(requestOf('break-end-outside', { counted: 0, method: 'GET', target: '/%zz' }));
  await connection.waitFor(({ closedByServer }) => closedByServer);
  await upstream.behave({ kind: 'openai' });
  await askTimes(gateway, 1);
});

// --- it is not caught

/** What it said of its end, in every run. */
const fatalLines = (process: RunningProcess): LogLine[] => process.logs().filter(({ level }) => level === 'fatal');

/** Sets the bomb off; the process must be gone within a second, with one line about it. Gives that line. */
async function explode(t: Test, process: RunningProcess): Promise<LogLine | undefined> {
  const before = fatalLines(process).length;
  const startedMs = performance.now();
  process.signal('SIGUSR2');
  const exit = await process.exited;
  const tookMs = performance.now() - startedMs;
  t.same(exit, { code: 1, signal: null });
  t.comment(`gone after ${tookMs.toFixed(0)} ms`);
  t.ok(tookMs < 4_000, 'a second, and what a busy machine adds');
  const fatal = fatalLines(process).slice(before);
  t.equal(fatal.length, 1, 'one line');
  t.match(fatal[0], { msg: 'uncaught: the process ends' });
  t.match(JSON.stringify(fatal[0]), canary);
  return fatal[0];
}

await test('an exception in a timer ends the proxy at once, with everything counted written down', async (t) => {
  const { requests } = await countsOf(gateway);
  const stderr = gateway.process.stderr.length;
  await askTimes(gateway, 7);
  const before = await countsOf(gateway);
  t.equal(before.requests, requests + 7);
  const fatal = await explode(t, gateway.process);
  t.match(fatal, { err: { type: 'TypeError', message: canary, stack: /preload\.mjs/ } });
  t.notMatch(gateway.process.stderr.slice(stderr).join('\n'), /preload/, 'and nothing besides');
  t.same(
    journaled(gateway)
      .slice(-7)
      .map(({ user_path }) => user_path),
    Array.from({ length: 7 }, () => '/'),
    'the journal, too',
  );
  await gateway.restart({ BOMB: 'a rejected promise' });
  t.same(await countsOf(gateway), before);
});

await test('a rejected promise: what was counted while the last write was under way is not lost either', async (t) => {
  const file = join(gateway.dataDir, 'state.sqlite');
  const other = new DatabaseSync(file, { timeout: 1_000 });
  t.teardown(() => other.isOpen && other.close());
  const writes = (): number => Number(other.prepare('SELECT max(sequence) AS last FROM counter_write').get()?.['last']);
  const { requests } = await countsOf(gateway);
  await askTimes(gateway, 1);
  const before = writes();
  await waitFor('a write', () => writes() > before);
  const writtenMs = performance.now();
  other.exec('BEGIN IMMEDIATE');
  await askTimes(gateway, 1);
  // The next write, a second after the last one, waits for us.
  await waitFor('the next write to begin', () => performance.now() - writtenMs > 1_150);
  await askTimes(gateway, 1);
  const expected = await countsOf(gateway);
  t.equal(expected.requests, requests + 3);
  const fatal = fatalLines(gateway.process).length;
  gateway.process.signal('SIGUSR2');
  await waitFor('the end to begin', () => fatalLines(gateway.process).length > fatal);
  other.exec('ROLLBACK');
  other.close();
  t.same(await gateway.process.exited, { code: 1, signal: null });
  const said = fatalLines(gateway.process).slice(fatal);
  t.match(said, [{ err: { type: 'TypeError', message: canary, stack: /preload\.mjs/ } }]);
  t.equal(said.length, 1, 'one line');
  await gateway.restart({ BOMB: 'a rejected promise without an error' });
  t.same(await countsOf(gateway), expected);
});

await test('a rejected promise without an error: a store that takes nothing does not hold up the end', async (t) => {
  await askTimes(gateway, 2);
  const other = new DatabaseSync(join(gateway.dataDir, 'state.sqlite'), { timeout: 1_000 });
  t.teardown(() => other.close());
  other.exec('BEGIN IMMEDIATE');
  await askTimes(gateway, 1);
  await explode(t, gateway.process);
});

await test('an uncaught exception ends the control plane too', async (t) => {
  const home = temporaryDirectory(t);
  writeFileSync(join(home, 'gateway.yaml'), '{}');
  const child = await startProcess({
    t,
    entry: 'control-plane/main.ts',
    execArgv: withBombs,
    env: {
      GATEWAY_ADMIN_PORT: '0',
      GATEWAY_MASTER_KEY: masterKey,
      GATEWAY_CONFIG: home,
      GATEWAY_DATA: join(home, 'data'),
      BOMB: 'a rejected promise',
    },
  });
  const authorization = `Bearer ${masterKey}`;
  const written = await fetch(`${child.address}/admin/rate-limits`, {
    method: 'PUT',
    headers: { authorization, 'content-type': 'application/json' },
    body: JSON.stringify({ user_path: '/team', limit_key: { period: 'minute' }, max_requests: 3 }),
  });
  t.equal(written.status, 200);
  await explode(t, child);
  await child.restart();
  const listing = await fetch(`${child.address}/admin/rate-limits`, { headers: { authorization } });
  t.match(await listing.json(), { rate_limits: [{ subject: '/team', max_requests: 3 }] });
});
