// Several proxies and a control plane on one state store, as a platform team runs them, started in one call.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import type { Test } from 'tap';
import { Agent, fetch, Pool, type Response } from 'undici';
import {
  type Gateway,
  type GatewayOptions,
  type GatewayRequest,
  masterKey,
  startGateway,
  writeStartConfig,
} from './gateway.ts';
import { type RunningProcess, startProcess } from './process.ts';
import { type RedisServer, startRedis } from './redis.ts';
import { type Teardown, temporaryDirectory } from './teardown.ts';
import { waitFor } from './wait-for.ts';

export interface FleetOptions extends Pick<GatewayOptions, 'config' | 'files' | 'upstream' | 'env'> {
  store: 'sqlite' | 'redis';
  /** Default 2. */
  proxies?: number;
  /** A server that runs already; default: one with an append-only file. */
  redis?: RedisServer;
}

export interface Fleet {
  readonly proxies: readonly Gateway[];
  readonly controlPlane: RunningProcess;
  /** Where the config lies that all of them follow; edits go through `proxies[0].applyConfig`. */
  readonly home: string;
  readonly redis: RedisServer | undefined;
  /** A request to the control plane itself, with the master key unless `init` brings its own `authorization`; an object as body is sent as JSON. */
  admin(path: string, init?: GatewayRequest): Promise<Response>;
  /** A write to `/admin/rate-limits` (or below it) with that body; the listing it answers with. Throws when it is refused. */
  write(method: 'PUT' | 'DELETE' | 'POST', body: object, below?: string): Promise<readonly RuleRow[]>;
  /** Resolves when every proxy has in force whatever was written before; leaves a rule on `/settled` behind. */
  settle(): Promise<void>;
  /** Another control plane on the same store. */
  startControlPlane(): Promise<RunningProcess>;
  /** Starts the control plane again where it was, so that the proxies find it; what still runs is stopped first. */
  restartControlPlane(): Promise<void>;
  /** Waits until every part says that all is well. Gives the milliseconds it took. */
  recovered(deadlineMs?: number): Promise<number>;
}

/** What came of a load. */
export interface LoadFigures {
  readonly answered: number;
  /** What came instead of an answer with status 200, and how often. */
  readonly failures: Readonly<Record<string, number>>;
  /** Not sent, because too many were under way. */
  readonly leftOut: number;
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

export interface Load {
  /** Since the last look, or the beginning. */
  look(): LoadFigures;
  /** Sends no more; of everything since the beginning, once the last answer is there. */
  end(): Promise<LoadFigures>;
}

export interface LoadOptions {
  /** Those that get it; default: all. */
  readonly proxies?: readonly Pick<Gateway, 'url'>[];
  /** Default 300. */
  readonly perSecond?: number;
}

/** As much of a row of the listing, or of an entry of `/v1/usage`, as tests look at. */
export interface RuleRow {
  readonly scope: string;
  readonly subject: string;
  readonly per_child: boolean;
  readonly source: 'manual' | 'config';
  readonly overrides_config: boolean;
  readonly period_seconds: number;
  readonly max_requests?: number;
  readonly max_tokens?: number;
  readonly requests_used: number;
  readonly requests_remaining?: number;
  readonly tokens_used: number;
  readonly tokens_remaining?: number;
  readonly in_flight: number;
  readonly created_at: string;
  readonly updated_at: string;
}

/** One model request of a consumer, its answer read to the end; `more` goes into the body, `headers` over the usual ones. */
export async function ask(
  proxy: Gateway,
  userPath: string,
  more: object = {},
  headers: Record<string, string> = {},
): Promise<{ status: number; headers: Response['headers']; text: string }> {
  const response = await proxy.fetch('/v1/chat/completions', {
    method: 'POST',
    headers: { 'x-gateway-user-path': userPath, ...headers },
    body: { model: 'fake/fake-small', messages: [{ role: 'user', content: 'say hello' }], ...more },
  });
  return { status: response.status, headers: response.headers, text: await response.text() };
}

/** The limits of a consumer as one proxy enforces and counts them. */
export async function usageOf(proxy: Gateway, userPath: string): Promise<readonly RuleRow[]> {
  const response = await proxy.fetch('/v1/usage', { headers: { 'x-gateway-user-path': userPath } });
  return ((await response.json()) as { rate_limits: RuleRow[] }).rate_limits;
}

/** Every rule as the control plane lists it. */
export async function listRules(fleet: Pick<Fleet, 'admin'>): Promise<readonly RuleRow[]> {
  const response = await fleet.admin('/admin/rate-limits');
  const text = await response.text();
  if (response.status !== 200) throw new Error(`the listing answered ${response.status}: ${text}`);
  return (JSON.parse(text) as { rate_limits: RuleRow[] }).rate_limits;
}

/** What the admin API of rate limits said, whatever it was. */
export interface AdminAnswer {
  readonly status: number;
  /** Of an error. */
  readonly code: string | undefined;
  readonly retryAfter: string | null;
  readonly etag: string | null;
  /** The listing; empty for an error. */
  readonly rules: readonly RuleRow[];
  readonly tookMs: number;
}

/** A request to `/admin/rate-limits` through a proxy. */
export async function askAdmin(through: Pick<Gateway, 'fetch'>, method = 'GET', body?: object): Promise<AdminAnswer> {
  const startedMs = performance.now();
  const response = await through.fetch('/admin/rate-limits', { method, ...(body === undefined ? {} : { body }) });
  const said = (await response.json()) as { code?: string; rate_limits?: RuleRow[] };
  return {
    status: response.status,
    code: said.code,
    retryAfter: response.headers.get('retry-after'),
    etag: response.headers.get('etag'),
    rules: said.rate_limits ?? [],
    tookMs: performance.now() - startedMs,
  };
}

/** Why a proxy is degraded; nothing when it is ready. Rejects when it is neither. */
export async function reasonsOf(proxy: Pick<Gateway, 'fetch'>): Promise<readonly string[]> {
  const response = await proxy.fetch('/health/ready');
  const { status, reasons } = (await response.json()) as { status: string; reasons: string[] };
  if (response.status !== 200 || (status === 'degraded') !== reasons.length > 0) throw new Error(`it is ${status}`);
  return reasons;
}

/** Every way to the admin API: the control plane itself, then each proxy. */
export function doorsOf(fleet: Fleet): readonly Fleet['admin'][] {
  return [
    (path, init) => fleet.admin(path, init),
    ...fleet.proxies.map(
      (proxy): Fleet['admin'] =>
        (path, init) =>
          proxy.fetch(path, init),
    ),
  ];
}

/** How long it takes from now until each proxy satisfies the probe, in milliseconds; asked every few of them. */
export function delaysUntil(
  proxies: readonly Gateway[],
  what: string,
  probe: (proxy: Gateway) => Promise<boolean>,
): Promise<number[]> {
  const startedAtMs = performance.now();
  return Promise.all(
    proxies.map(async (proxy) => {
      await waitFor(what, () => probe(proxy));
      return performance.now() - startedAtMs;
    }),
  );
}

/** Everything is ready when this resolves, and gone when the test ends. */
export async function startFleet(t: Teardown, options: FleetOptions): Promise<Fleet> {
  const home = temporaryDirectory(t, 'gateway-fleet');
  const redis = options.store === 'redis' ? (options.redis ?? (await startRedis(t, { appendOnly: true }))) : undefined;
  const env = {
    GATEWAY_CONFIG: join(home, 'config'),
    GATEWAY_DATA: join(home, 'data'),
    GATEWAY_MASTER_KEY: masterKey,
    REDIS_URL: redis?.url,
    ...options.env,
  };
  const { config, files, upstream } = options;
  const written = {
    ...(config === undefined ? {} : { config }),
    ...(files === undefined ? {} : { files }),
    ...(upstream === undefined ? {} : { upstream }),
  };
  mkdirSync(env.GATEWAY_CONFIG, { recursive: true });
  writeStartConfig(env.GATEWAY_CONFIG, { config: {}, ...written });
  const startControlPlane = (): Promise<RunningProcess> =>
    startProcess({ t, entry: 'control-plane/main.ts', env: { ...env, GATEWAY_ADMIN_PORT: '0' } });
  const controlPlane = await startControlPlane();
  const proxies: Gateway[] = [];
  for (let index = 1; index <= (options.proxies ?? 2); index += 1) {
    const own = { GATEWAY_INSTANCE: `proxy-${index}`, GATEWAY_CONTROL_PLANE_URL: controlPlane.address };
    proxies.push(await startGateway(t, { config: {}, ...written, home, env: { ...env, ...own } }));
  }

  const agent = new Agent({ pipelining: 1 });
  t.teardown(() => agent.destroy());
  let settlings = 0;
  const fleet: Fleet = {
    proxies,
    controlPlane,
    home,
    redis,
    startControlPlane,
    restartControlPlane: () => controlPlane.restart({ GATEWAY_ADMIN_PORT: new URL(controlPlane.address).port }),
    async recovered(deadlineMs) {
      const startedMs = performance.now();
      let found: string[] = [];
      const isWell = async () => {
        found = await complaints(controlPlane.address, proxies, agent);
        return found.length === 0;
      };
      await waitFor('the fleet to recover', isWell, deadlineMs).catch((error: unknown) => {
        throw new Error(`it did not recover: ${found.join('; ')}`, { cause: error });
      });
      return performance.now() - startedMs;
    },
    async write(method, body, below = '') {
      const response = await fleet.admin(`/admin/rate-limits${below}`, { method, body });
      const text = await response.text();
      if (response.status !== 200) throw new Error(`${method} ${JSON.stringify(body)}: ${response.status} ${text}`);
      return (JSON.parse(text) as { rate_limits?: RuleRow[] }).rate_limits ?? [];
    },
    async settle() {
      settlings += 1;
      const number = settlings;
      await fleet.write('PUT', { user_path: '/settled', limit_key: { period: 'day' }, max_requests: number });
      await delaysUntil(proxies, 'what was written to be in force', async (proxy) =>
        (await usageOf(proxy, '/settled')).some((row) => row.max_requests === number && row.subject === '/settled'),
      );
    },
    admin: (path, { headers, body, ...init } = {}) =>
      fetch(`${controlPlane.address}${path}`, {
        dispatcher: agent,
        ...init,
        headers: {
          authorization: `Bearer ${masterKey}`,
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          ...headers,
        },
        body:
          body === undefined || typeof body === 'string' || body instanceof Uint8Array
            ? (body ?? null)
            : JSON.stringify(body),
      }),
  };
  return fleet;
}

interface Status {
  readonly converged: boolean;
  readonly store: { readonly status: string };
  readonly proxies: readonly { readonly live: boolean }[];
}

interface Ready {
  readonly status: string;
  readonly reasons: readonly string[];
}

/** What is not well; asked of every part. */
async function complaints(controlPlane: string, proxies: readonly Gateway[], agent: Agent): Promise<string[]> {
  const read = async (url: string): Promise<unknown> => {
    const headers = { authorization: `Bearer ${masterKey}` };
    return fetch(url, { dispatcher: agent, headers })
      .then((response) => response.json())
      .catch(() => ({}));
  };
  const places = [controlPlane, ...proxies.map(({ url }) => url)];
  const ready = await Promise.all(places.map((url) => read(`${url}/health/ready`) as Promise<Partial<Ready>>));
  const { converged, store, proxies: heard = [] } = (await read(`${controlPlane}/admin/status`)) as Partial<Status>;
  const found = [
    ...ready.flatMap(({ status, reasons = [] }, index) =>
      status === 'ready' ? [] : [`${places[index]} is ${status}: ${reasons.join(', ')}`],
    ),
    ...(converged === true ? [] : ['not converged']),
    ...(store?.status === 'up' ? [] : [`the store is ${store?.status}`]),
    ...(heard.filter(({ live }) => live).length === proxies.length ? [] : ['not every proxy is heard']),
  ];
  // Those who are asked need the machine more than we do.
  if (found.length > 0) await setTimeout(20);
  return found;
}

const call = JSON.stringify({ model: 'fake-small', messages: [{ role: 'user', content: 'Hello' }] });
const mostUnderWay = 500;

/** Calls the model `fake-small` at a steady rate, whether answers come or not, each proxy in turn; until its end or the test's. */
export function startLoad(t: Teardown, proxies: readonly Pick<Gateway, 'url'>[], perSecond = 300): Load {
  const pools = proxies.map(({ url }) => new Pool(url, { connections: 64, pipelining: 1 }));
  const headers = { authorization: `Bearer ${masterKey}`, 'content-type': 'application/json' };
  const underWay = new Set<Promise<void>>();
  const answers: { tookMs: number; failure: string | undefined }[] = [];
  const startedMs = performance.now();
  let due = 0;
  let leftOut = 0;
  let seen = { answers: 0, leftOut: 0, atMs: startedMs };

  const send = async (pool: Pool | undefined): Promise<void> => {
    if (pool === undefined) throw new Error('a load needs a proxy');
    const sentMs = performance.now();
    const failure = await pool
      .request({ method: 'POST', path: '/v1/chat/completions', headers, body: call, headersTimeout: 5_000 })
      .then(async ({ statusCode, body }) => {
        const text = await body.text();
        return statusCode === 200 ? undefined : `${statusCode} ${text.slice(0, 200)}`;
      })
      .catch((error: unknown) => String(error));
    answers.push({ tookMs: performance.now() - sentMs, failure });
  };
  const timer = setInterval(() => {
    for (; due < ((performance.now() - startedMs) / 1000) * perSecond; due += 1) {
      if (underWay.size >= mostUnderWay) {
        leftOut += 1;
        continue;
      }
      const sent = send(pools[due % pools.length]);
      underWay.add(sent);
      void sent.finally(() => underWay.delete(sent));
    }
  }, 10);
  t.teardown(() => {
    clearInterval(timer);
    return Promise.all(pools.map((pool) => pool.destroy()));
  });

  const figures = (from: typeof seen): LoadFigures => {
    const since = answers.slice(from.answers);
    const times = since.map(({ tookMs }) => tookMs).sort((a, b) => a - b);
    const failures: Record<string, number> = {};
    for (const { failure } of since) if (failure !== undefined) failures[failure] = (failures[failure] ?? 0) + 1;
    return {
      answered: since.length,
      failures,
      leftOut: leftOut - from.leftOut,
      perSecond: since.length / ((performance.now() - from.atMs) / 1000),
      p50Ms: times[Math.floor(times.length / 2)] ?? 0,
      p99Ms: times[Math.floor(times.length * 0.99)] ?? 0,
    };
  };
  return {
    look() {
      const found = figures(seen);
      seen = { answers: answers.length, leftOut, atMs: performance.now() };
      return found;
    },
    async end() {
      clearInterval(timer);
      await Promise.all(underWay);
      return figures({ answers: 0, leftOut: 0, atMs: startedMs });
    },
  };
}

/**
 * Does something to the fleet under a steady load. Whatever it is, no model request fails, no proxy dies, and afterwards everything
 * is well again without help.
 */
export async function underLoad(
  t: Test,
  fleet: Fleet,
  work: (load: Load) => Promise<void>,
  { proxies = fleet.proxies, perSecond = 300 }: LoadOptions = {},
): Promise<void> {
  const load = startLoad(t, proxies, perSecond);
  await waitFor('the load to run', () => load.look().answered > 0);
  await work(load);
  const recoveredMs = await fleet.recovered();
  const all = await load.end();
  t.comment(`well again after ${recoveredMs.toFixed(0)} ms; ${describeLoad(all)}`);
  t.same(all.failures, {}, 'no model request fails');
  t.ok(all.answered > 0);
  for (const { process } of fleet.proxies) {
    t.ok(process.running);
    t.notMatch(process.lastLines(), /unexpected failure/);
  }
}

/** One line. */
export function describeLoad({ answered, leftOut, perSecond, p50Ms, p99Ms }: LoadFigures): string {
  const times = `p50 ${p50Ms.toFixed(1)} ms, p99 ${p99Ms.toFixed(1)} ms`;
  return `${answered} requests, ${perSecond.toFixed(0)}/s, ${leftOut} left out, ${times}`;
}
