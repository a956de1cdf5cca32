// Bodies about keys, targets and the configuration on disk, for readers of the API description.

/** By the name of the schema. */
export const fleetExamples = {
  'auth-key-rotate': { overlap: '1d' },
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
