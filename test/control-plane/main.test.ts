// The process of the control plane: starts, logs its address, answers, and stops on a signal.
import { writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { t as suite, test } from 'tap';
import manifest from '../../package.json' with { type: 'json' };
import { freePort, startProcess } from '../support/process.ts';
import { openRaw } from '../support/raw-http.ts';
import { type Teardown, temporaryDirectory } from '../support/teardown.ts';
import { waitFor } from '../support/wait-for.ts';

const masterKey = 'sk-test-master-key-0123456789';

function startControlPlane(t: Teardown, env: Record<string, string> = {}, ready?: 'spawned') {
  const home = temporaryDirectory(t);
  writeFileSync(join(home, 'gateway.yaml'), '{}');
  return startProcess({
    t,
    entry: 'control-plane/main.ts',
    env: {
      GATEWAY_ADMIN_PORT: '0',
      GATEWAY_MASTER_KEY: masterKey,
      GATEWAY_CONFIG: home,
      GATEWAY_DATA: join(home, 'data'),
      ...env,
    },
    ...(ready === undefined ? {} : { ready }),
  });
}

/** A connection whose second request has begun: the answer to the first proves that the server has read it. */
async function openHalfRequest(address: string) {
  const connection = await openRaw(Number(new URL(address).port));
  const begun = 'GET /health HTTP/1.1\r\nHost: a\r\n';
  await connection.send(`${begun}\r\n${begun}`);
  await connection.waitFor(({ responses }) => responses[0]?.complete);
  return connection;
}

/** For the tests that only look at it, until one of them ends it. */
const plane = await startControlPlane(suite);

await test('it announces its address in a JSON line', async (t) => {
  const lines = plane.logs();
  t.same(
    lines.map(({ msg }) => msg),
    ['managed state applied', 'config applied', 'listening'],
  );
  t.match(lines[2], {
    level: 'info',
    time: /^\d{4}-\d\d-\d\dT[\d:]{8}\.\d{3}Z$/,
    service: 'model-gateway',
    plane: 'control-plane',
    instance: `${hostname()}:0`,
    version: manifest.version,
    address: /^http:\/\/127\.0\.0\.1:\d+$/,
  });
});

await test('it answers health, metrics and a flat 404', async (t) => {
  const { address } = plane;
  const health = await fetch(`${address}/health`);
  t.strictSame([health.status, await health.json()], [200, { status: 'ok' }]);
  const metrics = await fetch(`${address}/metrics`);
  t.match(await metrics.text(), /^gateway_build_info\{plane="control-plane",version="\d+\.\d+\.\d+"/m);
  const unknown = await fetch(`${address}/nothing`);
  t.equal(unknown.status, 404);
  t.match(await unknown.json(), { code: 'route_not_found', status_code: 404, type: 'not_found_error' });
});

await test('a wrong key leaves a line with the address of its client, and not the key', async (t) => {
  const headers = { authorization: 'Bearer sk-gw-wrong-canary' };
  t.equal((await fetch(`${plane.address}/admin/rate-limits`, { headers })).status, 401);
  const line = await waitFor('the line', () => plane.logs().find(({ msg }) => msg === 'failed logins'));
  t.match(line, { level: 'warn', client_address: '127.0.0.1', count: 1, reasons: { unknown: 1 } });
  t.notMatch(plane.stdout.join(''), 'canary');
});

await test('a port in use stops the start with one line that says which and what to do', async (t) => {
  const port = new URL(plane.address).port;
  const second = await startControlPlane(t, { GATEWAY_ADMIN_PORT: port }, 'spawned');
  t.strictSame(await second.exited, { code: 1, signal: null });
  t.match(
    second.stderr.map((line) => JSON.parse(line)),
    [
      {
        level: 'fatal',
        plane: 'control-plane',
        msg: `control plane cannot start: port ${port} on 127.0.0.1 is in use; set GATEWAY_ADMIN_PORT to a free port`,
      },
    ],
  );
});

await test('SIGTERM ends it with status 0 although an idle connection is open', async (t) => {
  const connection = await openRaw(Number(new URL(plane.address).port));
  await connection.send('GET /health HTTP/1.1\r\nHost: a\r\n\r\n');
  await connection.waitFor(({ responses }) => responses[0]?.complete);
  t.strictSame(await plane.stop(), { code: 0, signal: null });
  t.match(
    plane.logs().map(({ msg }) => msg),
    ['managed state applied', 'config applied', 'listening', 'failed logins', 'closing', 'closed'],
  );
  t.equal(plane.stderr.length, 0);
});

await test('it listens where it is told to; a request under way at SIGTERM is answered', async (t) => {
  const port = await freePort();
  const child = await startControlPlane(t, { GATEWAY_ADMIN_HOST: '0.0.0.0', GATEWAY_ADMIN_PORT: `${port}` });
  t.equal(child.address, `http://0.0.0.0:${port}`, 'a wildcard is what it is bound to');
  const connection = await openHalfRequest(child.address);
  child.signal('SIGTERM');
  await child.waitForLine('"closing"');
  await connection.send('\r\n');
  await connection.waitFor(({ responses }) => responses[1]?.status === 200);
  t.strictSame(await child.exited, { code: 0, signal: null });
});

await test('a start without a master key is possible and logs a warning; a second signal ends it at once', async (t) => {
  const child = await startControlPlane(t, { GATEWAY_MASTER_KEY: '', GATEWAY_INSECURE: 'true' });
  await child.waitForLine('the admin API is open');
  t.match(child.logs().at(-1), { level: 'warn' });
  await openHalfRequest(child.address);
  child.signal('SIGINT');
  await child.waitForLine('"closing"');
  t.ok(child.running);
  child.signal('SIGINT');
  t.strictSame(await child.exited, { code: 0, signal: null });
  t.notOk(child.logs().some(({ msg }) => msg === 'closed'));
});

await test('declared rules keep their dates over edits of others and a restart; the master key is in no line', async (t) => {
  const home = temporaryDirectory(t);
  const declare = (caps: Record<string, number>): void => {
    const entries = Object.entries(caps).map(
      ([path, cap]) => `{path: ${path}, limits: [{period: day, max_requests: ${cap}}]}`,
    );
    writeFileSync(join(home, 'gateway.yaml'), `rate_limits: {user_paths: [${entries.join(', ')}]}`);
  };
  declare({ '/a': 1, '/b': 1 });
  const child = await startControlPlane(t, { GATEWAY_CONFIG: home, LOG_LEVEL: 'trace' });
  /** Created and updated, by subject. */
  const dates = async (): Promise<Record<string, readonly [string, string]>> => {
    const headers = { authorization: `Bearer ${masterKey}` };
    const { rate_limits: rules } = (await (await fetch(`${child.address}/admin/rate-limits`, { headers })).json()) as {
      rate_limits: { subject: string; created_at: string; updated_at: string }[];
    };
    return Object.fromEntries(rules.map((rule) => [rule.subject, [rule.created_at, rule.updated_at] as const]));
  };
  const before = await dates();
  t.equal(before['/a']?.[0], before['/a']?.[1]);
  declare({ '/a': 2, '/b': 1, '/c': 1 });
  const edited = await waitFor('the edit', async () => {
    const found = await dates();
    return '/c' in found && found;
  });
  t.same(edited['/b'], before['/b']);
  t.equal(edited['/a']?.[0], before['/a']?.[0]);
  t.not(edited['/a']?.[1], before['/a']?.[1]);
  await child.restart();
  t.same(await dates(), edited);
  await child.stop();
  t.notOk(
    [...child.stdout, ...child.stderr].join('\n').includes(masterKey),
    'at any level, also after requests with it',
  );
});

await test('a bad environment stops the start with a line per problem', async (t) => {
  const env = { GATEWAY_ADMIN_PORT: '123456', GATEWAY_MASTER_KEY: '', LOG_LEVEL: 'loud' };
  const child = await startControlPlane(t, env, 'spawned');
  t.strictSame(await child.exited, { code: 1, signal: null });
  t.equal(child.stdout.length, 0);
  const named = child.stderr.map((line) => /"control plane cannot start: (\w+) /.exec(line)?.[1]);
  t.strictSame(new Set(named), new Set(['GATEWAY_ADMIN_PORT', 'GATEWAY_MASTER_KEY', 'LOG_LEVEL']));
  t.equal(named.length, 3);
  t.notMatch(child.stderr.join('\n'), /123456|loud/);
});

await test('an address of another machine stops the start, naming the variable', async (t) => {
  const env = { GATEWAY_ADMIN_HOST: '192.0.2.1', GATEWAY_ADMIN_PORT: String(await freePort()) };
  const child = await startControlPlane(t, env, 'spawned');
  t.strictSame(await child.exited, { code: 1, signal: null });
  t.match(child.stderr[0], /192\.0\.2\.1.*GATEWAY_ADMIN_HOST/);
});
