// A whole config from the few lines that matter to a test: what the loader would hand to the compiler, defaults filled in.
import { defaultAnchors } from '../../domain/budgets/window.ts';
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
  return {
    server: {
      body_limit: '32MiB',
      upload_limit: '512MiB',
      user_path_header: 'X-Gateway-User-Path',
      enable_passthrough_routes: true,
      unknown_objects: 'refuse',
      shutdown_grace: '2m',
      cut_revoked_streams: false,
      keep_alive: '75s',
      access_log: 'failures',
      ratelimit_headers: ['openai'],
      trusted_proxies: [],
      cors: { origins: [] },
      realtime: {
        frame_limit: '16MiB',
        ping_interval: '30s',
        session_max: '2h',
        message_timeout: '60s',
        max_sessions: 1000,
      },
      stored_responses: { enabled: true, ttl: '30d' },
      timeouts: { headers: '10s', body: '300ms', write_idle: '1m' },
    },
    providers: Object.fromEntries(whole),
    aliases: aliases.map(({ targets, ...alias }) => ({
      strategy: 'round_robin',
      enabled: true,
      hedge: false,
      ...alias,
      targets: targets.map((target) => ({ model: 'p/m', weight: 1, ...target })),
    })),
    admin: { max_keys: 10_000, max_keys_per_scope: 1_000, max_rules_per_scope: 1_000 },
    rate_limits: { enabled: true, max_children: 100_000, user_paths: [], providers: [], models: [] },
    budgets: { enabled: true, unpriced: 'allow', user_paths: [], labels: [], settings: defaultAnchors },
    usage: { retention: '90d', list_prices: true, prices: {} },
    audit: {
      enabled: true,
      bodies: false,
      original_bodies: false,
      body_limit: '64KiB',
      headers: false,
      sample: 1,
      without: [],
      retention: '30d',
      max_size: '20GiB',
    },
    guardrails: [],
    cache: {
      enabled: false,
      ttl: '1h',
      max_bytes: '64MiB',
      max_entry_bytes: '1MiB',
      scope: 'user_path',
      endpoints: ['/v1/chat/completions', '/v1/completions', '/v1/responses', '/v1/messages', '/v1/embeddings'],
      only_deterministic: false,
      share_concurrent: false,
      share_patience: '1s',
      without: [],
    },
  };
}
