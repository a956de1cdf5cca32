// The process support starts, watches and ends real processes; the script here plays an entry file.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Test, test } from 'tap';
import { freePort, startProcess } from './process.ts';
import { rawRequest } from './raw-http.ts';
import { temporaryDirectory } from './teardown.ts';
import { waitFor } from './wait-for.ts';

const script = `
import { createServer } from 'node:http';
const say = (line) => console.log(JSON.stringify(line));
if (process.env.FAIL) { console.error('cannot start: ' + process.env.FAIL); process.exit(3); }
process.on('SIGTERM', () => { if (process.env.STUBBORN) return; say({ msg: 'bye' }); process.exit(0); });
process.on('SIGUSR2', () => say({ msg: 'usr2' }));
console.error('not JSON', process.argv.slice(2).join());
const server = createServer((request, response) => response.end(JSON.stringify(process.env)));
if (process.env.SILENT) setInterval(() => {}, 1000);
else server.listen(Number(process.env.GATEWAY_PORT), '127.0.0.1', () => {
  say({ msg: 'listening', address: 'http://127.0.0.1:' + server.address().port });
});
`;

function write(t: Test): string {
  const entry = join(temporaryDirectory(t), 'entry.mjs');
  writeFileSync(entry, script);
  return entry;
}

function lives(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

await test('a process is ready when it says where it listens', async (t) => {
  const child = await startProcess({ t, entry: write(t), args: ['an', 'argument'], env: { GATEWAY_PORT: '0' } });
  const response = await fetch(child.address);
  t.equal(response.status, 200);
  await response.text();
  t.same(child.logs(), [{ msg: 'listening', address: child.address }]);
  t.same(child.stderr, ['not JSON an,argument']);
  t.ok(child.running);
  child.signal('SIGUSR2');
  t.equal(await child.waitForLine(/usr2/), '{"msg":"usr2"}');
});

await test('readiness can be a URL, a line, or nothing', async (t) => {
  const entry = write(t);
  const port = await freePort();
  const env = { GATEWAY_PORT: `${port}` };
  const byUrl = await startProcess({ t, entry, env, ready: { url: `http://127.0.0.1:${port}/` } });
  await byUrl.stop();
  await startProcess({ t, entry, env: { SILENT: '1' }, ready: { line: 'not JSON' } });
  const failing = await startProcess({ t, entry, env: { FAIL: 'no luck' }, ready: 'spawned' });
  t.same(await failing.exited, { code: 3, signal: null });
  t.same(failing.stderr, ['cannot start: no luck'], 'its output is complete at its exit');
});

await test('a start that fails says why', async (t) => {
  const entry = write(t);
  await t.rejects(startProcess({ entry, env: { FAIL: 'no luck' } }), /did not start.*\ncannot start: no luck/s);
  await t.rejects(startProcess({ entry, env: { SILENT: '1' }, deadlineMs: 250 }), { cause: /waited \d+ ms in vain/ });
});

await test('the variables of the product do not leak in from outside', async (t) => {
  process.env['GATEWAY_MASTER_KEY'] = 'leaked';
  process.env['SET_RATE_LIMIT_TEAM'] = 'rpm=1';
  process.env['HARNESS_KEPT'] = 'kept';
  t.teardown(() => {
    for (const name of ['GATEWAY_MASTER_KEY', 'SET_RATE_LIMIT_TEAM', 'HARNESS_KEPT']) delete process.env[name];
  });
  const child = await startProcess({ t, entry: write(t), env: { GATEWAY_PORT: '0', PATH: undefined } });
  const seen = (await rawRequest(Number(new URL(child.address).port), 'GET / HTTP/1.1\r\nHost: a\r\n\r\n'))
    .responses[0];
  t.match(seen?.json(), { GATEWAY_PORT: '0', HARNESS_KEPT: 'kept' });
  t.notMatch(seen?.text(), /leaked|rpm=1|"PATH"/);
});

await test('stop is SIGTERM, kill is SIGKILL, restart is a new process', async (t) => {
  const child = await startProcess({ t, entry: write(t), env: { GATEWAY_PORT: '0' } });
  const [first, firstAddress] = [child.pid, child.address];
  t.same(await child.stop(), { code: 0, signal: null });
  t.ok(child.logs().some(({ msg }) => msg === 'bye'));
  t.notOk(child.running);
  t.notOk(lives(first));
  t.same(await child.stop(), { code: 0, signal: null }, 'stopping twice is no harm');

  await child.restart({ CHANGED: 'yes' });
  t.not(child.pid, first);
  t.not(child.address, firstAddress);
  t.match(await (await fetch(child.address)).text(), '"CHANGED":"yes"');

  const second = child.pid;
  await child.restart();
  t.notOk(lives(second), 'a running process is stopped before');
  t.equal(child.logs().filter(({ msg }) => msg === 'bye').length, 2);

  child.signal('SIGSTOP');
  t.same(await child.kill(), { code: null, signal: 'SIGKILL' }, 'a frozen process can be killed');
  t.same(await child.exited, { code: null, signal: 'SIGKILL' });
});

await test('a process that ignores SIGTERM is killed at the deadline', async (t) => {
  const child = await startProcess({ t, entry: write(t), env: { GATEWAY_PORT: '0', STUBBORN: '1' } });
  const started = performance.now();
  await t.rejects(child.stop(100), /still ran 100 ms after SIGTERM/);
  t.ok(performance.now() - started >= 95);
  t.notOk(lives(child.pid));
});

await test('the end of a test ends its processes', async (t) => {
  let pid = 0;
  await t.test('inside', async (inner) => {
    pid = (await startProcess({ t: inner, entry: write(t), env: { GATEWAY_PORT: '0' } })).pid;
  });
  await waitFor('the process to be gone', () => !lives(pid));
});
