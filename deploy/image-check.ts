// npm run image:check: makes the root file system that deploy/Dockerfile describes, without an engine for containers, starts both planes in it as a user
// without rights on a read-only root, asks for an answer, and says how large it is. Needs root, Linux, and Debian's mmdebstrap.
import { chownSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Container, runInContainer, type Start, startContainer } from './image/container.ts';
import { type ImageSettings, settingsOf, stagesOf } from './image/dockerfile.ts';
import { compressedBytes, makeRoot } from './image/root.ts';

const most = 120e6;
const deadlineMs = 60_000;
const program = '/opt/model-gateway';
const key = `sk-image-${crypto.randomUUID()}`;
const top = join(import.meta.dirname, '..');

async function freePort(): Promise<string> {
  const server = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  return String(port);
}

function confirm(isTrue: boolean, what: string, details = ''): void {
  if (!isTrue) throw new Error(`${what}: not so. ${details}`);
  process.stdout.write(`  ok  ${what}\n`);
}

/** Asks until the answer is one that is wanted. */
async function until(what: string, container: Container, ask: () => Promise<boolean>): Promise<void> {
  const end = performance.now() + deadlineMs;
  let hasEnded = false;
  void container.ended.then(() => {
    hasEnded = true;
  });
  while (!(await ask().catch(() => false))) {
    if (hasEnded || performance.now() > end)
      throw new Error(`${what} did not come within ${deadlineMs} ms:\n${container.said()}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  process.stdout.write(`  ok  ${what}\n`);
}

/** The folders that an operator mounts: the YAML of the quickstart, the key in a file, and data of each plane. */
function makeMounts(settings: ImageSettings, home: string) {
  for (const name of ['secrets', 'data']) {
    mkdirSync(join(home, name));
    chownSync(join(home, name), settings.user.uid, settings.user.gid);
  }
  writeFileSync(join(home, 'secrets/master-key'), `${key}\n`);
  return {
    '/etc/gateway': join(top, 'examples/quickstart/config'),
    '/run/secrets': join(home, 'secrets'),
    '/var/lib/gateway': join(home, 'data'),
  };
}

/** Every container that was started, so that a check that fails leaves none behind. */
const containers: Container[] = [];

function launch(start: Start): Container {
  const container = startContainer(start);
  containers.push(container);
  return container;
}

async function journey(root: string, settings: ImageSettings, home: string): Promise<void> {
  const [port, adminPort, demoPort] = [await freePort(), await freePort(), await freePort()];
  const environment = {
    GATEWAY_PORT: port,
    GATEWAY_ADMIN_PORT: adminPort,
    GATEWAY_CONTROL_PLANE_URL: `http://127.0.0.1:${adminPort}`,
    GATEWAY_MASTER_KEY_FILE: '/run/secrets/master-key',
    DEMO_PROVIDER_PORT: demoPort,
    DEMO_PROVIDER_URL: `http://127.0.0.1:${demoPort}/v1`,
  };
  const start: Start = { root, settings, environment, mounts: makeMounts(settings, home), command: settings.command };
  const node = (file: string) => launch({ ...start, command: ['node', `${program}/${file}`] });
  const [demo, controlPlane, proxy] = [node('demo-provider.js'), node('control-plane.js'), launch(start)];
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  await until('the demo provider listens', demo, async () => demo.said().includes('listening'));
  await until(
    'the control plane is ready',
    controlPlane,
    async () => (await fetch(`http://127.0.0.1:${adminPort}/health/ready`)).ok,
  );
  await until('the proxy is ready', proxy, async () => (await fetch(`http://127.0.0.1:${port}/health/ready`)).ok);

  const body = JSON.stringify({
    model: 'chat',
    stream: true,
    messages: [{ role: 'user', content: 'What is a gateway?' }],
  });
  const answer = await fetch(`http://127.0.0.1:${port}/v1/chat/completions`, { method: 'POST', headers, body });
  const text = await answer.text();
  confirm(
    /^data: \{/m.test(text) && text.includes('data: [DONE]'),
    'the question of the first steps streams an answer',
    text,
  );
  const dashboard = await fetch(`http://127.0.0.1:${port}/admin/dashboard`, { headers });
  confirm(dashboard.ok, 'the dashboard is served');
  const healthy = await runInContainer({ ...start, command: settings.healthCheck });
  confirm(healthy.code === 0, 'HEALTHCHECK says that it is healthy', healthy.said);
  const converged = await runInContainer({
    ...start,
    command: [
      'node',
      '--input-type=module',
      '--eval',
      readFileSync(join(top, 'deploy/chart/files/wait-until-converged.js'), 'utf8'),
    ],
    environment: {
      CONFIG: '/etc/gateway',
      CONTROL_PLANE: `http://127.0.0.1:${adminPort}`,
      KEY_FILE: '/run/secrets/master-key',
      PROGRAM: `${program}/model-gateway.js`,
      WAIT_SECONDS: '30',
    },
  });
  confirm(converged.code === 0, 'the Job of the chart finds every proxy with the configuration', converged.said);

  for (const [name, container] of Object.entries({ proxy, controlPlane, demo })) {
    const code = await container.stop();
    confirm(code === 0, `${settings.stopSignal} ends the ${name} with exit code 0`, `${code}\n${container.said()}`);
  }
  const sick = await runInContainer({ ...start, command: settings.healthCheck });
  confirm(sick.code === 1, 'HEALTHCHECK says that it is not, once nothing answers', sick.said);
  await rights(start);
}

/** What a process in it may do. */
async function rights(start: Start): Promise<void> {
  const sh = (script: string) => runInContainer({ ...start, command: ['sh', '-c', script] });
  const written = await sh('touch /x /opt/model-gateway/x /usr/x 2>&1; ls /x /opt/model-gateway/x /usr/x 2>/dev/null');
  confirm(!/^\/\S*x$/m.test(written.said) && written.said.includes('Read-only'), 'the root is read-only', written.said);
  const status = await sh('grep -E "^(Uid|CapEff|CapBnd|NoNewPrivs):" /proc/self/status');
  confirm(/Uid:\t1000\b/.test(status.said) && /CapEff:\t0+$/m.test(status.said), 'a user without rights', status.said);
  const version = await runInContainer({ ...start, command: ['model-gateway', 'version'] });
  confirm(version.code === 0, `model-gateway version says ${version.said.trim()}`, version.said);
  const vectors = `const { DatabaseSync } = process.getBuiltinModule('node:sqlite'); const db = new DatabaseSync(':memory:', { allowExtension: true });
    db.loadExtension(process.getBuiltinModule('node:fs').globSync('${program}/node_modules/sqlite-vec-*/vec0.so')[0]); console.log(db.prepare('select vec_version() v').get().v);`;
  const extension = await runInContainer({ ...start, command: ['node', '--eval', vectors] });
  confirm(extension.code === 0, `the extension for vectors loads: ${extension.said.trim()}`, extension.said);
}

async function main(): Promise<void> {
  const [build, image] = stagesOf(readFileSync(join(top, 'deploy/Dockerfile'), 'utf8'));
  if (build === undefined || image === undefined) throw new Error('the Dockerfile must have two stages');
  const settings = settingsOf(image);
  const root = makeRoot([build, image]);
  const home = mkdtempSync(join(tmpdir(), 'image-home-'));
  try {
    await journey(root, settings, home);
    const own = compressedBytes(root, program.slice(1));
    const megabytes = (bytes: number): string => `${(bytes / 1e6).toFixed(1)} MB`;
    confirm(own < most, `${megabytes(own)} compressed beyond the base, of ${megabytes(most)}`);
    process.stdout.write(
      `  Node in the base image: ${megabytes(compressedBytes(root, 'usr/local/bin/node'))} compressed\n`,
    );
  } finally {
    await Promise.all(containers.map((container) => container.stop()));
    for (const folder of [root, home]) rmSync(folder, { recursive: true, force: true });
  }
}

await main();
