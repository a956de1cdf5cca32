// Starts a gateway for a test: a real proxy process with a separate config directory.
import { mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { stringify } from 'yaml';
import { createServer } from '../../plane/http.ts';
import { listen } from './ports.ts';
import { type Ready, type RunningProcess, startProcess } from './process.ts';
import { type Teardown, temporaryDirectory } from './teardown.ts';
import { Agent, fetch, type RequestInit, type Response } from './undici.ts';
import { waitFor } from './wait-for.ts';

export const masterKey = 'sk-test-master-key-0123456789';
/** The provider key: the gateway sends it to the fake upstream, and must show it nowhere else. */
export const providerKey = 'sk-test-provider-key-canary';
const providerKeyVariable = 'TEST_PROVIDER_KEY';

/** File name → content (an object is written as YAML); `null` removes the file. */
export type ConfigFiles = Record<string, string | object | null>;

export interface GatewayOptions {
  /** Content of `gateway.yaml`. Without `providers`, `upstream` is configured as provider `fake` (`providers.yaml`). */
  config?: object | string;
  /** More files for the config directory. */
  files?: ConfigFiles;
  /** The provider `fake`: its URL and model names. */
  upstream?: { readonly url: string; readonly models: readonly string[] };
  env?: Record<string, string | undefined>;
  /** A directory with `config` and `data` that exists already: several gateways may share one. Default: a new one. */
  home?: string;
  /** Flags for Node itself. */
  execArgv?: string[];
  /** Runs the source in any case: for tests that put something into one of its files. */
  fromSource?: boolean;
  /** The authority (PEM) of its certificate, when its configuration has TLS. */
  authority?: string;
  /** How many files it may have open. */
  descriptors?: number;
  /** Default: it listens and `/health/ready` answers 200. `spawned`: for starts that are meant to fail. */
  ready?: Ready;
}

export interface Gateway {
  /** `http://127.0.0.1:<port>`; another one after a restart. */
  readonly url: string;
  readonly port: number;
  readonly masterKey: string;
  readonly process: RunningProcess;
  readonly configDir: string;
  readonly dataDir: string;
  /** Replaces each file atomically (write beside, then rename). */
  writeConfig(files: ConfigFiles): void;
  /** Writes the files and waits until the gateway has applied them. */
  applyConfig(files: ConfigFiles, deadlineMs?: number): Promise<void>;
  /** The text of `/metrics`. */
  metrics(): Promise<string>;
  /** The sum of all samples of that name whose labels include these; undefined when there is none. */
  metric(name: string, labels?: Record<string, string>): Promise<number | undefined>;
  /**
   * A request with the master key as bearer, unless `init` brings its own `authorization`. An object as `body` is sent as JSON.
   * If the process died of it, the error has its last lines.
   */
  fetch(path: string, init?: GatewayRequest): Promise<Response>;
  /** Restarts the process on the same directories and waits until it is ready. */
  restart(env?: Record<string, string | undefined>): Promise<void>;
}

export interface GatewayRequest extends Omit<RequestInit, 'body' | 'headers'> {
  headers?: Record<string, string>;
  body?: string | Uint8Array | object;
}

/** Writes the config, starts `proxy/main.ts` and waits until it is ready. Everything is gone when the test ends. */
export async function startGateway(t: Teardown, options: GatewayOptions = {}): Promise<Gateway> {
  const home = options.home ?? temporaryDirectory(t, 'gateway-test');
  const configDir = join(home, 'config');
  const dataDir = join(home, 'data');
  mkdirSync(configDir, { recursive: true });
  mkdirSync(dataDir, { recursive: true });
  writeStartConfig(configDir, options);

  const agent = new Agent({
    pipelining: 1,
    ...(options.authority === undefined ? {} : { connect: { ca: options.authority } }),
  });
  t.teardown(() => agent.destroy());
  const child = await startProcess({
    t,
    entry: 'proxy/main.ts',
    fromSource: options.fromSource ?? false,
    execArgv: ['--min-semi-space-size=4', '--max-semi-space-size=4', '--v8-pool-size=0', ...(options.execArgv ?? [])],
    ...(options.descriptors === undefined ? {} : { descriptors: options.descriptors }),
    env: {
      GATEWAY_CONFIG: configDir,
      GATEWAY_DATA: dataDir,
      GATEWAY_PORT: '0',
      GATEWAY_MASTER_KEY: masterKey,
      LOG_LEVEL: 'info',
      // Tests look at figures the moment they have changed.
      GATEWAY_METRICS_MAX_AGE_MS: '0',
      [providerKeyVariable]: providerKey,
      GATEWAY_CONTROL_PLANE_URL: await startStandIn(t),
      ...options.env,
    },
    ready: options.ready ?? 'listening',
  });

  const gateway: Gateway = {
    get url() {
      return child.address;
    },
    get port() {
      return Number(new URL(child.address).port);
    },
    masterKey,
    process: child,
    configDir,
    dataDir,
    writeConfig: (files) => writeFiles(configDir, files),
    async applyConfig(files, deadlineMs) {
      const before = await revision();
      const said = child.stdout.length;
      let askMs = 0;
      writeFiles(configDir, files);
      // The log says when to ask; a test may have silenced it.
      const isNew = async (): Promise<boolean> => {
        const isSaid = child.stdout.slice(said).some((line) => line.includes('"config applied"'));
        if (!isSaid && performance.now() < askMs) return false;
        askMs = performance.now() + 200;
        return (await revision()) !== before;
      };
      await waitFor('another config revision', isNew, deadlineMs);
    },
    metrics: async () => (await fetch(`${child.address}/metrics`, { dispatcher: agent })).text(),
    metric: async (name, labels) => readMetric(await gateway.metrics(), name, labels),
    async fetch(path, { headers, body, ...init } = {}) {
      const bytes = body === undefined || typeof body === 'string' || body instanceof Uint8Array;
      const type = body === undefined ? {} : { 'content-type': 'application/json' };
      try {
        return await fetch(`${child.address}${path}`, {
          dispatcher: agent,
          ...init,
          headers: { authorization: `Bearer ${masterKey}`, ...type, ...headers },
          body: bytes ? (body ?? null) : JSON.stringify(body),
        });
      } catch (error) {
        // The exit may come a moment after the connection went.
        const exit = await Promise.race([child.exited, setTimeout(100)]);
        if (exit) throw new Error(`the gateway exited; its last lines:\n${child.lastLines()}`, { cause: error });
        throw error;
      }
    },
    async restart(env) {
      await child.restart(env);
      await untilReady();
    },
  };

  async function revision(): Promise<string | undefined> {
    return /^gateway_config_info\{[^}]*revision="([^"]*)"/m.exec(await gateway.metrics())?.[1];
  }

  async function untilReady(): Promise<void> {
    if (options.ready !== undefined) return;
    await waitFor('/health/ready to answer 200', async () => {
      const response = await fetch(`${child.address}/health/ready`, { dispatcher: agent });
      await response.body?.cancel();
      return response.status === 200;
    });
  }

  await untilReady();
  return gateway;
}

/** The sum of all samples of that name whose labels include these; undefined when there is none. */
export function readMetric(text: string, name: string, labels: Record<string, string> = {}): number | undefined {
  const wanted = Object.entries(labels).map(([label, value]) => `${label}="${value}"`);
  const samples = text.split('\n').flatMap((line) => {
    const sample = /^([a-zA-Z_:][\w:]*)(\{.*\})? (\S+)/.exec(line);
    if (sample?.[1] !== name) return [];
    const given: string[] = sample[2]?.match(/\w+="(?:[^"\\]|\\.)*"/g) ?? [];
    return wanted.every((label) => given.includes(label)) ? [Number(sample[3])] : [];
  });
  return samples.length === 0 ? undefined : samples.reduce((sum, value) => sum + value, 0);
}

/** Until no request is open. Fails soon, too, when the gateway answers nothing at all any more. */
export async function untilIdle(gateway: Gateway): Promise<void> {
  await waitFor('no request in flight', async () => {
    const response = await gateway.fetch('/metrics', { signal: AbortSignal.timeout(10_000) });
    return readMetric(await response.text(), 'gateway_requests_in_flight') === 0;
  });
}

/** For proxies that are tested alone: a server that answers in place of the control plane. Gives its address. */
async function startStandIn(t: Teardown): Promise<string> {
  const server = createServer((_, response) => response.end('{"status":"ok"}'));
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${await listen(server)}`;
}

/** The files that a gateway with these options starts on. */
export function startConfig(options: Pick<GatewayOptions, 'config' | 'files' | 'upstream'>): ConfigFiles {
  return { ...providerFile(options), 'gateway.yaml': options.config ?? null, ...options.files };
}

/** Writes what a gateway with these options starts on into an existing directory. */
export function writeStartConfig(directory: string, options: Parameters<typeof startConfig>[0]): void {
  writeFiles(directory, startConfig(options));
}

function providerFile({ config, upstream }: GatewayOptions): ConfigFiles {
  const declared =
    typeof config === 'string' ? /^providers:/m.test(config) : config !== undefined && 'providers' in config;
  if (!upstream || declared) return {};
  const fake = {
    type: 'openai',
    base_url: upstream.url,
    api_key: `\${${providerKeyVariable}}`,
    models: [...upstream.models],
  };
  return { 'providers.yaml': { providers: { fake } } };
}

function writeFiles(directory: string, files: ConfigFiles): void {
  for (const [name, content] of Object.entries(files)) {
    const path = join(directory, name);
    if (content === null) {
      rmSync(path, { force: true });
      continue;
    }
    const beside = join(dirname(directory), `${name}.new`);
    writeFileSync(beside, typeof content === 'string' ? content : stringify(content));
    renameSync(beside, path);
  }
}
