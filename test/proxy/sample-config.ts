// A whole config from the few lines that matter to a test: what the loader would hand to the compiler, defaults filled in.
import { defaultConfig } from '../../gitops/read/validate.ts';
import type { Alias, Config, Provider } from '../../schemas/types.ts';

const timeouts = { connect: '300ms', first_byte: '300ms', stream_idle: '300ms', total: '3s', usage_drain: '300ms' };

export interface SampleConfig {
  readonly providers?: Readonly<Record<string, Partial<Provider>>>;
  readonly aliases?: readonly (Pick<Alias, 'source'> &
    Partial<Omit<Alias, 'targets'>> & { targets: readonly Partial<Alias['targets'][number]>[] })[];
}

/** A config with these providers (by default of type openai, with one model `m`) and aliases (weight 1). */
export function sampleConfig({ providers = {}, aliases = [] }: SampleConfig): Config {
  const whole = Object.entries(providers).map(([name, given]): [string, Provider] => [
    name,
    {
      type: 'openai',
      base_url: 'http://127.0.0.1:9/v1',
      models: ['m'],
      headers: {},
      stream_usage: true,
      learn_limits: true,
      circuit_breaker: true,
      allow_routing_members: false,
      allow_private: false,
      ...given,
      timeouts: { ...timeouts, ...given.timeouts },
    },
  ]);
  const config = defaultConfig();
  return {
    ...config,
    server: { ...config.server, timeouts: { ...config.server.timeouts, body: '300ms' } },
    providers: Object.fromEntries(whole),
    aliases: aliases.map(({ targets, ...alias }) => ({
      strategy: 'round_robin',
      enabled: true,
      hedge: false,
      ...alias,
      targets: targets.map((target) => ({ model: 'p/m', weight: 1, ...target })),
    })),
  };
}
