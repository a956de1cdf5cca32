// Bodies about keys, targets and the configuration on disk, for readers of the API description.

/** By the name of the schema. */
export const fleetExamples = {
  'guardrail-write': { name: 'no-project-names', order: 10, keywords: { words: ['Bluebird'], action: 'block' } },
  'guardrail-delete': { name: 'no-project-names' },
  'guardrail-test': { text: 'What is Bluebird?', user_path: '/team-a' },
  'guardrail-verdicts': {
    phase: 'input',
    user_path: '/team-a',
    model: '',
    refused: { code: 'guardrail_blocked', reason: 'no-project-names (keyword)' },
    verdicts: [
      { name: 'mask-personal-data', kind: 'pii', mode: 'enforce', order: 0, outcome: 'pass' },
      { name: 'no-project-names', kind: 'keywords', mode: 'enforce', order: 10, outcome: 'block', reason: 'keyword' },
    ],
    revisions: [
      {
        seq: 1,
        rewriter: 'mask-personal-data',
        bytes_before: 64,
        bytes_after: 64,
        tokens_saved: 0,
        no_change: true,
      },
    ],
    config_revision: '9f86d081884c',
    state_revision: 42,
    instance: 'gateway-0:8080',
    server_time: '2026-03-01T21:04:20.512Z',
  },
  guardrails: {
    guardrails: [
      {
        name: 'mask-personal-data',
        kind: 'pii',
        mode: 'enforce',
        order: 0,
        on: ['input', 'output'],
        settings: { kinds: ['email', 'card'], action: 'mask' },
        source: 'config',
        overrides_config: false,
        declared_at: 'guardrails.yaml:2',
        verdicts: [
          { phase: 'input', outcome: 'pass', count: 812 },
          { phase: 'input', outcome: 'revise', count: 14 },
        ],
      },
    ],
    server_time: '2026-03-01T21:04:20.512Z',
  },
  'auth-key-rotate': { overlap: '1d' },
  cache: {
    server_time: '2026-03-01T21:04:20.512Z',
    settings: {
      enabled: true,
      ttl: '1h',
      max_bytes: '64MiB',
      max_entry_bytes: '1MiB',
      scope: 'user_path',
      endpoints: ['/v1/chat/completions', '/v1/embeddings'],
      only_deterministic: false,
      share_concurrent: false,
      share_patience: '1s',
      engine: 'memory',
      without: [],
    },
    entries: 812,
    bytes: 4_210_688,
    evicted: 0,
    dropped: 0,
    hits: 318,
    misses: 901,
    bypasses: 12,
    saved_tokens: 412_077,
    saved_cost: 1.204,
    endpoints: [{ endpoint: '/v1/chat/completions', hits: 318, misses: 901, bypasses: 12 }],
    proxies: [
      {
        instance: 'gateway-0:8080',
        started_at: '2026-03-01T06:00:00.000Z',
        hits: 318,
        misses: 901,
        bypasses: 12,
        entries: 812,
        bytes: 4_210_688,
      },
    ],
  },
  'config-differences': {
    server_time: '2026-03-01T21:04:20.512Z',
    directory: './config',
    config_revision: '9f86d081884c',
    config_source: 'directory',
    applied_at: '2026-03-01T06:00:00.000Z',
    disk_revision: '5b0c8e21d7f3',
    same: false,
    problems: [
      {
        file: 'config/limits.yaml',
        line: 7,
        column: 23,
        path: 'rate_limits.user_paths[0].limits[0].max_requests',
        message: 'must be a whole number, found "sixty"',
        text: 'config/limits.yaml:7:23  rate_limits.user_paths[0].limits[0].max_requests  must be a whole number, found "sixty"',
      },
    ],
    files: [
      {
        file: 'limits.yaml',
        change: 'changed',
        values: [
          {
            path: 'rate_limits.user_paths[/team-a].limits[minute].max_requests',
            change: 'changed',
            line: 7,
            before: '60',
            after: '"sixty"',
          },
        ],
      },
    ],
    complete: true,
  },
  targets: {
    server_time: '2026-03-01T21:04:20.512Z',
    window_seconds: 60,
    targets: [
      {
        provider: 'openai',
        model: 'gpt-4o',
        calls: 120,
        failures: 6,
        proxies: [
          {
            instance: 'gateway-0:8080',
            breaker: 'closed',
            obstacle: 'quota_used_up',
            until: '2026-03-01T21:04:51.000Z',
            calls: 120,
            failures: 6,
            first_byte_ms: 412,
            first_byte_p95_ms: 980,
            limits: [
              { dimension: 'requests', remaining: 0, limit: 500 },
              { dimension: 'tokens', remaining: 28_000 },
            ],
          },
        ],
      },
    ],
    complete: true,
  },
} as const;
