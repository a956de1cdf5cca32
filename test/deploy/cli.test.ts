// The command `model-gateway`: what it says of itself, and what it says when it is called wrongly.
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { test } from 'tap';
import { parse } from 'yaml';
import { commands } from '../../deploy/cli/table.ts';
import { modelCatalogue } from '../../domain/models/model-facts.ts';
import { listen } from '../support/ports.ts';

const launch = join(import.meta.dirname, '../../deploy/cli/launch.ts');

interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

function run(file: string, ...args: string[]): Promise<Ended> {
  return promisify(execFile)(file, args).then(
    (output) => ({ code: 0, ...output }),
    (failure: Ended) => failure,
  );
}

const gateway = (...args: string[]) => run(process.execPath, launch, ...args);

await test('the help names every command, and each command has a help', async (t) => {
  const { code, stdout } = await gateway('--help');
  t.equal(code, 0);
  for (const { name, summary } of commands) t.ok(stdout.includes(`  ${name.padEnd(14)} ${summary}`), name);
  for (const command of commands.filter((each) => 'help' in each && each.help !== undefined))
    t.match(command, { help: new RegExp(`^usage: model-gateway ${command.name}\\b`) });
});

await test('a program that has a help of its own says it', async (t) => {
  t.match(await gateway('help', 'check'), { code: 0, stdout: /^usage: model-gateway check DIR/ });
});

await test('a wrong call ends with 2 and says what is right', async (t) => {
  t.match(await gateway(), { code: 2, stderr: /^usage: model-gateway COMMAND/ });
  t.match(await gateway('chek'), { code: 2, stderr: /^there is no command chek; did you mean "check"\?/ });
  t.match(await gateway('explain', '--modle', 'chat'), {
    code: 2,
    stderr: /'--modle'[\s\S]*usage: model-gateway explain/,
  });
  t.match(await gateway('keys', 'issue'), { code: 2, stderr: /^usage: model-gateway keys/ });
  t.match(await gateway('diff', 'examples/quickstart/config'), { code: 2, stderr: /^usage: model-gateway diff/ });
});

await test('a new key of the configuration: the secret, and an entry that its check accepts', async (t) => {
  const rights = ['--user-path', '/team/ci', '--models', 'chat, fast', '--role', 'viewer'];
  const { code, stdout } = await gateway('keys', 'new', 'ci', ...rights);
  t.equal(code, 0);
  const [secret = '', , ...yaml] = stdout.split('\n');
  t.match(secret, /^sk-gw-[\w-]{43}$/);
  t.same(parse(yaml.join('\n')), {
    keys: [
      {
        name: 'ci',
        hash: `sha256:${createHash('sha256').update(secret).digest('hex')}`,
        user_path: '/team/ci',
        allowed_models: ['chat', 'fast'],
        dashboard_access: true,
        role: 'viewer',
      },
    ],
  });
  t.throws(() => parse(stdout), 'the secret is not put into git as it is');
  t.match(await gateway('keys', 'new', 'c i'), { code: 1, stderr: /NAME must be/ });
});

await test('a list of keys says which of them open the admin API', async (t) => {
  const key = { id: 'key-1', name: 'Ann', active: true, user_path: '/team-a', role: 'viewer' };
  const server = createServer((_request, response) =>
    response.setHeader('content-type', 'application/json').end(JSON.stringify([key, { ...key, role: undefined }])),
  ).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close());
  const { port } = server.address() as AddressInfo;
  process.env['GATEWAY_MASTER_KEY'] = 'sk-master';
  t.teardown(() => delete process.env['GATEWAY_MASTER_KEY']);
  t.match(await gateway('keys', 'list', '--url', `http://127.0.0.1:${port}`), {
    stdout: 'key-1  active  /team-a  Ann  role viewer\nkey-1  active  /team-a  Ann\n',
  });
});

await test('a program takes the place of the command: its exit code is that of the program', async (t) => {
  t.match(await gateway('check', 'test/fixtures/config/bad/alias-cycle-of-two'), { code: 1 });
});

await test('a plan of a gateway that lies writes nothing outside its own folder, and shows no key', async (t) => {
  const head = { traffic: 1, from: '2026-03-01T00:00:00Z', to: '2026-03-02T00:00:00Z', share: 1, hashed: false };
  const server = createServer(({ url = '' }, response) => {
    const files = { config_revision: 'abc', files: [{ file: '../outside.yaml' }] };
    response.end(`${JSON.stringify(url.startsWith('/admin/traffic') ? head : files)}\n`);
  });
  const address = `http://127.0.0.1:${await listen(server)}`;
  t.teardown(() => server.close());
  const env = { ...process.env, GATEWAY_MASTER_KEY: 'sk-not-to-be-shown' };
  const args = [launch, 'plan', 'examples/quickstart/config', '--live', address];
  const ended = await promisify(execFile)(process.execPath, args, { env }).catch((failure: Ended) => failure);
  t.match(ended, { code: 1, stderr: /names a file that cannot be written here: "\.\.\/outside\.yaml".*--against/ });
  t.notMatch(ended, { stderr: /sk-not/ });
});

await test('a newer catalogue of models is compared with this one, a broken one is refused with its place', async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'gateway-catalogue-'));
  t.teardown(() => rmSync(directory, { recursive: true }));
  const file = join(directory, 'newer.json');
  const anthropic = modelCatalogue.models['anthropic'] ?? [];
  const groups = [{ ids: ['gpt-9'], context_window: 5 }];
  writeFileSync(
    file,
    JSON.stringify({ date: '2031-01-01', models: { ...modelCatalogue.models, anthropic: [...anthropic, ...groups] } }),
  );
  t.match(await gateway('catalogue', 'diff', file), {
    code: 0,
    stdout: /to 2031-01-01: 1 models differ\n\+ anthropic\/gpt-9: context_window 5\n$/,
  });
  writeFileSync(
    file,
    JSON.stringify({ date: '2031-01-01', models: { openai: [{ ids: ['a'], context_window: 'x' }] } }),
  );
  t.match(await gateway('catalogue', 'diff', file), {
    code: 1,
    stderr: /models\.openai\[0\] context_window must be integer/,
  });
  t.match(await gateway('catalogue', 'dif', file), { code: 2, stderr: /^usage: model-gateway catalogue diff/ });
});

await test('a shell completes commands and their words', async (t) => {
  const { stdout: script } = await gateway('completion', 'bash');
  const completed = async (...words: string[]): Promise<string> => {
    const typed = `COMP_WORDS=(${words.join(' ')}) COMP_CWORD=${words.length - 1}`;
    return (await run('bash', '-c', `${script}\n${typed}\n_model_gateway\necho $COMPREPLY`)).stdout.trim();
  };
  t.equal(await completed('model-gateway', 'ke'), 'keys');
  t.equal(await completed('model-gateway', 'keys', 'i'), 'issue');
});
