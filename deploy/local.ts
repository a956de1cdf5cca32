// `npm start`: starts the demo provider, the control plane and the proxy on this machine, and stops them together. `npm start -- NAME` starts an
// example.
import { join } from 'node:path';
import { programCommand, top } from './cli/programs.ts';
import { chooseModel, composeBanner } from './local/banner.ts';
import { exampleVariables, startedExamples } from './local/examples.ts';
import { createGroup } from './local/group.ts';
import { findMasterKey, type MasterKey } from './local/master-key.ts';
import { takenPorts, waitUntilReady } from './local/reach.ts';
import { findStartConfig } from './local/start-config.ts';

const startDeadlineMs = 30_000;
const [, , example] = process.argv;
const own = example === undefined ? {} : exampleVariables(example, top);
if (own === undefined) {
  process.stderr.write(`there is no example ${example} to start; there are ${startedExamples.join(', ')}\n`);
  process.exit(2);
}
const given = Object.entries(process.env).filter(([, value]) => value !== undefined && value !== '');
/** What is set wins over what an example has of its own. */
const env: NodeJS.ProcessEnv = { ...process.env, ...own, ...Object.fromEntries(given) };
const group = createGroup(env);

async function listModels(proxyUrl: string, masterKey: string): Promise<string[]> {
  const response = await fetch(`${proxyUrl}/v1/models`, { headers: { authorization: `Bearer ${masterKey}` } });
  const { data }: { data: { id: string }[] } = JSON.parse(await response.text());
  return data.map(({ id }) => id);
}

async function start(key: MasterKey, dataDirectory: string): Promise<void> {
  const configDirectory = env['GATEWAY_CONFIG'] || findStartConfig(top);
  const variables = {
    GATEWAY_CONFIG: configDirectory,
    GATEWAY_DATA: dataDirectory,
    // Node keeps the compiled TypeScript: later starts are faster, and every process needs 30 MB less.
    NODE_COMPILE_CACHE: env['NODE_COMPILE_CACHE'] || join(dataDirectory, 'compile-cache'),
    // A file is followed by the planes themselves.
    GATEWAY_MASTER_KEY: env['GATEWAY_MASTER_KEY_FILE'] ? '' : key.value,
  };
  const demo = group.launch({
    name: 'demo provider',
    command: programCommand('demo-provider'),
  });
  const controlPlane = group.launch({
    name: 'control plane',
    command: programCommand('control-plane'),
    variables,
  });
  const [demoUrl, controlPlaneUrl] = await Promise.all([demo.address, controlPlane.address]);
  await waitUntilReady(`${controlPlaneUrl}/health`);
  if (group.isStopping()) return;
  const proxy = group.launch({
    name: 'proxy',
    command: programCommand('proxy'),
    variables: {
      ...variables,
      DEMO_PROVIDER_URL: env['DEMO_PROVIDER_URL'] || `${demoUrl}/v1`,
      GATEWAY_CONTROL_PLANE_URL: env['GATEWAY_CONTROL_PLANE_URL'] || controlPlaneUrl,
    },
    // The proxy stops first, because its streams need the other processes until they end.
    wave: 0,
  });
  const proxyUrl = await proxy.address;
  await waitUntilReady(`${proxyUrl}/health/ready`);
  const model = chooseModel(await listModels(proxyUrl, key.value));
  if (group.isStopping()) return;
  group.announce();
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
  const taken = await takenPorts([
    { variable: 'GATEWAY_PORT', port: env['GATEWAY_PORT'] || '8080', host: env['GATEWAY_HOST'] },
    { variable: 'GATEWAY_ADMIN_PORT', port: env['GATEWAY_ADMIN_PORT'] || '8081', host: env['GATEWAY_ADMIN_HOST'] },
    { variable: 'DEMO_PROVIDER_PORT', port: env['DEMO_PROVIDER_PORT'] || '8090' },
  ]);
  if (taken.length > 0) return group.stop(1, taken);
  const dataDirectory = env['GATEWAY_DATA'] || './data';
  const timer = setTimeout(() => {
    void group.stop(1, ['Not everything became ready within 30 s. The output:', ...group.said()]);
  }, startDeadlineMs);
  const key = findMasterKey(env['GATEWAY_MASTER_KEY'], dataDirectory, env['GATEWAY_MASTER_KEY_FILE']);
  await start(key, dataDirectory);
  clearTimeout(timer);
}

main().catch((error: unknown) => group.stop(1, [explain(error)]));
