// Starts and stops the processes of a measurement, each on its core, the gateway exactly as in production.
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { MODELS } from './workload.ts';

/** The key every measured request carries: the gateway's master key. */
export const MASTER_KEY = 'sk-bench-master-key-0123456789abcdef';
const ROOT = join(import.meta.dirname, '..', '..');
/** Node flags of gateway and bare pass-through alike: those of the `proxy` script in package.json, as in production. */
export const NODE_FLAGS: string[] = productionFlags();

const LISTEN_DEADLINE_MS = 15_000;
const STOP_DEADLINE_MS = 15_000;

/** A running process that said where it listens. */
export interface Running {
  name: string;
  pid: number;
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
  /** Relative to the repository. */
  entry: string;
  args?: string[];
  nodeFlags?: string[];
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

/** Spawns a process and waits for its line with `"msg":"listening"`; rejects with its last words when it ends before. */
export function start(options: Start): Promise<Running> {
  const node = [...(options.nodeFlags ?? []), join(ROOT, options.entry), ...(options.args ?? [])];
  const [command, args] = onCore(options.core, process.execPath, node);
  const env = { PATH: process.env['PATH'] ?? '', ...options.env };
  const child = spawn(command, args, { cwd: ROOT, env, stdio: ['ignore', 'pipe', 'pipe'] });
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

/** The provider of the benchmark. */
export function startUpstream(core?: number): Promise<Running> {
  return start({ name: 'upstream', entry: 'test/bench/upstream.ts', core });
}

/** The bare pass-through. */
export function startBare(upstream: string, core: number | undefined, nodeFlags: string[] = []): Promise<Running> {
  const flags = [...NODE_FLAGS, ...nodeFlags];
  return start({ name: 'bare', entry: 'test/bench/bare.ts', args: ['--upstream', upstream], core, nodeFlags: flags });
}

interface GatewayOptions {
  /** Flags of Node besides those of every process. */
  readonly nodeFlags?: string[];
  readonly env?: Record<string, string>;
}

/** The gateway with authentication, usage and limits on, unless `env` says otherwise; `folder` receives its config and data. */
export function startGateway(
  upstream: string,
  folder: string,
  core: number | undefined,
  { nodeFlags = [], env = {} }: GatewayOptions = {},
): Promise<Running> {
  const config = join(folder, 'config');
  mkdirSync(config, { recursive: true });
  writeFileSync(join(config, 'gateway.yaml'), gatewayYaml(upstream));
  return start({
    name: 'gateway',
    entry: 'proxy/main.ts',
    nodeFlags: [...NODE_FLAGS, ...nodeFlags],
    core,
    env: {
      GATEWAY_HOST: '127.0.0.1',
      GATEWAY_PORT: '0',
      GATEWAY_CONFIG: config,
      GATEWAY_DATA: join(folder, 'data'),
      GATEWAY_MASTER_KEY: MASTER_KEY,
      LOG_LEVEL: 'info',
      NODE_COMPILE_CACHE: join(ROOT, 'node_modules/.cache/compile-cache'),
      ...env,
    },
  });
}

/** The gateway's configuration: one provider, one alias, and rules that match every request without ever refusing one.
 *  `generation` changes a harmless value, so that an edit is a real one. */
export function gatewayYaml(upstream: string, generation = 0): string {
  const limits = `[{ period: minute, max_requests: ${1_000_000_000 + generation}, max_tokens: 1000000000000 }]`;
  return `providers:
  bench:
    type: openai
    base_url: ${upstream}/v1
    api_key: sk-bench
    models: [${MODELS.join(', ')}]
aliases:
  - source: short-name
    target: bench/${MODELS[0]}
rate_limits:
  user_paths:
    - path: /
      limits: ${limits}
  providers:
    - name: bench
      limits: ${limits}
  models:
    - model: bench/${MODELS[0]}
      limits: ${limits}
`;
}

function productionFlags(): string[] {
  const manifest: { scripts: { proxy: string } } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
  return manifest.scripts.proxy.split(' ').filter((word) => word.startsWith('--'));
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
