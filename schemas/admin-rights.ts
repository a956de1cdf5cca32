// What each route of the admin API needs: one row for each right. Both planes decide by it, and the API description and docs/roles.md say it.
import type { ConfigKey } from './types.ts';

type Role = NonNullable<ConfigKey['role']>;

/** `subtree`: operators of any user path, each for its own subtree, which the route sees to. `gateway`: those of the whole gateway alone. */
type Reach = 'subtree' | 'gateway';

export interface Right {
  /** The least role. */
  readonly role: Role;
  readonly reach: Reach;
}

/** Routes as they are registered; `HEAD` goes with `GET`. */
const rows: readonly (readonly [Role, Reach, readonly string[]])[] = [
  [
    'viewer',
    'subtree',
    [
      'GET /admin/session',
      'DELETE /admin/session',
      'GET /admin/openapi.json',
      'GET /admin/convergence',
      'GET /admin/names',
      'GET /admin/rate-limits',
      'GET /admin/budgets',
      'GET /admin/budgets/settings',
      'GET /admin/auth-keys',
      'GET /admin/auth-keys/:id',
      'GET /admin/usage/summary',
      'GET /admin/usage/daily',
      'GET /admin/usage/models',
      'GET /admin/usage/user-paths',
      'GET /admin/usage/keys',
      'GET /admin/usage/labels',
      'GET /admin/usage/sessions',
      'GET /admin/usage/log',
      'GET /admin/audit/sessions',
      'GET /admin/audit/log',
      // A viewer sees no bodies there.
      'GET /admin/audit/detail',
      'GET /admin/audit/stats',
      'GET /admin/live',
      'GET /admin/explain',
    ],
  ],
  [
    'viewer',
    'gateway',
    [
      'GET /admin/status',
      'GET /admin/config',
      'GET /admin/config/differences',
      'GET /admin/config/revisions',
      'GET /admin/config/revisions/:id/changes',
      'GET /admin/config/drift',
      'GET /admin/config/pin',
      'GET /admin/config/rollout',
      'GET /admin/targets',
      'GET /admin/virtual-models',
      'GET /admin/guardrails',
      'GET /admin/cache',
      'GET /admin/mirrors',
    ],
  ],
  [
    'operator',
    'subtree',
    [
      'PUT /admin/rate-limits',
      'DELETE /admin/rate-limits',
      'POST /admin/rate-limits/reset-one',
      'PUT /admin/budgets',
      'DELETE /admin/budgets',
      'POST /admin/budgets/reset-one',
      'DELETE /admin/cache',
      // Shows what people have written.
      'GET /admin/audit/conversation',
    ],
  ],
  [
    'operator',
    'gateway',
    [
      'POST /admin/rate-limits/reset',
      'POST /admin/budgets/reset',
      'POST /admin/targets/*',
      'DELETE /admin/targets/*',
      // The files as they are written, addresses and prompts included.
      'GET /admin/config/files',
      'GET /admin/config/patch',
      'PUT /admin/config/rollout',
      'GET /admin/config/revisions/:id',
      'POST /admin/guardrails/test',
      'GET /admin/explain/:id',
    ],
  ],
  [
    'admin',
    'subtree',
    [
      // Who asks for what, for replays.
      'GET /admin/traffic',
      'POST /admin/auth-keys',
      'POST /admin/auth-keys/batch',
      'PATCH /admin/auth-keys/:id',
      'DELETE /admin/auth-keys/:id',
      'POST /admin/auth-keys/:id/rotate',
      'POST /admin/auth-keys/:id/deactivate',
      'PUT /admin/auth-keys/:id/labels',
      'PUT /admin/auth-keys/:id/allowed-models',
      'PUT /admin/auth-keys/:id/dashboard-access',
    ],
  ],
  [
    'admin',
    'gateway',
    [
      // With the hashes of issued keys.
      'GET /admin/config/overrides',
      'PUT /admin/config/pin',
      'DELETE /admin/config/pin',
      'PUT /admin/budgets/settings',
      'PUT /admin/virtual-models',
      'DELETE /admin/virtual-models',
      'PUT /admin/guardrails',
      'DELETE /admin/guardrails',
      // Of proxies, with the master key.
      'POST /admin/heartbeats',
    ],
  ],
];

/** By route, such as `GET /admin/auth-keys/:id`. */
export const adminRights: ReadonlyMap<string, Right> = new Map(
  rows.flatMap(([role, reach, routes]) => {
    const right = Object.freeze({ role, reach });
    return routes.map((route) => [route, right] as const);
  }),
);

/** The right that a route needs; undefined: it has none in the table. `url`: as it is registered. */
export function rightOf(method: string, url: string): Right | undefined {
  return adminRights.get(`${method === 'HEAD' ? 'GET' : method} ${url}`);
}
