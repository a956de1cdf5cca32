// A day of traffic is served under two configurations on a told clock: the plan, from what was recorded under the first, says what the second refuses.
import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join, resolve } from 'node:path';
import { type Test, test } from 'tap';
import { stringify } from 'yaml';
import { masterKey, startGateway } from '../support/gateway.ts';
import { listen } from '../support/ports.ts';
import { startProcess } from '../support/process.ts';
import { createRandom } from '../support/random.ts';
import { temporaryDirectory } from '../support/teardown.ts';
import { Agent, fetch } from '../support/undici.ts';
import { waitFor } from '../support/wait-for.ts';

const isFull = process.env['RUNS'] === 'full';
const count = isFull ? 200_000 : 800;
const dayMs = 86_400_000;
/** Records of yesterday are kept. */
const startMs = Math.floor(Date.now() / dayMs - 1) * dayMs;
/** A short run has a short day, so that its minutes are as busy. */
const lengthMs = (dayMs * count) / 200_000;
const teams = ['/team-a', '/team-b', '/team-c', '/research', '/batch'];

interface Ask {
  readonly atMs: number;
  readonly userPath: string;
  readonly model: string;
  readonly input: number;
  readonly output: number;
}

/** Busier in the middle; one team in bursts. */
function trafficOf(seed: number): readonly Ask[] {
  const random = createRandom(seed);
  return Array.from({ length: count }, (): Ask => {
    const place = (random() + random()) / 2;
    const team = teams[Math.floor(random() * teams.length)] ?? '/';
    const burst = team === '/batch' ? Math.floor(place * 40) / 40 + random() / 200 : place;
    return {
      atMs: startMs + Math.floor(Math.min(burst, 0.999) * lengthMs),
      userPath: `${team}/user-${Math.floor(random() * 4)}`,
      model: random() < 0.2 ? 'large' : 'chat',
      input: 50 + Math.floor(random() * 2_000),
      output: 10 + Math.floor(random() * 800),
    };
  }).sort((one, other) => one.atMs - other.atMs);
}

/** Its answers have the usage that the question says. */
async function startProvider(t: Test): Promise<string> {
  const server = createServer((request, response) => {
    let text = '';
    request.on('data', (bytes: Buffer) => {
      text += bytes;
    });
    request.on('end', () => {
      const [, input, output] = /in:(\d+) out:(\d+)/.exec(text) ?? [];
      const usage = {
        prompt_tokens: Number(input),
        completion_tokens: Number(output),
        total_tokens: Number(input) + Number(output),
      };
      const choices = [{ index: 0, message: { role: 'assistant', content: 'ok' }, finish_reason: 'stop' }];
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify({ id: 'a', object: 'chat.completion', model: 'm', choices, usage }));
    });
  });
  const port = await listen(server);
  t.teardown(() => server.close());
  return `http://127.0.0.1:${port}/v1`;
}

const price = { input_per_mtok: 1, output_per_mtok: 2 };

function configOf(url: string, limits: object, budgets: object = {}): object {
  const provider = {
    type: 'openai',
    base_url: url,
    api_key: 'sk-provider',
    models: [
      { id: 'small', pricing: price },
      { id: 'large', pricing: price },
    ],
  };
  const aliases = [{ source: 'chat', targets: [{ model: 'main/small' }] }];
  return {
    server: { access_log: 'off' },
    providers: { main: provider },
    aliases,
    rate_limits: { scope: 'replica', ...limits },
    ...budgets,
  };
}

/** Serves all on one connection; gives how many were refused, by the first segment of the user path. */
async function serve(
  t: Test,
  home: string,
  config: object,
  asks: readonly Ask[],
): Promise<ReadonlyMap<string, number>> {
  const gateway = await startGateway(t, {
    home,
    config,
    execArgv: ['--import', resolve('test/support/told-clock.ts')],
    env: { TEST_NOW: String(startMs - 60_000) },
  });
  const dispatcher = new Agent({ connections: 1, pipelining: 1 });
  t.teardown(() => dispatcher.destroy());
  const refused = new Map<string, number>();
  for (const { atMs, userPath, model, input, output } of asks) {
    const answer = await fetch(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      dispatcher,
      headers: {
        authorization: `Bearer ${masterKey}`,
        'content-type': 'application/json',
        'x-gateway-user-path': userPath,
        'x-test-now': String(atMs),
      },
      body: JSON.stringify({
        model,
        max_tokens: 1_000,
        messages: [{ role: 'user', content: `in:${input} out:${output}` }],
      }),
    });
    await answer.arrayBuffer();
    if (answer.status === 429) refused.set(teamOf(userPath), (refused.get(teamOf(userPath)) ?? 0) + 1);
    else if (answer.status !== 200) throw new Error(`the gateway answered ${answer.status}`);
  }
  await gateway.process.stop();
  return refused;
}

function teamOf(userPath: string): string {
  return `/${userPath.split('/')[1]}`;
}

/** A control plane that has drained the records of a proxy that has ended. */
async function drained(t: Test, home: string) {
  const data = join(home, 'data');
  const controlPlane = await startProcess({
    t,
    entry: 'control-plane/main.ts',
    env: {
      GATEWAY_CONFIG: join(home, 'config'),
      GATEWAY_DATA: data,
      GATEWAY_MASTER_KEY: masterKey,
      GATEWAY_ADMIN_PORT: '0',
    },
  });
  const query = new URLSearchParams({
    from: new Date(startMs).toISOString(),
    to: new Date(startMs + dayMs).toISOString(),
  });
  await waitFor(
    'all requests in the record store',
    async () => {
      const answer = await fetch(`${controlPlane.address}/admin/traffic?${query.toString()}`, {
        headers: { authorization: `Bearer ${masterKey}` },
      });
      const text = await answer.text();
      return text.split('\n').length === count + 2;
    },
    isFull ? 300_000 : 20_000,
  );
  return { data, controlPlane };
}

interface Plan {
  readonly traffic: { readonly requests: number; readonly agreement: number };
  readonly refusals: {
    readonly before: number;
    readonly after: number;
    readonly range?: readonly [number, number];
    readonly user_paths: readonly { readonly user_path: string; readonly after: number }[];
  };
}

function plan(after: string, before: string, data: string): Plan {
  const output = command('plan', after, '--against', before, '--traffic', data, ...since, '--format', 'json');
  return (JSON.parse(output) as { readonly impact: Plan }).impact;
}

const since = ['--since', new Date(startMs).toISOString()];

function command(...words: readonly string[]): string {
  const env = { ...process.env, GATEWAY_MASTER_KEY: masterKey };
  return execFileSync(process.execPath, ['deploy/cli/launch.ts', ...words], {
    encoding: 'utf8',
    maxBuffer: 2 ** 26,
    env,
  });
}

function written(t: Test, config: object): string {
  const directory = temporaryDirectory(t, 'gateway-plan');
  mkdirSync(directory, { recursive: true });
  writeFileSync(join(directory, 'gateway.yaml'), stringify(config));
  return directory;
}

const perMinute = (path: string, caps: object): object => ({ path, limits: [{ period: 'minute', ...caps }] });

await test('a plan from one recording says what another configuration refuses', async (t) => {
  const url = await startProvider(t);
  const asks = trafficOf(1);
  // Some requests are refused when it is recorded: nothing is known of their answers.
  const recording = configOf(url, { user_paths: [perMinute('/batch', { max_tokens: 60_000 })] });
  const changed = configOf(url, {
    user_paths: [
      perMinute('/batch', { max_tokens: 90_000 }),
      perMinute('/team-a', { max_requests: 12 }),
      perMinute('/team-b', { max_tokens: 25_000 }),
      { path: '/research', limits: [{ period: 'hour', max_requests: count / 10 }] },
    ],
  });
  const home = temporaryDirectory(t, 'gateway-truth');
  const [recorded, refused] = await Promise.all([
    serve(t, home, recording, asks),
    serve(t, temporaryDirectory(t, 'gateway-truth'), changed, asks),
  ]);
  const { data, controlPlane } = await drained(t, home);
  const { traffic, refusals } = plan(written(t, changed), written(t, recording), data);
  t.equal(traffic.requests, count);
  t.equal(traffic.agreement, 1, 'the configuration that recorded it decides as recorded');
  t.equal(refusals.before, sum(recorded));
  const [exact, batch] = [without(refused, '/batch'), refused.get('/batch') ?? 0];
  t.ok(sum(exact) > count / 100, `${sum(exact)} were refused by rules that count what was recorded`);
  t.same(without(byTeam(refusals.user_paths), '/batch'), exact, 'these are predicted exactly');
  t.ok(
    batch < sum(recorded),
    `${batch} were refused by a rule that counts what was not recorded, ${sum(recorded)} before`,
  );
  const [least = 0, most = 0] = refusals.range ?? [];
  t.ok(least - sum(exact) <= batch && batch <= most - sum(exact), `${least} to ${most} in all`);
  t.ok(most - least <= sum(recorded), 'the range says something');
  if (!isFull) await isLivePlanned(t, controlPlane.address, written(t, changed));
});

/** A plan of the gateway that runs compares with what is in force there, operators included. */
async function isLivePlanned(t: Test, url: string, changed: string): Promise<void> {
  const rule = {
    scope: 'user_path',
    subject: '/team-a',
    limit_key: { period: 'minute' },
    max_requests: 1,
    reason: 'night',
  };
  const answer = await fetch(`${url}/admin/rate-limits`, {
    method: 'PUT',
    headers: { authorization: `Bearer ${masterKey}`, 'content-type': 'application/json' },
    body: JSON.stringify(rule),
  });
  t.equal(answer.status, 200, await answer.text());
  const output = command('plan', changed, '--live', url, ...since);
  t.match(output, new RegExp(`^compared with the configuration in force at ${url} \\(\\w+\\):$`, 'm'));
  t.match(output, /^ {2}added \(tightened\): rule user_path \/team-a minute/m);
  t.match(
    output,
    /^your change of rule user_path \/team-a minute has no effect .*: set by master_key, because: night$/m,
  );
  t.match(output, /^with 1 rule of operators/m);
  t.notMatch(output, /changed: provider|begin empty/);
}

function byTeam(paths: Plan['refusals']['user_paths']): ReadonlyMap<string, number> {
  const sums = new Map<string, number>();
  for (const { user_path: path, after } of paths) sums.set(teamOf(path), (sums.get(teamOf(path)) ?? 0) + after);
  return sums;
}

function without(counts: ReadonlyMap<string, number>, team: string): ReadonlyMap<string, number> {
  return new Map([...counts].filter(([name]) => name !== team));
}

function sum(counts: ReadonlyMap<string, number>): number {
  return [...counts.values()].reduce((total, each) => total + each, 0);
}
