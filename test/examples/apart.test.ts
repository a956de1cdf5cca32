// The examples do not disturb each other: own data, own ports, own user paths; two of them run at once in one checkout.
import { existsSync, globSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'tap';
import { parse } from 'yaml';
import { exampleVariables, startedExamples } from '../../deploy/local/examples.ts';
import { startProcess } from '../support/process.ts';
import { type Teardown, temporaryDirectory } from '../support/teardown.ts';

const top = join(import.meta.dirname, '../..');
const folder = join(top, 'examples');
const examples = readdirSync(folder);
const readmeOf = (example: string): string => readFileSync(join(folder, example, 'README.md'), 'utf8');

/** The first parts of the user paths that the config of an example speaks of. */
function firstParts(example: string): Set<string> {
  const found = new Set<string>();
  const walk = (value: unknown, key = ''): void => {
    if (typeof value === 'string' && ['path', 'user_paths', 'without'].includes(key)) {
      const [, first = ''] = `/${value}`.split(/\/+/);
      if (first !== '') found.add(first);
    } else if (Array.isArray(value)) for (const item of value) walk(item, key);
    else if (typeof value === 'object' && value !== null)
      for (const [name, item] of Object.entries(value)) walk(item, name);
  };
  for (const file of globSync('config/**/*.yaml', { cwd: join(folder, example) }))
    walk(parse(readFileSync(join(folder, example, file), 'utf8')));
  return found;
}

await test('no two examples speak of one user path, have one port or one place for data', async (t) => {
  const owners = Map.groupBy(
    examples.flatMap((example) => [...firstParts(example)].map((part) => ({ part, example }))),
    ({ part }) => part,
  );
  t.ok(owners.size >= 10, `${owners.size} paths`);
  t.same(
    [...owners].filter(([, of]) => of.length > 1),
    [],
  );

  t.same([...startedExamples, 'fleet', 'quickstart'].sort(), examples, 'every example can be started');
  const places = startedExamples.flatMap((example) => {
    const own = exampleVariables(example, top) ?? {};
    t.ok(existsSync(join(top, 'examples', example, 'config')));
    return [own['GATEWAY_DATA'], own['GATEWAY_PORT'], own['GATEWAY_ADMIN_PORT'], own['DEMO_PROVIDER_PORT']];
  });
  t.equal(new Set(places).size, startedExamples.length * 4);
});

await test('the README of each example says what it has of its own, and names nothing of another one', async (t) => {
  for (const example of startedExamples) {
    const readme = readmeOf(example);
    const { GATEWAY_PORT: port = '' } = exampleVariables(example, top) ?? {};
    t.match(readme, `npm start -- ${example}\n`, example);
    t.match(readme, `\`data/${example}\` and listens at ${port} to `, example);
    const ports = [...readme.matchAll(/(?:127\.0\.0\.1|localhost):(8\d{3})\b/g)].map(([, named]) => Number(named));
    t.same(
      ports.filter((named) => named < Number(port) || named > Number(port) + 9),
      [],
      example,
    );
    const data = [...readme.matchAll(/\bdata\/([a-z-]+)\//g)].map(([, named]) => named);
    t.same(
      data.filter((named) => named !== example),
      [],
      example,
    );
  }
  t.match(readmeOf('fleet'), '`data/fleet` and listens at 8220 to 8223');
});

/** On free ports: those of its own may be taken on a machine that runs tests. */
async function start(t: Teardown, example: string, cwd: string) {
  const env = { GATEWAY_PORT: '0', GATEWAY_ADMIN_PORT: '0', DEMO_PROVIDER_PORT: '0' };
  const run = await startProcess({
    t,
    entry: 'deploy/local.ts',
    args: [example],
    cwd,
    env,
    ready: { line: /^Ctrl-C stops everything/ },
  });
  t.teardown(() => run.stop());
  const [, url = ''] = /^ {2}API +(\S+)\/v1$/m.exec(run.stdout.join('\n')) ?? [];
  const headers = { authorization: `Bearer ${readFileSync(join(cwd, 'data', example, 'master-key'), 'utf8').trim()}` };
  const ask = async (path: string, model: string): Promise<number> => {
    const body = JSON.stringify({ model, messages: [{ role: 'user', content: 'Hello' }] });
    const answer = await fetch(`${url}/v1/chat/completions`, {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json', 'x-gateway-user-path': path },
      body,
    });
    await answer.body?.cancel();
    return answer.status;
  };
  return { run, headers, ask };
}

await test('two run at once in one place, and one goes on where it ended', async (t) => {
  const cwd = temporaryDirectory(t, 'examples');
  const [limits, spending] = await Promise.all([start(t, 'team-limits', cwd), start(t, 'chargeback', cwd)]);
  t.not(limits.headers.authorization, spending.headers.authorization, 'each has a master key of its own');
  const statuses: number[] = [];
  for (let count = 0; count < 4; count += 1) statuses.push(await limits.ask('/team-a/app', 'chat'));
  t.same(statuses, [200, 200, 200, 429]);
  t.equal(await spending.ask('/team-a/app', 'demo-small'), 200, 'the other one counts for itself');
  t.same(readdirSync(join(cwd, 'data')).sort(), ['chargeback', 'team-limits']);
  await limits.run.stop();
  const again = await start(t, 'team-limits', cwd);
  t.equal(await again.ask('/team-a/app', 'chat'), 429, 'its counters are its own, and kept');
});

await test('a name that is no example is said, with those that are', async (t) => {
  const run = await startProcess({ t, entry: 'deploy/local.ts', args: ['cahce'], ready: 'spawned' });
  t.same(await run.exited, { code: 2, signal: null });
  t.match(run.stderr.join('\n'), /there is no example cahce to start; there are cache, chargeback, /);
});
