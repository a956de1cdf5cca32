// The package that `npm pack ./dist` makes, as a stranger uses it: in an empty folder, with npx, without the repository.
import { execFile, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, globSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { t as suite, test } from 'tap';
import { build } from '../../deploy/build.ts';
import { commands } from '../../deploy/cli/table.ts';
import { freePort } from '../support/ports.ts';
import { temporaryDirectory } from '../support/teardown.ts';
import { waitFor } from '../support/wait-for.ts';

const patienceMs = 60_000;
const home = temporaryDirectory(suite, 'package');
const folder = join(home, 'empty');
mkdirSync(folder);
const built = process.env['TEST_BUILD'] ?? join(home, 'dist');
if (process.env['TEST_BUILD'] === undefined) await build(built);

const env = {
  ...process.env,
  PATH: `${dirname(process.execPath)}${delimiter}${process.env['PATH']}`,
  // npx keeps what it installs in it.
  npm_config_cache: join(home, 'npm'),
  GATEWAY_PORT: String(await freePort()),
  GATEWAY_ADMIN_PORT: String(await freePort()),
  DEMO_PROVIDER_PORT: String(await freePort()),
};
const url = `http://127.0.0.1:${env.GATEWAY_PORT}`;

interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

function run(command: string, args: readonly string[], cwd = folder): Promise<Ended> {
  return promisify(execFile)(command, args, { cwd, env, timeout: patienceMs }).then(
    (output) => ({ code: 0, ...output }),
    (failure: Ended) => failure,
  );
}

const { stdout: packed } = await run('npm', ['pack', '--silent', built], home);
/** Node itself is left out: npm has it from the registry, and the tests run with it already. */
const npx = ['--yes', '--omit=optional', '--package', join(home, packed.trim()), '--', 'model-gateway'];
/** What npx has installed; npx itself takes seconds each time. */
function gateway(...args: string[]) {
  const [file = ''] = globSync(join(home, 'npm/_npx/*/node_modules/.bin/model-gateway'));
  return run(process.execPath, [file, ...args]);
}

await test('model-gateway start answers, copies the configuration of the quick start, and stops', async (t) => {
  const child = spawn('npx', [...npx, 'start'], {
    cwd: folder,
    env,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  // npx ends at once on a signal; the gateway, which has the same output, when it has drained.
  const closed = once(child, 'close');
  t.teardown(async () => {
    if (!hasEnded && child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
    await closed;
  });
  let hasEnded = false;
  let said = '';
  for (const output of [child.stdout, child.stderr]) output.on('data', (chunk: Buffer) => (said += chunk.toString()));
  await waitFor('the start', () => /Ctrl-C stops everything/.test(said) || child.exitCode !== null, patienceMs);
  t.match(said, /The gateway is up/);
  t.ok(existsSync(join(folder, 'config/providers.yaml')), 'the configuration is for editing');

  const masterKey = readFileSync(join(folder, 'data/master-key'), 'utf8').trim();
  const ask = (key: string): Promise<Response> =>
    fetch(`${url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'chat', messages: [{ role: 'user', content: 'What is a gateway?' }] }),
    });
  t.equal((await ask(masterKey)).status, 200);
  const page = await fetch(`${url}/admin/dashboard`);
  const [, script = ''] = /src="([^"]+\.js)"/.exec(await page.text()) ?? [];
  t.equal((await fetch(`${url}${script}`)).status, 200, 'the dashboard has its modules');

  t.match(await gateway('explain', 'chat', '--user-path', '/team-a'), {
    code: 0,
    stdout: /^It would be sent to demo\//,
  });
  t.match(await gateway('explain', 'nothing-like-it'), { code: 1, stderr: /404.*nothing-like-it/ });
  const issued = await gateway('keys', 'issue', 'Ann', '--user-path', '/team-a', '--json');
  const { id, value } = JSON.parse(issued.stdout) as { id: string; value: string };
  t.equal((await ask(value)).status, 200, 'a key that was issued works');
  t.match(await gateway('keys', 'revoke', id), { code: 0, stdout: new RegExp(`^${id} {2}refused {2}/team-a {2}Ann`) });
  t.match(await gateway('keys', 'list'), { code: 0, stdout: new RegExp(`^${id} {2}refused`) });
  const write = (path: string, body: object): Promise<Response> =>
    fetch(`${url}/admin/${path}`, {
      method: 'PUT',
      headers: { authorization: `Bearer ${masterKey}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
  await write('rate-limits', { user_path: '/team-a', period: 'minute', max_requests: 9, reason: 'launch day' });
  await write('virtual-models', { source: 'fast', targets: [{ model: 'demo/demo-small' }] });
  const exported = await gateway('export', 'config');
  t.match(exported, { code: 0, stdout: /written: config\/manual\.yaml/ });
  t.match(
    readFileSync(join(folder, 'config/manual.yaml'), 'utf8'),
    /source: fast[\s\S]*# launch day\n[\s\S]*max_requests: 9/,
  );
  t.match(await gateway('check', 'config', '--strict'), { code: 0, stdout: /^config: ok/m });

  if (child.pid !== undefined) process.kill(-child.pid, 'SIGINT');
  await closed;
  hasEnded = true;
  t.match(said, /proxy +info +stopped/);
});

await test('a gateway that does not run is named', async (t) => {
  t.match(await gateway('explain', 'chat'), { code: 1, stderr: new RegExp(`${url} does not answer`) });
});

await test('every program of the command is in the package', async (t) => {
  const programs = commands.filter((command) => 'program' in command && command.help === undefined);
  for (const { name } of programs)
    t.match(await gateway('help', name), { code: 0, stdout: new RegExp(`^usage: model-gateway ${name}\\b`) }, name);
});

await test('an old Node finds the one that npm has installed beside the gateway', async (t) => {
  const oldNode = process.env['PATH']?.split(delimiter).find((path) => isOld(join(path, 'node')));
  if (oldNode === undefined) return t.comment('no old Node on this machine');
  const installed = join(home, 'installed/node_modules');
  mkdirSync(installed, { recursive: true });
  symlinkSync(built, join(installed, 'model-gateway'));
  const file = join(installed, 'model-gateway/model-gateway.js');
  const without = await run(join(oldNode, 'node'), ['--preserve-symlinks-main', file, 'version']);
  t.match(without, { code: 1, stderr: /needs Node 24\.9 or newer; this is / });
  mkdirSync(join(installed, `node-${process.platform}-${process.arch}/bin`), { recursive: true });
  symlinkSync(process.execPath, join(installed, `node-${process.platform}-${process.arch}/bin/node`));
  const found = await run(join(oldNode, 'node'), ['--preserve-symlinks-main', file, 'version']);
  t.match(found, { code: 0, stdout: new RegExp(`Node ${process.versions.node.replaceAll('.', '\\.')}`) });
});

function isOld(file: string): boolean {
  const { stdout } = spawnSync(file, ['--version'], { encoding: 'utf8' });
  return Number(/^v(\d+)/.exec(stdout ?? '')?.[1]) < 24;
}
