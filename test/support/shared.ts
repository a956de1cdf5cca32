// A gateway and fleets that the files of one process have one after the other: each gets them with its own configuration and nothing else.
// To start a fleet of two proxies takes 2 s of the processor, to give it another configuration next to nothing.
import { readdirSync } from 'node:fs';
import type { RuleRow } from './consumer.ts';
import { type Fleet, type FleetOptions, scoped, startFleet } from './fleet.ts';
import { type ConfigFiles, type Gateway, type GatewayOptions, startConfig, startGateway } from './gateway.ts';
import { wholeProcess } from './tap-of-file.ts';
import { waitFor } from './wait-for.ts';

type Configuration = Pick<GatewayOptions, 'config' | 'files' | 'upstream'>;

/** `TEST_AWS_KEY` in the configuration of the shared gateway: an access key and its secret. */
export const awsKey = 'AKIAIOSFODNN7EXAMPLE:wJalrXUtnFEMIK7MDENG+bPxRfiCYEXAMPLEKEY';

let gateway: Promise<Gateway> | undefined;
/** Those that a file has had before. */
const used = new WeakSet<Gateway>();
const fleets = new Map<FleetOptions['store'], Promise<Fleet>>();

/**
 * For tests that neither end it nor need it new: counters of metrics and lines of its log may be there from before, what it remembers
 * of targets, rules and answers is not.
 */
export async function shareGateway(options: Configuration): Promise<Gateway> {
  const env = { GATEWAY_ENTITLEMENTS: 'quota_templates', TEST_AWS_KEY: awsKey };
  gateway ??= startGateway(wholeProcess, { config: {}, env });
  const shared = await gateway;
  await configure(shared, options);
  return shared;
}

/**
 * Two proxies, with `quota_templates`, whose counters are never written: nothing that is listed may depend on it. A test that ends one of
 * its processes starts it again.
 */
export async function shareFleet(options: Configuration & Pick<FleetOptions, 'store' | 'scope'>): Promise<Fleet> {
  const { store } = options;
  const env = { GATEWAY_ENTITLEMENTS: 'quota_templates', RATE_LIMITS_FLUSH_INTERVAL: '0' };
  const found = fleets.get(store) ?? startFleet(wholeProcess, { store, env });
  fleets.set(store, found);
  const fleet = await found;
  const [first] = fleet.proxies;
  if (first === undefined) throw new Error('a fleet without proxies');
  await removeAll(fleet);
  await configure(first, { ...options, ...scoped(options) });
  await waitFor('the configuration to be in force everywhere', async () => {
    const { desired } = (await (await fleet.admin('/admin/status')).json()) as { desired: { config_revision: string } };
    const metrics = await Promise.all(fleet.proxies.map((proxy) => proxy.metrics()));
    return metrics.every((text) => text.includes(`revision="${desired.config_revision}"`));
  });
  await fleet.recovered();
  // A proxy that has just begun to share its caps knows of no other one before the store has answered.
  if (isShared(options))
    for (const proxy of fleet.proxies)
      await waitFor('the proxies to share caps', async () => (await proxy.metric('gateway_rate_limit_replicas')) === 2);
  return fleet;
}

const isShared = ({ config, scope }: Parameters<typeof shareFleet>[0]): boolean =>
  scope === 'fleet' || JSON.stringify(config ?? {}).includes('"scope":"fleet"');

/** First a configuration without anything, so that nothing of the one before is left: neither counters nor states of targets. */
async function configure(shared: Gateway, options: Configuration): Promise<void> {
  const former: ConfigFiles = Object.fromEntries(readdirSync(shared.configDir).map((name) => [name, null]));
  if (used.has(shared)) await shared.applyConfig({ ...former, 'gateway.yaml': '{}' });
  used.add(shared);
  await shared.applyConfig(startConfig(options));
}

/** Whatever operators have set. */
async function removeAll({ admin }: Fleet): Promise<void> {
  const list = async <T>(path: string): Promise<T> => (await (await admin(`/admin/${path}`)).json()) as T;
  const remove = async (path: string, body?: object): Promise<void> => {
    const response = await admin(`/admin/${path}`, { method: 'DELETE', ...(body === undefined ? {} : { body }) });
    const text = await response.text();
    // An alias that others lead to can be removed after them.
    if (!response.ok && response.status !== 409) throw new Error(`${path} was not removed: ${text}`);
  };
  const { rate_limits: rules } = await list<{ rate_limits: RuleRow[] }>('rate-limits');
  for (const { scope, subject, source, period_seconds: seconds } of rules) {
    const limit_key = seconds === 0 ? { period: 'concurrent' } : { period_seconds: seconds };
    if (source === 'manual') await remove('rate-limits', { scope, subject, limit_key });
  }
  const { budgets } = await list<{ budgets: Pick<RuleRow, 'scope' | 'subject' | 'source' | 'period_seconds'>[] }>(
    'budgets',
  );
  for (const { scope, subject, source, period_seconds } of budgets) {
    if (source === 'manual') await remove('budgets', { scope, subject, budget_key: { period_seconds } });
  }
  const { guardrails } = await list<{ guardrails: { name: string; source: string }[] }>('guardrails');
  for (const { name, source } of guardrails) if (source === 'manual') await remove('guardrails', { name });
  for (const { id } of await list<{ id: string }[]>('auth-keys')) await remove(`auth-keys/${id}`);
  const { drains } = await list<{ drains: { provider: string; model?: string }[] }>('targets');
  for (const { provider, model } of drains)
    await remove(`targets/${provider}${model === undefined ? '' : `/${model}`}/drain`);
  // One that leads to another goes first.
  await waitFor('the aliases to be removed', async () => {
    const { virtual_models: all } = await list<{ virtual_models: { source: string; managed_by: string }[] }>(
      'virtual-models',
    );
    const manual = all.filter(({ managed_by: by }) => by === 'manual');
    for (const { source } of manual) await remove('virtual-models', { source });
    return manual.length === 0;
  });
}
