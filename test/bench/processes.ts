// Starts and stops the processes of a measurement, each on its core, the gateway exactly as in production.
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { gatewayYaml, type Recording } from './gateway-yaml.ts';

/** The key every measured request carries: the gateway's master key. */
export const MASTER_KEY = 'sk-bench-master-key-0123456789abcdef';
/** The top of the repository the bench belongs to. */
export const ROOT = join(import.meta.dirname, '..', '..');
/** Node flags of gateway and bare pass-through alike, as in production. */
export const NODE_FLAGS: readonly string[] = productionFlags(ROOT);

const LISTEN_DEADLINE_MS = 15_000;
const STOP_DEADLINE_MS = 15_000;

/** A running process that said where it listens. */
export interface Running {
  name: string;
  pid: number;
  /** Its other processes. */
  further?: readonly number[];
  /** `http://127.0.0.1:PORT` */
  url: string;
  /** The last lines it wrote, for the case that it ends when it should not. */
  lastWords: () => string;
  /** SIGTERM, then SIGKILL when it does not end in time; resolves when it is gone. */
  stop: () => Promise<void>;
}

/** What to start: the entry file and its surroundings. */
export interface Start {
  name: string;
  /** Relative to the tree. */
  entry: string;
  /** The top of the repository; another one than the bench's for a gateway of another commit. */
  tree?: string | undefined;
  args?: string[];
  nodeFlags?: readonly string[] | undefined;
  /** The Node binary; the one that runs the bench unless named. */
  node?: string | undefined;
  env?: Record<string, string>;
  /** The core to stay on; ignored where `taskset` is missing. */
  core?: number | undefined;
}

/** Two cores at least and `taskset`: only then is pinning possible. */
export const canPin: boolean = spawnSync('taskset', ['-c', '0,1', 'true']).status === 0;

/** Command and arguments that run `command` on one core. */
export function onCore(core: number | undefined, command: string, args: string[]): [string, string[]] {
  return core === undefined || !canPin ? [command, args] : ['taskset', ['-c', String(core), command, ...args]];
}

const started = new Set<ChildProcess>();
// Nothing outlives the bench, not even when it breaks off before it stops what it started.
process.once('exit', () => {
  for (const child of started) child.kill('SIGKILL');
});

/** Stops every process that was started here and still runs. */
export async function stopAll(): Promise<void> {
  await Promise.all([...started].map(stop));
}

/** Spawns a process and waits for its line with `"msg":"listening"`; rejects with its last words when it ends before. */
export function start(options: Start): Promise<Running> {
  const { tree = ROOT, node = process.execPath } = options;
  const nodeArgs = [...(options.nodeFlags ?? []), join(tree, options.entry), ...(options.args ?? [])];
  const [command, args] = onCore(options.core, node, nodeArgs);
  const env = { PATH: process.env['PATH'] ?? '', ...options.env };
  const child = spawn(command, args, { cwd: tree, env, stdio: ['ignore', 'pipe', 'pipe'] });
  started.add(child);
  const tail: string[] = [];
  return new Promise((resolve, reject) => {
    const fail = (why: string): void => {
      clearTimeout(deadline);
      child.kill('SIGKILL');
      reject(new Error(`${options.name} ${why}\n${tail.join('\n')}`));
    };
    const deadline = setTimeout(() => fail('did not listen in time'), LISTEN_DEADLINE_MS);
    const early = (): void => fail('ended before it listened');
    child.once('exit', early);
    const take = (line: string): void => {
      if (tail.push(line) > 20) tail.shift();
      const url = addressIn(line);
      if (url === undefined || child.pid === undefined) return;
      clearTimeout(deadline);
      child.off('exit', early);
      resolve({ name: options.name, pid: child.pid, url, lastWords: () => tail.join('\n'), stop: () => stop(child) });
    };
    createInterface({ input: child.stdout }).on('line', take);
    createInterface({ input: child.stderr }).on('line', take);
  });
}

/** The provider of the benchmark; port 0: any that is free. */
export function startUpstream(core?: number, port = 0): Promise<Running> {
  return start({ name: 'upstream', entry: 'test/bench/upstream.ts', args: [String(port)], core });
}

/** The bare pass-through; `nodeFlags` instead of those of production. */
export function startBare(upstream: string, core: number | undefined, nodeFlags = NODE_FLAGS): Promise<Running> {
  return start({ name: 'bare', entry: 'test/bench/bare.ts', args: ['--upstream', upstream], core, nodeFlags });
}

/** How a gateway differs from the one in production. */
export interface GatewayOptions {
  readonly core?: number | undefined;
  /** Flags of Node instead of those of production. */
  readonly nodeFlags?: readonly string[];
  readonly env?: Record<string, string>;
  /** It has a line of the access log for each request. */
  readonly isLogged?: boolean;
  readonly recording?: Recording | undefined;
  /** It keeps answers. */
  readonly isCached?: boolean;
  /** Where caps hold; absent: as the gateway decides. */
  readonly scope?: 'fleet' | 'replica';
  /** How many managed keys there may be. */
  readonly maxKeys?: number;
  readonly tree?: string;
  readonly node?: string;
}

/** The gateway with authentication, usage and limits on, unless `env` says otherwise; `folder` receives its config and data. */
export async function startGateway(upstream: string, folder: string, options: GatewayOptions = {}): Promise<Running> {
  const {
    core,
    tree,
    node,
    env,
    isLogged = false,
    isCached = false,
    scope,
    maxKeys,
    recording = 'on',
    nodeFlags = productionFlags(tree ?? ROOT),
  } = options;
  const launch = async (isCurrent: boolean): Promise<Running> => {
    writeConfig(upstream, folder, { isCurrent, isLogged, isCached, recording, scope, maxKeys });
    const settings = {
      GATEWAY_HOST: '127.0.0.1',
      GATEWAY_PORT: '0',
      GATEWAY_CONFIG: join(folder, 'config'),
      GATEWAY_DATA: join(folder, 'data'),
      GATEWAY_MASTER_KEY: MASTER_KEY,
      LOG_LEVEL: 'info',
      USAGE_ENABLED: String(recording !== 'off'),
      NODE_COMPILE_CACHE: join(ROOT, 'node_modules/.cache/compile-cache'),
      ...env,
    };
    return await start({ name: 'gateway', entry: 'proxy/main.ts', tree, node, nodeFlags, core, env: settings });
  };
  return tree === undefined ? await launch(true) : await launch(true).catch(() => launch(false));
}

/** Writes the configuration of a gateway, as `startGateway` does. */
export function writeConfig(upstream: string, folder: string, options: Parameters<typeof gatewayYaml>[1]): void {
  mkdirSync(join(folder, 'config'), { recursive: true });
  writeFileSync(join(folder, 'config', 'gateway.yaml'), gatewayYaml(upstream, options));
}

/** The flags of the `proxy` script of a tree; none when it has no such script. */
export function productionFlags(tree: string): string[] {
  const file = join(tree, 'package.json');
  if (!existsSync(file)) return [];
  const manifest: { scripts: { proxy?: string } } = JSON.parse(readFileSync(file, 'utf8'));
  return (manifest.scripts.proxy ?? '').split(' ').filter((word) => word.startsWith('--'));
}

function addressIn(line: string): string | undefined {
  if (!line.includes('"listening"')) return undefined;
  try {
    const record: unknown = JSON.parse(line);
    if (typeof record !== 'object' || record === null || !('address' in record)) return undefined;
    return typeof record.address === 'string' ? record.address : undefined;
  } catch {
    return undefined;
  }
}

function stop(child: ChildProcess): Promise<void> {
  started.delete(child);
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve();
  return new Promise((resolve) => {
    const deadline = setTimeout(() => child.kill('SIGKILL'), STOP_DEADLINE_MS);
    child.once('exit', () => {
      clearTimeout(deadline);
      resolve();
    });
    child.kill('SIGTERM');
  });
}
