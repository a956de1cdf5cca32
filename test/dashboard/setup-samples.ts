// Keys and aliases for the pages that show them: usual ones, one of each standing, and texts that would be markup.
import type { Fleet } from '../support/fleet.ts';

export interface SampleModels {
  /** At the provider `fake`. */
  readonly large: string;
  readonly small: string;
  /** A text that would run if a page took it for markup. */
  readonly probe: string;
}

/** Goes into the directory of the configuration. */
export function sampleAliases({ large, small }: SampleModels): object {
  const targets = [
    { model: `fake/${large}`, weight: 3 },
    { model: `reserve/${large}`, weight: 1 },
  ];
  return {
    aliases: [
      { source: 'chat', strategy: 'round_robin', targets },
      { source: 'fast', target: `fake/${small}` },
      { source: 'careful', strategy: 'failover', targets: targets.map(({ model }) => ({ model })).toReversed() },
    ],
  };
}

/** The same. */
export const sampleGuardrails = {
  guardrails: [
    { name: 'mask-personal-data', pii: { action: 'mask' } },
    {
      name: 'no-project-names',
      order: 10,
      mode: 'shadow',
      user_paths: ['/team-a'],
      keywords: { words: ['Bluebird', 'Redwood'], action: 'block' },
    },
  ],
};

/** Makes them through the first proxy of the fleet. */
export async function makeSamples(
  { proxies: [proxy] }: Pick<Fleet, 'proxies'>,
  { large, small, probe }: SampleModels,
): Promise<void> {
  const send = async (method: string, path: string, body: object): Promise<Record<string, unknown>> => {
    const response = await proxy?.fetch(path, { method, body });
    const text = (await response?.text()) ?? '';
    if (response?.ok !== true) throw new Error(`${path} answered ${response?.status}: ${text}`);
    return text === '' ? {} : (JSON.parse(text) as Record<string, unknown>);
  };
  const issue = (draft: object) => send('POST', '/admin/auth-keys', draft);
  const ann = { name: 'Ann, editor', user_path: '/team-a/ann', labels: ['editors', 'trial'], expires_in: '90d' };
  await issue({ ...ann, allowed_models: ['chat', 'fast'] });
  await issue({ name: 'Nightly batch', description: 'of the data team', user_path: '/data', expires_in: '3d' });
  await issue({ name: 'Lead of team A', user_path: '/team-a', dashboard_access: true });
  await issue({ name: 'IDE gateway', any_user_path: true });
  const odd = { name: probe, description: probe, labels: [probe], user_path: `/${probe}`, allowed_models: [probe] };
  const { id } = await issue(odd);
  await send('POST', `/admin/auth-keys/${String(id)}/deactivate`, {});
  const alias = (body: object) => send('PUT', '/admin/virtual-models', body);
  await alias({ source: probe, target: `fake/${small}`, description: probe, user_paths: [`/${probe}`] });
  const regex = { patterns: ['EMP-[0-9]{6}', probe], action: 'redact', replacement: probe };
  await send('PUT', '/admin/guardrails', { name: 'no-employee-ids', order: 20, regex, user_paths: [`/${probe}`] });
  const targets = [{ model: `fake/${small}` }, { model: `reserve/${large}` }];
  await alias({ source: 'fast', strategy: 'least_latency', targets, description: 'while the small one is slow' });
  const messages = [{ role: 'user', content: 'Hello' }];
  for (let count = 0; count < 12; count += 1)
    await send('POST', '/v1/chat/completions', { model: count % 3 === 0 ? 'fast' : 'chat', messages });
}
