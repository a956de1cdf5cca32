// A control plane and a proxy on the same configuration and stores.
import { waitFor } from '../support/wait-for.ts';
import { type GatewayOptions, MASTER_KEY, type Running, start, startGateway, writeConfig } from './processes.ts';

export interface BothPlanes {
  readonly controlPlane: Running;
  readonly proxy: Running;
}

/** Those of the proxy; some of the control plane differ. */
interface BothOptions extends GatewayOptions {
  readonly controlPlaneFlags?: readonly string[];
  readonly controlPlaneEnv?: Record<string, string>;
}

const startDeadlineMs = 120_000;

/** `folder` has the configuration and the data of both. Everything is in force when this resolves. */
export async function startBothPlanes(
  upstream: string,
  folder: string,
  { controlPlaneFlags, controlPlaneEnv, ...options }: BothOptions = {},
): Promise<BothPlanes> {
  const { isLogged = false, isCached = false, recording = 'on', scope, maxKeys } = options;
  writeConfig(upstream, folder, { isLogged, isCached, recording, scope, maxKeys });
  // Both must agree on the variables of the configuration.
  const env = { USAGE_ENABLED: 'true', ...options.env };
  const controlPlane = await start({
    name: 'control plane',
    entry: 'control-plane/main.ts',
    core: options.core,
    nodeFlags: controlPlaneFlags,
    env: {
      GATEWAY_ADMIN_PORT: '0',
      GATEWAY_CONFIG: `${folder}/config`,
      GATEWAY_DATA: `${folder}/data`,
      GATEWAY_MASTER_KEY: MASTER_KEY,
      ...env,
      ...controlPlaneEnv,
    },
  });
  const proxy = await startGateway(upstream, folder, {
    ...options,
    env: { ...env, GATEWAY_CONTROL_PLANE_URL: controlPlane.url },
  });
  await waitFor('the proxy to have everything in force', () => isConverged(controlPlane), startDeadlineMs);
  return { controlPlane, proxy };
}

async function isConverged({ url }: Running): Promise<boolean> {
  const response = await fetch(`${url}/admin/status`, { headers: { authorization: `Bearer ${MASTER_KEY}` } });
  return ((await response.json()) as { readonly converged: boolean }).converged;
}
