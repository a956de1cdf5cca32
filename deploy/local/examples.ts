// The examples of `npm start -- NAME`: each has its own data and its own ports, so that they do not disturb each other.
import { join, relative } from 'node:path';

/** The port of the proxy; the control plane has the next one, the demo provider the one after that. */
const proxyPorts: Readonly<Record<string, number>> = {
  cache: 8100,
  chargeback: 8110,
  'cloud-identity': 8240,
  'coding-agents': 8220,
  'gitops-repo': 8120,
  guardrails: 8130,
  'ide-client': 8140,
  identity: 8260,
  observability: 8150,
  passthrough: 8160,
  'per-child': 8170,
  'provider-failover': 8180,
  realtime: 8190,
  secrets: 8250,
  'semantic-cache': 8200,
  'team-limits': 8210,
};

/** Every example that has them. */
export const startedExamples: readonly string[] = Object.keys(proxyPorts);

/** The variables of an example; undefined for a name that is none. `top`: of the repository. */
export function exampleVariables(name: string, top: string): Readonly<Record<string, string>> | undefined {
  const port = Object.hasOwn(proxyPorts, name) ? proxyPorts[name] : undefined;
  if (port === undefined) return undefined;
  return {
    GATEWAY_CONFIG: relative(process.cwd(), join(top, 'examples', name, 'config')),
    GATEWAY_DATA: `./data/${name}`,
    GATEWAY_PORT: String(port),
    GATEWAY_ADMIN_PORT: String(port + 1),
    DEMO_PROVIDER_PORT: String(port + 2),
  };
}
