// No provider can answer: the client gets the right error.
import type { Scenario } from '../scenario.ts';

export const ends: readonly Scenario[] = [
  {
    name: 'all providers are down',
    isPublished: true,
    plans: [{ unreached: 'port' }, { unreached: 'port' }],
    sees: { status: 502, code: 'upstream_unavailable' },
  },
  {
    name: 'all providers say 500',
    plans: [{ status: 500 }, { status: 500 }],
    sees: { status: 500 },
  },
  {
    name: 'all providers are limited, with different waits',
    plans: [
      { status: 429, headers: { 'retry-after': '30' } },
      { status: 429, headers: { 'retry-after': '7' } },
    ],
    sees: { status: 429, retryAfter: [6, 7] },
  },
  {
    name: 'all providers refuse the key of the gateway',
    plans: [
      { status: 401, says: 'Incorrect API key provided.' },
      { status: 401, says: 'Incorrect API key provided.' },
    ],
    sees: { status: 502, code: 'upstream_unauthorized' },
  },
  {
    name: 'one is limited, the other one is down',
    plans: [{ status: 429, headers: { 'retry-after': '7' } }, { unreached: 'port' }],
    sees: { status: 502, code: 'upstream_unavailable' },
  },
];
