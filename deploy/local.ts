// `npm start`: the demo provider, the control plane and the proxy on this machine, as one thing that starts and stops.
import { statSync } from 'node:fs';
import { createServer } from 'node:net';
import { join, relative } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import manifest from '../package.json' with { type: 'json' };
import { chooseModel, composeBanner } from './local/banner.ts';
import { type Child, startChild } from './local/child.ts';
import { parseLogLine, renderLogLine } from './local/log-line.ts';
import { findMasterKey, type MasterKey } from './local/master-key.ts';

/** Those of the `proxy` script in package.json: they keep the memory small. */
const proxyFlags = manifest.scripts.proxy.split(' ').slice(1, -1);
const startDeadlineMs = 30_000;
// npm passes a Ctrl-C on that the terminal has already delivered; that is one wish, not two.
const sameSignalMs = 300;
const keptLines = 40;
const lines = new Map<string, string[]>();
const children: Child[] = [];
const top = join(import.meta.dirname, '..');
const { env } = process;
let announced = false;
let stoppedAtMs: number | undefined;

function say(text: string): void {
  process.stderr.write(`${text}\n`);
}

/** The variables of the children: quiet log levels are kept here, because the line with the address is an info line. */
const quietBelow = { warn: 40, error: 50, fatal: 60, silent: Number.POSITIVE_INFINITY }[env['LOG_LEVEL'] ?? ''] ?? 0;
const childLogLevel = quietBelow > 0 ? { LOG_LEVEL: 'info' } : {};

/** Lines wait until the banner is out, so that a start that fails shows them once and in order. */
function hear(name: string, line: string): void {
  if ((parseLogLine(line)?.level ?? 100) < quietBelow) return;
  const kept = lines.get(name) ?? [];
  kept.push(renderLogLine(name, line));
  if (kept.length > keptLines) kept.shift();
  lines.set(name, kept);
  if (announced) say(renderLogLine(name, line));
}

function launch(name: string, command: string[], variables: NodeJS.ProcessEnv): Child {
  const environment = { ...env, ...variables };
  const child = startChild({ name, command, environment, onLine: (line) => hear(name, line) });
  children.push(child);
  void child.exited.then((how) => {
    const said = lines.get(name) ?? ['(nothing)'];
    if (stoppedAtMs === undefined) void stop(1, [`The ${name} stopped (${how}). Its last lines:`, ...said]);
  });
  return child;
}

/** Stops the proxy first (its streams drain), then the rest, then this process. */
async function stop(exitCode: number, reasons: readonly string[]): Promise<void> {
  if (stoppedAtMs !== undefined) return;
  stoppedAtMs = performance.now();
  for (const reason of reasons) say(reason);
  const end = async (child: Child) => {
    child.signal('SIGTERM');
    await child.exited;
  };
  await Promise.all(children.filter((child) => child.name === 'proxy').map(end));
  await Promise.all(children.filter((child) => child.name !== 'proxy').map(end));
  process.exit(exitCode);
}

function onSignal(): void {
  if (stoppedAtMs === undefined) {
    void stop(0, ['', 'Stopping: open streams may finish. Ctrl-C again stops at once.']);
  } else if (performance.now() - stoppedAtMs > sameSignalMs) {
    for (const child of children) child.signal('SIGKILL');
    process.exit(130);
  }
}

function isDirectory(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}

async function isTaken(host: string, port: number): Promise<boolean> {
  const probe = createServer();
  return new Promise((resolve) => {
    probe.on('error', (error) => resolve('code' in error && error.code === 'EADDRINUSE'));
    probe.listen({ host, port, exclusive: true }, () => probe.close(() => resolve(false)));
  });
}

/** One line per port that another process holds; what else may be wrong with an address the children say themselves. */
async function checkPorts(): Promise<string[]> {
  const wanted = [
    { variable: 'GATEWAY_PORT', port: env['GATEWAY_PORT'] || '8080', host: env['GATEWAY_HOST'] },
    { variable: 'GATEWAY_ADMIN_PORT', port: env['GATEWAY_ADMIN_PORT'] || '8081', host: env['GATEWAY_ADMIN_HOST'] },
    { variable: 'DEMO_PROVIDER_PORT', port: env['DEMO_PROVIDER_PORT'] || '8090', host: undefined },
  ];
  const usable = wanted.filter(({ port }) => /^\d{1,5}$/.test(port) && Number(port) <= 65_535);
  const taken = await Promise.all(usable.map(({ host, port }) => isTaken(host || '127.0.0.1', Number(port))));
  return usable
    .filter((_, index) => taken[index])
    .map(({ variable, port }) => `Port ${port} is in use: set ${variable} to a free port, or stop what runs there.`);
}

async function waitUntilReady(url: string): Promise<void> {
  for (;;) {
    const status = await fetch(url).then(
      (response) => response.arrayBuffer().then(() => response.status),
      () => undefined,
    );
    if (status === 200) return;
    await sleep(20);
  }
}

async function listModels(proxyUrl: string, masterKey: string): Promise<string[]> {
  const response = await fetch(`${proxyUrl}/v1/models`, { headers: { authorization: `Bearer ${masterKey}` } });
  const { data }: { data: { id: string }[] } = JSON.parse(await response.text());
  return data.map(({ id }) => id);
}

async function start(key: MasterKey, dataDirectory: string): Promise<void> {
  const configDirectory =
    env['GATEWAY_CONFIG'] ||
    (isDirectory('config') ? './config' : relative(process.cwd(), join(top, 'examples/quickstart/config')));
  const variables = {
    GATEWAY_CONFIG: configDirectory,
    GATEWAY_DATA: dataDirectory,
    // Node keeps what it made of the TypeScript: later starts are quicker, and every process holds 30 MB less.
    NODE_COMPILE_CACHE: env['NODE_COMPILE_CACHE'] || join(dataDirectory, 'compile-cache'),
    GATEWAY_MASTER_KEY: key.value,
    ...childLogLevel,
  };
  const demo = launch('demo provider', [join(top, 'examples/quickstart/demo-provider.ts')], {});
  const controlPlane = launch('control plane', [join(top, 'control-plane/main.ts')], variables);
  const [demoUrl, controlPlaneUrl] = await Promise.all([demo.address, controlPlane.address]);
  await waitUntilReady(`${controlPlaneUrl}/health`);
  if (stoppedAtMs !== undefined) return;
  const proxy = launch('proxy', [...proxyFlags, join(top, 'proxy/main.ts')], {
    ...variables,
    DEMO_PROVIDER_URL: env['DEMO_PROVIDER_URL'] || `${demoUrl}/v1`,
  });
  const proxyUrl = await proxy.address;
  await waitUntilReady(`${proxyUrl}/health/ready`);
  const model = chooseModel(await listModels(proxyUrl, key.value));
  if (stoppedAtMs !== undefined) return;
  announced = true;
  for (const line of [...lines.values()].flat()) say(line);
  const { value: masterKey, origin: keyOrigin } = key;
  process.stdout.write(
    composeBanner({ proxyUrl, controlPlaneUrl, demoUrl, configDirectory, masterKey, keyOrigin, model }),
  );
}

function explain(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? `${error.message}: ${explain(error.cause)}` : error.message;
}

async function main(): Promise<void> {
  const taken = await checkPorts();
  if (taken.length > 0) return stop(1, taken);
  const dataDirectory = env['GATEWAY_DATA'] || './data';
  const timer = setTimeout(() => {
    void stop(1, ['Not everything became ready within 30 s. What was said:', ...[...lines.values()].flat()]);
  }, startDeadlineMs);
  await start(findMasterKey(env['GATEWAY_MASTER_KEY'], dataDirectory), dataDirectory);
  clearTimeout(timer);
}

// A terminal that went away must not take this process down before its children.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {});
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, onSignal);
const parent = process.ppid;
setInterval(() => {
  if (process.ppid !== parent) void stop(0, ['The process that started this one is gone: stopping.']);
}, 250).unref();
main().catch((error: unknown) => stop(1, [explain(error)]));
