// Starts several proxies and a control plane on one state store.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { type RuleRow, usageOf } from './consumer.ts';
import { type Gateway, type GatewayOptions, masterKey, startGateway, writeStartConfig } from './gateway.ts';
import { type AdminDoor, delaysUntil } from './operator.ts';
import { type RunningProcess, startProcess } from './process.ts';
import { type RedisServer, startRedis } from './redis.ts';
import { type Teardown, temporaryDirectory } from './teardown.ts';
import { Agent, fetch } from './undici.ts';
import { waitFor } from './wait-for.ts';

export interface FleetOptions extends Pick<GatewayOptions, 'config' | 'files' | 'upstream' | 'env'> {
  store: 'sqlite' | 'redis';
  /** Default 2. */
  proxies?: number;
  /** Where caps hold, unless the configuration says it; default: in each proxy, whatever the store. */
  scope?: 'fleet' | 'replica';
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
  readonly admin: AdminDoor;
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

/** A configuration with the scope of its caps, where it does not say it. Texts stay as they are. */
export function scoped(
  options: Pick<FleetOptions, 'config' | 'files' | 'scope'>,
): Pick<FleetOptions, 'config' | 'files'> {
  const { config = {}, files = {}, scope = 'replica' } = options;
  const parts = Object.fromEntries(
    Object.entries(files).map(([name, part]) => [name, withScope(part, scope)] as const),
  );
  const own =
    Object.values(files).some(hasLimits) || typeof config === 'string' ? config : { rate_limits: {}, ...config };
  return { config: withScope(own, scope), files: parts };
}

function hasLimits(part: string | object | null): boolean {
  return typeof part === 'string' ? /^rate_limits:/m.test(part) : part !== null && 'rate_limits' in part;
}

function withScope<Part extends string | object | null>(part: Part, scope: string): Part {
  if (part === null || typeof part === 'string' || !('rate_limits' in part)) return part;
  return { ...(part as object), rate_limits: { scope, ...(part.rate_limits as object) } } as Part;
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
    GATEWAY_METRICS_MAX_AGE_MS: '0',
    ...options.env,
  };
  const { config, files } = scoped(options);
  const { upstream } = options;
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
  const startProxy = (_: unknown, index: number): Promise<Gateway> => {
    const own = { GATEWAY_INSTANCE: `proxy-${index + 1}`, GATEWAY_CONTROL_PLANE_URL: controlPlane.address };
    return startGateway(t, { config: {}, ...written, home, env: { ...env, ...own } });
  };
  const proxies = await Promise.all(Array.from({ length: options.proxies ?? 2 }, startProxy));

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

/** The problems that the parts report. */
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
  // The processes need the processor more than this loop; what they say of each other changes twice a second.
  if (found.length > 0) await setTimeout(60);
  return found;
}
