// One request for each route of the admin API, about something of a user path, and what comes of it where the role is enough.

/** Where the thing lies, as an operator of /team sees it. */
export const places = ['inside', 'at', 'above', 'beside'] as const;
export type Place = (typeof places)[number];

export const pathOf: Readonly<Record<Place, string>> = {
  inside: '/team/a',
  at: '/team',
  above: '/',
  beside: '/teamwork',
};

/**
 * `done`: it was answered. `seen`: and the answer tells of the thing. `empty`: it does not. `hidden`: 404, as if the thing were not there.
 * `refused`: 400, for what it asks. `scope`: 403 `admin_scope_denied`. `role`: 403 `role_denied`.
 */
export type Outcome = 'done' | 'seen' | 'empty' | 'hidden' | 'refused' | 'scope' | 'role';

/** The thing that a request is about. */
export interface Thing {
  readonly place: Place;
  readonly path: string;
  /** Stands in what is told of it, and in nothing else. */
  readonly mark: string;
  /** The number that its limits have. */
  readonly amount: number;
  /** Of its key, and of its record. */
  readonly keyId: string;
  readonly entryId: string;
}

export interface Case {
  /** Behind /admin. */
  readonly url: (thing: Thing) => string;
  readonly body?: (thing: Thing) => object;
  /** Whether an answer tells of the thing. Absent: it is not looked at. */
  readonly tells?: (text: string, thing: Thing) => boolean;
  /** Of an operator of the whole gateway. */
  readonly whole: Outcome;
  /** Of one of /team, for each place. */
  readonly scoped: readonly [inside: Outcome, at: Outcome, above: Outcome, beside: Outcome];
}

const everywhere = (outcome: Outcome): Case['scoped'] => [outcome, outcome, outcome, outcome];
const tellsMark: Case['tells'] = (text, { mark }) => text.includes(mark);

/** The same for everyone who is let in; of routes of the whole gateway only operators of it are. */
const plain = (url: string, outcome: Outcome = 'done', body?: object): Case => ({
  url: () => url,
  ...(body === undefined ? {} : { body: () => body }),
  whole: outcome,
  scoped: everywhere(outcome),
});

const list = (url: string, tells: Case['tells'] = tellsMark): Case => ({
  url: ({ path }) => url.replace('PATH', encodeURIComponent(path)),
  tells,
  whole: 'seen',
  scoped: ['seen', 'seen', 'empty', 'empty'],
});

/** How many requests there are at and below each path. */
const requests: Readonly<Record<Place, number>> = { inside: 1, at: 2, above: 4, beside: 1 };

const sums = (url: string, name: string): Case =>
  list(`${url}?user_path=PATH`, (text, { place }) => new RegExp(`"${name}":${requests[place]}\\b`).test(text));

const one = (url: string, tells: Case['tells'] = tellsMark): Case => ({
  url: ({ entryId, keyId }) => url.replace('ENTRY', entryId).replace('KEY', keyId),
  tells,
  whole: 'seen',
  scoped: ['seen', 'seen', 'hidden', 'hidden'],
});

const oneKey = (action: string, body?: object): Case => ({
  url: ({ keyId }) => `/auth-keys/${keyId}${action}`,
  ...(body === undefined ? {} : { body: () => body }),
  whole: 'done',
  scoped: ['done', 'done', 'hidden', 'hidden'],
});

const limit = (url: string, body: Case['body'], unseen: Outcome): Case => ({
  url: () => url,
  ...(body && { body }),
  whole: 'done',
  // At its own path others limit the operator.
  scoped: ['done', 'scope', unseen, unseen],
});

const issued = (url: string, body: (path: string) => object): Case => ({
  url: () => url,
  body: ({ path }) => body(path),
  whole: 'done',
  scoped: ['done', 'done', 'scope', 'scope'],
});

const minute = { limit_key: { period: 'minute' } };
const daily = { budget_key: { period: 'daily' } };
const confirmed = { confirmation: 'reset' };
const tellsAmount =
  (member: string): Case['tells'] =>
  (text, { amount }) =>
    text.includes(`"${member}":${amount}`);

/** By route; public ones are not here. */
export const cases: Readonly<Record<string, Case>> = {
  'GET /admin/session': plain('/session'),
  'DELETE /admin/session': plain('/session'),
  'GET /admin/openapi.json': plain('/openapi.json'),
  'GET /admin/convergence': plain('/convergence'),
  'GET /admin/names': list('/names?of=labels'),
  'GET /admin/rate-limits': list('/rate-limits', tellsAmount('max_requests')),
  'PUT /admin/rate-limits': limit(
    '/rate-limits',
    ({ path }) => ({ user_path: path, ...minute, max_requests: 7 }),
    'scope',
  ),
  'DELETE /admin/rate-limits': limit('/rate-limits', ({ path }) => ({ user_path: path, ...minute }), 'hidden'),
  'POST /admin/rate-limits/reset-one': limit(
    '/rate-limits/reset-one',
    ({ path }) => ({ user_path: path, period: 'minute' }),
    'hidden',
  ),
  'POST /admin/rate-limits/reset': plain('/rate-limits/reset', 'done', confirmed),
  'GET /admin/budgets': list('/budgets', tellsAmount('amount')),
  'PUT /admin/budgets': limit('/budgets', ({ path }) => ({ user_path: path, ...daily, amount: 7 }), 'scope'),
  'DELETE /admin/budgets': limit('/budgets', ({ path }) => ({ user_path: path, ...daily }), 'hidden'),
  'POST /admin/budgets/reset-one': limit(
    '/budgets/reset-one',
    ({ path }) => ({ user_path: path, period: 'daily' }),
    'hidden',
  ),
  'POST /admin/budgets/reset': plain('/budgets/reset', 'done', confirmed),
  'GET /admin/budgets/settings': plain('/budgets/settings'),
  'PUT /admin/budgets/settings': plain('/budgets/settings', 'done', { monthly_reset_day: 15 }),
  'GET /admin/cache': plain('/cache'),
  'DELETE /admin/cache': {
    url: ({ path }) => `/cache?user_path=${encodeURIComponent(path)}`,
    whole: 'done',
    scoped: ['done', 'done', 'scope', 'scope'],
  },
  'GET /admin/auth-keys': list('/auth-keys'),
  'POST /admin/auth-keys': issued('/auth-keys', (path) => ({ name: 'new', user_path: path })),
  'POST /admin/auth-keys/batch': issued('/auth-keys/batch', (path) => ({ keys: [{ name: 'new', user_path: path }] })),
  'GET /admin/auth-keys/:id': one('/auth-keys/KEY'),
  'PATCH /admin/auth-keys/:id': oneKey('', { description: 'changed' }),
  'DELETE /admin/auth-keys/:id': oneKey(''),
  'POST /admin/auth-keys/:id/rotate': oneKey('/rotate', { overlap: '1h' }),
  'POST /admin/auth-keys/:id/deactivate': oneKey('/deactivate'),
  'PUT /admin/auth-keys/:id/labels': oneKey('/labels', { labels: ['changed'] }),
  'PUT /admin/auth-keys/:id/allowed-models': oneKey('/allowed-models', { allowed_models: ['*'] }),
  'PUT /admin/auth-keys/:id/dashboard-access': oneKey('/dashboard-access', { dashboard_access: true, role: 'admin' }),
  'GET /admin/virtual-models': plain('/virtual-models'),
  // There is no such model.
  'PUT /admin/virtual-models': plain('/virtual-models', 'refused', {
    source: 'other',
    targets: [{ model: 'openai/gpt-4o' }],
  }),
  'DELETE /admin/virtual-models': plain('/virtual-models', 'hidden', { source: 'none' }),
  'GET /admin/guardrails': plain('/guardrails'),
  'PUT /admin/guardrails': plain('/guardrails', 'done', { name: 'other', keywords: { words: ['x'], action: 'flag' } }),
  'DELETE /admin/guardrails': plain('/guardrails', 'hidden', { name: 'none' }),
  'POST /admin/guardrails/test': plain('/guardrails/test', 'hidden', { text: 'x' }),
  'GET /admin/usage/summary': sums('/usage/summary', 'total_requests'),
  'GET /admin/usage/daily': sums('/usage/daily', 'requests'),
  'GET /admin/usage/models': list('/usage/models'),
  'GET /admin/usage/user-paths': list('/usage/user-paths?user_path=PATH', (text, { path }) =>
    text.includes(`"${path}"`),
  ),
  'GET /admin/usage/keys': list('/usage/keys'),
  'GET /admin/usage/labels': list('/usage/labels'),
  'GET /admin/usage/sessions': list('/usage/sessions'),
  'GET /admin/usage/log': list('/usage/log'),
  'GET /admin/audit/sessions': list('/audit/sessions'),
  'GET /admin/audit/log': list('/audit/log'),
  'GET /admin/audit/detail': one('/audit/detail?log_id=ENTRY'),
  'GET /admin/audit/conversation': one('/audit/conversation?log_id=ENTRY'),
  'GET /admin/audit/stats': sums('/audit/stats', 'requests'),
  'GET /admin/mirrors': plain('/mirrors'),
  'GET /admin/traffic': list('/traffic'),
  'GET /admin/live': list('/live?cursor=0'),
  'GET /admin/status': plain('/status'),
  'POST /admin/heartbeats': plain('/heartbeats', 'scope', {}),
  'GET /admin/config': plain('/config'),
  'GET /admin/config/files': plain('/config/files'),
  'GET /admin/config/differences': plain('/config/differences'),
  'GET /admin/config/revisions': plain('/config/revisions'),
  'GET /admin/config/revisions/:id': plain('/config/revisions/none', 'hidden'),
  'GET /admin/config/revisions/:id/changes': plain('/config/revisions/none/changes', 'hidden'),
  'GET /admin/config/drift': plain('/config/drift'),
  'GET /admin/config/overrides': plain('/config/overrides'),
  'GET /admin/config/patch': plain('/config/patch'),
  'GET /admin/config/rollout': plain('/config/rollout'),
  // It has no reason.
  'PUT /admin/config/rollout': plain('/config/rollout', 'refused', { phase: 'aborted' }),
  'GET /admin/targets': plain('/targets'),
  'GET /admin/config/pin': plain('/config/pin'),
  'PUT /admin/config/pin': plain('/config/pin', 'hidden', { revision: 'previous', reason: 'x', expires_in: '2h' }),
  'DELETE /admin/config/pin': plain('/config/pin', 'hidden'),
  'POST /admin/targets/*': plain('/targets/openai/drain', 'hidden', { reason: 'x', expires_in: '2h' }),
  'DELETE /admin/targets/*': plain('/targets/openai/drain', 'hidden'),
  'GET /admin/explain': plain('/explain?model=x', 'hidden'),
  'GET /admin/explain/:id': plain('/explain/x', 'hidden'),
};
