// `npm start` as a user runs it: starts, prints a command to paste, stops on Ctrl-C, and leaves nothing behind.
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { t as suite, type Test, test } from 'tap';
import { chooseModel, composeBanner } from '../../deploy/local/banner.ts';
import { renderLogLine } from '../../deploy/local/log-line.ts';
import { findMasterKey } from '../../deploy/local/master-key.ts';
import { type RunningProcess, startProcess } from '../support/process.ts';
import { temporaryDirectory } from '../support/teardown.ts';
import { waitFor } from '../support/wait-for.ts';

const repository = join(import.meta.dirname, '../..');
const lastLine = /^Ctrl-C stops everything/;
/** What processes that end by themselves may take on a busy machine. */
const patienceMs = 30_000;
const freePorts = { GATEWAY_PORT: '0', GATEWAY_ADMIN_PORT: '0', DEMO_PROVIDER_PORT: '0' };

type Options = { env?: Record<string, string>; entry?: string; cwd?: string; ready?: 'spawned' };

async function startLocal(t: Test, { env = {}, entry = 'deploy/local.ts', cwd, ready }: Options = {}) {
  const home = temporaryDirectory(t, 'local');
  const run = await startProcess({
    t,
    entry,
    fromSource: true,
    env: { ...freePorts, ...(cwd === undefined ? { GATEWAY_DATA: join(home, 'data') } : {}), ...env },
    ready: ready ?? { line: lastLine },
    ...(cwd === undefined ? {} : { cwd }),
  });
  // Runs before the harness kills: a killed start leaves its processes to notice by themselves.
  t.teardown(() => run.stop());
  const addresses = run.stdout.flatMap(
    (line) => /^ {2}(?:API|Control plane|Demo provider) +(http:\S+?)(?:\/v1)?$/.exec(line)?.[1] ?? [],
  );
  const key = /^ {2}Master key +(\S+)/m.exec(run.stdout.join('\n'))?.[1] ?? '';
  return { run, home, addresses, url: addresses[0] ?? '', key };
}

async function refuses(address: string): Promise<boolean> {
  return fetch(`${address}/health`).then(
    async (response) => {
      await response.body?.cancel();
      return false;
    },
    () => true,
  );
}

async function allRefuse(addresses: readonly string[]): Promise<boolean> {
  return (await Promise.all(addresses.map(refuses))).every(Boolean);
}

function childrenOf({ pid }: RunningProcess): { pid: number; command: string }[] {
  const pids = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean);
  return pids.map((child) => ({ pid: Number(child), command: readFileSync(`/proc/${child}/cmdline`, 'utf8') }));
}

interface Question {
  readonly model?: string;
  readonly stream?: boolean;
  readonly question?: string;
}

function ask(
  url: string,
  key: string,
  { model = 'chat', stream = true, question = 'Why is the sky blue?' }: Question = {},
): Promise<Response> {
  return fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model, stream, messages: [{ role: 'user', content: question }] }),
  });
}

// Each start has separate ports and directories.
suite.jobs = 2;

void test('one command brings everything up, the printed curl streams, Ctrl-C delivered twice lets open streams finish and takes everything down', async (t) => {
  const { run, home, addresses, url, key } = await startLocal(t);
  t.equal(addresses.length, 3);
  t.match(key, /^sk-gw-[A-Za-z0-9_-]{43}$/);
  t.equal(readFileSync(join(home, 'data/master-key'), 'utf8'), `${key}\n`);
  t.ok(run.stdout.some((line) => line.includes('examples/quickstart/config')));
  t.ok(run.stdout.length < 20, 'the banner is short');
  t.match(run.stderr.join('\n'), /warn .*OPENAI_API_KEY|warn .*openai/, 'a warning of a plane is shown');

  // The printed command, as a shell runs it.
  const from = run.stdout.findIndex((line) => line.startsWith('curl '));
  const to = run.stdout.findIndex((line) => line.startsWith('  -d '));
  const curl = spawn('sh', ['-c', run.stdout.slice(from, to + 1).join('\n')], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const pieces: string[] = [];
  for await (const piece of curl.stdout.setEncoding('utf8')) pieces.push(String(piece));
  t.ok(pieces.length > 5, 'it arrives piece by piece');
  const events = pieces.join('').split('\n\n').filter(Boolean);
  t.equal(events.pop(), 'data: [DONE]');
  const said = events.map((event) => JSON.parse(event.replace('data: ', '')).choices[0]?.delta.content ?? '').join('');
  t.match(said, 'Why is the sky blue?');

  // A terminal signals npm and its child, and npm signals the child again.
  const children = childrenOf(run);
  t.equal(children.length, 3);
  t.ok(children.some(({ command }) => command.includes('--max-semi-space-size=8')));
  const response = await ask(url, key);
  run.signal('SIGINT');
  run.signal('SIGINT');
  t.match(await response.text(), /data: \[DONE\]\n\n$/);
  t.strictSame(await run.exited, { code: 0, signal: null });
  t.ok(await allRefuse(addresses));
  for (const { pid } of children) t.throws(() => process.kill(pid, 0), { code: 'ESRCH' });
});

void test('a second Ctrl-C ends everything at once', async (t) => {
  const own = { LOG_LEVEL: 'silent', GATEWAY_MASTER_KEY: 'sk-own-0123456789', DEMO_TOKEN_INTERVAL_MS: '300' };
  const { run, url, key, addresses } = await startLocal(t, { env: own });
  t.equal(key, own.GATEWAY_MASTER_KEY);
  t.strictSame(run.stderr, [], 'a quiet log level is kept');
  // The answer repeats it, at 300 ms a token: it must last longer than what is to cut it, on a busy machine too.
  const response = await ask(url, key, { model: 'demo/demo-large', question: '?'.repeat(1_000) });
  run.signal('SIGINT');
  await run.waitForLine('Ctrl-C again stops at once');
  await waitFor('the exit', () => {
    run.signal('SIGINT');
    return !run.running;
  });
  t.strictSame(await run.exited, { code: 130, signal: null });
  // When the provider of the demo ends first, the proxy still tells that the stream broke off.
  t.notMatch(await response.text().catch(() => ''), /\[DONE\]/, 'the stream is cut');
  await waitFor('every port to be free', () => allRefuse(addresses), patienceMs);
});

void test('everything stops when the process that started it dies', async (t) => {
  const home = temporaryDirectory(t, 'parent');
  const entry = join(home, 'parent.mjs');
  const command = JSON.stringify([join(repository, 'deploy/local.ts')]);
  writeFileSync(
    entry,
    `import { spawn } from 'node:child_process'; spawn(process.execPath, ${command}, { stdio: 'inherit' });`,
  );
  const { run, addresses } = await startLocal(t, { entry });
  t.equal(addresses.length, 3);
  await run.kill();
  await waitFor('every port to be free', () => allRefuse(addresses), patienceMs);
});

void test('a child whose parent died before it looked ends, too', async (t) => {
  const leash = join(repository, 'deploy/local/leash.ts');
  const entry = join(temporaryDirectory(t, 'orphan'), 'orphan.mjs');
  writeFileSync(entry, 'setInterval(() => {}, 60_000);');
  const dead = spawnSync('true').pid;
  const orphan = await startProcess({
    t,
    entry,
    execArgv: ['--import', leash],
    env: { LOCAL_START_PID: String(dead) },
    ready: 'spawned',
  });
  t.strictSame(await orphan.exited, { code: null, signal: 'SIGTERM' });
});

void test('a start that was killed leaves nothing behind, and open streams finish', async (t) => {
  const { run, url, key } = await startLocal(t);
  const children = childrenOf(run);
  const response = await ask(url, key);
  await run.kill();
  t.match(await response.text(), /data: \[DONE\]\n\n$/);
  await waitFor('every process to be gone', () => children.every(({ pid }) => !existsSync(`/proc/${pid}`)), patienceMs);
});

void test('a port in use is one line that names the port and the variable', async (t) => {
  const holder = createServer().listen(0, '127.0.0.1');
  t.teardown(() => holder.close());
  await waitFor('the port', () => holder.listening);
  const address = holder.address();
  const port = String(typeof address === 'object' && address !== null ? address.port : 0);
  const variables = Object.keys(freePorts);
  const env = Object.fromEntries(variables.map((variable) => [variable, port]));
  const { run } = await startLocal(t, { env, ready: 'spawned' });
  t.strictSame(await run.exited, { code: 1, signal: null });
  const lines = variables.map(
    (variable) => `Port ${port} is in use: set ${variable} to a free port, or stop what runs there.`,
  );
  t.strictSame(run.stderr, lines, 'one line for each variable');
  t.strictSame(run.stdout, []);
});

void test('a config that cannot be used is explained by the plane that reads it first, and stops the start', async (t) => {
  const config = temporaryDirectory(t, 'config');
  writeFileSync(join(config, 'gateway.yaml'), 'provider: {}\n');
  const { run } = await startLocal(t, { env: { GATEWAY_CONFIG: config }, ready: 'spawned' });
  t.strictSame(await run.exited, { code: 1, signal: null });
  t.match(run.stderr[0], /^The control plane stopped \(exit code 1\)/);
  t.match(run.stderr.join('\n'), /gateway\.yaml:1:1 .*provider/);
  t.strictSame(run.stdout, []);
});

void test('a bad environment is explained by the plane that reads it', async (t) => {
  const { run } = await startLocal(t, { env: { LOG_LEVEL: 'loud', GATEWAY_PORT: 'x' }, ready: 'spawned' });
  t.strictSame(await run.exited, { code: 1, signal: null });
  t.match(run.stderr.join('\n'), /LOG_LEVEL must be one of/);
});

void test('a config directory here is preferred to the quickstart, an alias edited in it is live; the death of one process stops the others', async (t) => {
  const cwd = temporaryDirectory(t, 'cwd');
  mkdirSync(join(cwd, 'config'));
  const mine = `{ type: openai, base_url: "\${DEMO_PROVIDER_URL}", models: [demo-embedding, demo-small, demo-large] }`;
  writeFileSync(join(cwd, 'config/gateway.yaml'), `providers: { mine: ${mine} }\n`);
  const aliases = join(cwd, 'config/aliases.yaml');
  writeFileSync(aliases, 'aliases: [{ source: quick, target: mine/demo-small }]\n');
  const { run, url, key, addresses } = await startLocal(t, { cwd });
  t.ok(run.stdout.some((line) => /^ {2}Config +\.\/config /.test(line)));
  t.equal(statSync(join(cwd, 'data/master-key')).mode & 0o777, 0o600);
  const named = /"model":"([^"]+)"/.exec(run.stdout.join('\n'))?.[1] ?? '';
  t.match(named, /^(mine\/demo-(small|large)|quick)$/, 'the command names a model that can chat');
  const response = await ask(url, key, { model: named, stream: false });
  t.equal(response.status, 200);
  await response.body?.cancel();
  const author = async (): Promise<unknown> =>
    ((await (await ask(url, key, { model: 'quick', stream: false })).json()) as { model?: string }).model;
  t.equal(await author(), 'demo-small');
  writeFileSync(aliases, readFileSync(aliases, 'utf8').replace('demo-small', 'demo-large'));
  await waitFor('the new model', async () => (await author()) === 'demo-large');

  const victim = childrenOf(run).find(({ command }) => command.includes('control-plane'));
  process.kill(victim?.pid ?? Number.NaN, 'SIGKILL');
  t.strictSame(await run.exited, { code: 1, signal: null });
  t.ok(run.stderr.includes('The control plane stopped (signal SIGKILL). Its last lines:'));
  t.ok(await allRefuse(addresses));
});

void test('the master key is made once, readable by its owner alone', async (t) => {
  const data = join(temporaryDirectory(t), 'deep/data');
  const made = findMasterKey(undefined, data);
  t.match(made.value, /^sk-gw-[A-Za-z0-9_-]{43}$/);
  t.equal(statSync(join(data, 'master-key')).mode & 0o777, 0o600);
  t.strictSame(findMasterKey('', data), made);
});

void test('the master key comes from the environment when it is there', async (t) => {
  const data = join(temporaryDirectory(t), 'data');
  t.strictSame(findMasterKey('sk-mine', data), { value: 'sk-mine', origin: 'from GATEWAY_MASTER_KEY' });
  const file = join(data, 'master-key');
  t.throws(() => findMasterKey('', data, file), { message: /does not exist/ });
  t.throws(() => findMasterKey('sk-mine', data, file), { message: /are both set/ });
  t.throws(() => statSync(data), { code: 'ENOENT' });
  const { value } = findMasterKey(undefined, data);
  t.strictSame(findMasterKey('', data, file), { value, origin: `from ${file}` });
});

void test('the master key is hidden from others again when its file was opened to them', async (t) => {
  const data = temporaryDirectory(t);
  writeFileSync(join(data, 'master-key'), 'sk-kept\n', { mode: 0o644 });
  t.equal(findMasterKey(undefined, data).value, 'sk-kept');
  t.equal(statSync(join(data, 'master-key')).mode & 0o777, 0o600);
});

void test('the master key is refused when its file holds none', async (t) => {
  for (const content of ['', '\n', 'two words', 'two\nlines']) {
    const data = temporaryDirectory(t);
    writeFileSync(join(data, 'master-key'), content);
    t.throws(() => findMasterKey(undefined, data), { message: /delete it and a new one is made/ });
  }
});

void test('the printed command survives any key and a config without models', async (t) => {
  const running = {
    proxyUrl: 'http://a',
    controlPlaneUrl: 'http://b',
    demoUrl: 'http://c',
    configDirectory: './config',
    masterKey: `it's`,
    keyOrigin: 'from GATEWAY_MASTER_KEY',
  };
  const command = /^curl.*?'$(?=\n\n)/ms.exec(composeBanner({ ...running, model: 'chat' }))?.[0] ?? '';
  const printed = spawnSync('sh', ['-c', command.replace(/^curl/, String.raw`printf '%s\n'`)]).stdout.toString();
  t.match(printed, /^Authorization: Bearer it's$/m);
  t.notMatch(composeBanner({ ...running, model: undefined }), /curl/);
});

void test('the model to ask is chat, else the first that can', async (t) => {
  t.equal(chooseModel(['a', 'chat']), 'chat');
  t.equal(chooseModel(['x/text-embedding-3', 'x/gpt']), 'x/gpt');
  t.equal(chooseModel(['x/embed']), undefined);
});

const rendered: [claim: string, line: string, shown: string][] = [
  [
    'a log line becomes words',
    '{"level":"warn","time":"2026-03-01T21:04:20.512Z","service":"model-gateway","plane":"proxy","instance":"a:1","version":"1.2.3","msg":"careful","file":"a b","n":1}',
    'proxy          warn   careful  file="a b"  n=1',
  ],
  [
    'an error keeps its stack',
    '{"level":"error","msg":"x","err":{"stack":"Error: y\\n    at z"}}',
    'proxy          error  x  err=Error: y\n    at z',
  ],
  [
    'an error without a stack is its message',
    '{"level":"error","msg":"x","err":{"type":"StoreUnavailable","message":"is gone"}}',
    'proxy          error  x  err="is gone"',
  ],
  [
    'no field is left out because of what the message says',
    '{"level":"error","msg":"a.yaml:1:2  x  bad","file":"a.yaml","n":1}',
    'proxy          error  a.yaml:1:2  x  bad  file=a.yaml  n=1',
  ],
  [
    'the place of a problem is not said twice',
    '{"level":"error","file":"a.yaml","line":1,"column":2,"path":"x","msg":"a.yaml:1:2  x  bad"}',
    'proxy          error  a.yaml:1:2  x  bad',
  ],
  ['the level fatal', '{"level":"fatal","msg":"x"}', 'proxy          fatal  x'],
  ['a line that is not JSON stays unchanged', 'plain {words}', 'proxy          plain {words}'],
  ['a line that only looks like JSON stays unchanged', '{broken', 'proxy          {broken'],
  [
    'control characters do not reach the terminal',
    '{"level":"info","msg":"\\u001b[2Jgone\\u009b"}',
    'proxy          info   ?[2Jgone?',
  ],
];
for (const [claim, line, shown] of rendered) {
  void test(`in the terminal ${claim}`, async (t) => {
    t.equal(renderLogLine('proxy', line), shown);
  });
}
