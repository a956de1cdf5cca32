// Starts several proxies and one control plane on one Redis, on this machine, and stops them together.
import { join, relative } from 'node:path';
import { programCommand } from '../../deploy/cli/programs.ts';
import { createGroup } from '../../deploy/local/group.ts';
import { findMasterKey } from '../../deploy/local/master-key.ts';
import { takenPorts, waitUntilReady } from '../../deploy/local/reach.ts';
import { composeFleetBanner } from './commands.ts';

const startDeadlineMs = 30_000;
/** Those of no other example (deploy/local/examples.ts). */
const ownPorts = { FLEET_PORTS: '8220,8221', GATEWAY_ADMIN_PORT: '8222', DEMO_PROVIDER_PORT: '8223' };
const given = Object.entries(process.env).filter(([, value]) => value !== undefined && value !== '');
const env: NodeJS.ProcessEnv = { ...process.env, ...ownPorts, ...Object.fromEntries(given) };
const group = createGroup(env);
const ports = (env['FLEET_PORTS'] ?? '').split(',').map((port) => port.trim());
const dataDirectory = env['GATEWAY_DATA'] || './data/fleet';

/** The state store: the Redis of REDIS_URL, otherwise a Redis that this process starts. */
async function findRedis(): Promise<{ url: string; origin: string }> {
  if (env['REDIS_URL']) return { url: env['REDIS_URL'], origin: 'from REDIS_URL' };
  const folder = join(dataDirectory, 'redis');
  const redis = group.launch({
    name: 'redis',
    command: [join(import.meta.dirname, 'redis.ts'), folder],
    // Stopped last, because the planes write to it until they end.
    wave: 2,
    lastSignal: 'SIGTERM',
    canBeMissed: true,
  });
  const url = await redis.address;
  return { url, origin: `${url}, kept in ${folder}` };
}

async function start(): Promise<void> {
  const key = findMasterKey(env['GATEWAY_MASTER_KEY'], dataDirectory, env['GATEWAY_MASTER_KEY_FILE']);
  const redis = await findRedis();
  const variables = {
    GATEWAY_CONFIG: env['GATEWAY_CONFIG'] || relative(process.cwd(), join(import.meta.dirname, 'config')),
    GATEWAY_DATA: dataDirectory,
    GATEWAY_MASTER_KEY: key.value,
    GATEWAY_MASTER_KEY_FILE: '',
    NODE_COMPILE_CACHE: env['NODE_COMPILE_CACHE'] || join(dataDirectory, 'compile-cache'),
    REDIS_URL: redis.url,
    // A separate prefix, because other gateways may use the same Redis.
    GATEWAY_REDIS_PREFIX: env['GATEWAY_REDIS_PREFIX'] || 'fleet-example',
  };
  if (group.isStopping()) return;
  const demo = group.launch({
    name: 'demo provider',
    command: programCommand('demo-provider'),
  });
  const controlPlane = group.launch({
    name: 'control plane',
    command: programCommand('control-plane'),
    variables,
    canBeMissed: true,
  });
  const [demoUrl, controlPlaneUrl] = await Promise.all([demo.address, controlPlane.address]);
  await waitUntilReady(`${controlPlaneUrl}/health`);
  if (group.isStopping()) return;
  const proxies = ports.map((port, index) =>
    group.launch({
      name: `proxy-${index + 1}`,
      command: programCommand('proxy'),
      variables: {
        ...variables,
        GATEWAY_INSTANCE: `proxy-${index + 1}`,
        GATEWAY_PORT: port,
        GATEWAY_CONTROL_PLANE_URL: controlPlaneUrl,
        DEMO_PROVIDER_URL: env['DEMO_PROVIDER_URL'] || `${demoUrl}/v1`,
      },
      wave: 0,
      canBeMissed: true,
    }),
  );
  const proxyUrls = await Promise.all(proxies.map(({ address }) => address));
  await Promise.all(proxyUrls.map((url) => waitUntilReady(`${url}/health/ready`)));
  if (group.isStopping()) return;
  group.announce();
  process.stdout.write(
    composeFleetBanner({
      proxies: proxies.map(({ pid }, index) => ({ pid, url: proxyUrls[index] ?? '' })),
      controlPlane: { pid: controlPlane.pid, url: controlPlaneUrl },
      redis: redis.origin,
      masterKey: key.value,
      keyOrigin: key.origin,
    }),
  );
}

async function main(): Promise<void> {
  const taken = await takenPorts([
    ...ports.map((port) => ({ variable: 'FLEET_PORTS', port, host: env['GATEWAY_HOST'] })),
    { variable: 'GATEWAY_ADMIN_PORT', port: env['GATEWAY_ADMIN_PORT'] ?? '', host: env['GATEWAY_ADMIN_HOST'] },
    { variable: 'DEMO_PROVIDER_PORT', port: env['DEMO_PROVIDER_PORT'] ?? '' },
  ]);
  if (taken.length > 0) return group.stop(1, taken);
  const timer = setTimeout(() => {
    void group.stop(1, ['Not everything became ready within 30 s. The output:', ...group.said()]);
  }, startDeadlineMs);
  await start();
  clearTimeout(timer);
}

main().catch((error: unknown) => group.stop(1, [error instanceof Error ? error.message : String(error)]));
