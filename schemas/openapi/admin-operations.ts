// The operations under /admin, one row each.
import { auditOperations } from './audit-operations.ts';
import { cacheOperations } from './cache-operations.ts';
import { explainOperations } from './explain-operations.ts';
import { managedOperations } from './managed-operations.ts';
import { type Operation, type Refusals, storedRefusals, writeHeaders } from './operation.ts';
import { sessionOperations } from './session-operations.ts';
import { signInOperations } from './sign-in-operations.ts';
import { statusOperations } from './status-operations.ts';
import { usageOperations } from './usage-operations.ts';

const stored = storedRefusals;
const keys = { tag: 'Keys', access: 'operator' } as const;
const keyWrite: Refusals = { 409: ['write_conflict'], 503: stored };
const oneKey = { ...keys, parameters: ['KeyId'] } as const;
const oneKeyWrite: Refusals = {
  ...keyWrite,
  404: ['auth_key_not_found'],
  409: ['auth_key_config_owned', 'write_conflict'],
};
const key = { status: 200, says: 'The key as it is now.', schema: 'auth-key', headers: writeHeaders } as const;

const rateLimitOperations = managedOperations({
  tag: 'Rate limits',
  path: '/admin/rate-limits',
  names: ['RateLimit', 'RateLimits'],
  noun: 'rules',
  list: {
    summary: 'Every rule with its usage.',
    description:
      'Usage is the sum over all live proxies. Several filters must all hold; with `limit`, it is one page. While the store does not answer, the rules in force are listed without usage, marked `stale`.',
    parameters: [
      ...(['RuleUserPath', 'RuleCovers', 'RuleScope', 'RuleSubject'] as const),
      ...(['RuleSearch', 'RuleNamed', 'RuleSource', 'RuleState', 'RuleSort', 'RuleLimit', 'RuleOffset'] as const),
    ],
  },
  put: {
    summary: 'Sets a rule, or changes its caps.',
    description:
      'A rule is named by scope, subject and period. It overrides a rule of the configuration with the same name until it is deleted or expires. Counters are kept.',
  },
  remove: {
    summary: 'Removes a manual rule and its counters.',
    description: 'A rule of the configuration that it overrode is in force again.',
  },
  resets: {
    one: 'Clears the counters of one rule, on every proxy.',
    all: 'Clears the counters of all rules, on every proxy.',
  },
});

const budgetOperations: readonly Operation[] = [
  ...managedOperations({
    tag: 'Budgets',
    path: '/admin/budgets',
    names: ['Budget', 'Budgets'],
    noun: 'budgets',
    list: {
      summary: 'Every budget with what was spent.',
      description:
        'Spend is summed up from usage records. Several filters must all hold. While a store does not answer, what is not known is left out, marked `stale`.',
      parameters: ['BudgetUserPath', 'BudgetCovers', 'BudgetScope', 'BudgetSubject'],
    },
    put: {
      summary: 'Sets a budget, or changes its amount.',
      description:
        'A budget is named by scope, subject and period. It overrides a budget of the configuration with the same name until it is deleted or expires. Spend is kept.',
    },
    remove: {
      summary: 'Removes a budget that an operator has set.',
      description: 'A budget of the configuration that it overrode is in force again.',
    },
    resets: {
      one: 'Lets the spend of one budget count from now on.',
      all: 'Lets the spend of every budget count from now on.',
    },
  }),
  {
    tag: 'Budgets',
    access: 'operator',
    id: 'getBudgetSettings',
    method: 'get',
    path: '/admin/budgets/settings',
    summary: 'When the windows of daily, weekly and monthly budgets begin.',
    success: { status: 200, says: 'The settings.', schema: 'budget-settings', headers: ['x-gateway-stale'] },
    refusals: { 400: ['invalid_query'], 503: ['store_unavailable'] },
  },
  {
    tag: 'Budgets',
    access: 'operator',
    id: 'putBudgetSettings',
    method: 'put',
    path: '/admin/budgets/settings',
    summary: 'Changes when windows begin; absent members stay as they are.',
    body: 'budget-settings-write',
    success: { status: 200, says: 'The settings after it.', schema: 'budget-settings', headers: writeHeaders },
    refusals: { 409: ['write_conflict'], 503: stored },
  },
];

const virtualModelOperations = managedOperations({
  tag: 'Virtual models',
  path: '/admin/virtual-models',
  names: ['VirtualModel', 'VirtualModels'],
  noun: 'virtual models',
  list: {
    summary: 'Every alias, of the configuration and of operators.',
    description: 'While the store does not answer, the aliases in force are listed, marked `stale`.',
  },
  put: {
    summary: 'Sets an alias.',
    description:
      'It replaces an alias with this source, letter case aside; one of the configuration until it is deleted. Absent members have their defaults. Its targets must exist.',
  },
  remove: {
    summary: 'Removes an alias that an operator has set.',
    description: 'An alias of the configuration that it replaced is in force again.',
    conflicts: ['virtual_model_in_use'],
  },
});

const guardrailOperations: readonly Operation[] = [
  ...managedOperations({
    tag: 'Guardrails',
    path: '/admin/guardrails',
    names: ['Guardrail', 'Guardrails'],
    noun: 'guardrails',
    list: {
      summary: 'Every guardrail, of the configuration and of operators, in their order, with what they have said.',
      description: 'While the store does not answer, those in force are listed, marked `stale`.',
    },
    put: {
      summary: 'Sets a guardrail.',
      description:
        'It replaces one with this name; one of the configuration until it is deleted. Absent members have their defaults. At most 16 KiB. A webhook with a secret or headers belongs into the configuration, where variables are filled in.',
    },
    remove: {
      summary: 'Removes a guardrail that an operator has set.',
      description: 'One of the configuration that it replaced is in force again.',
    },
  }),
  {
    tag: 'Guardrails',
    access: 'operator',
    id: 'testGuardrails',
    method: 'post',
    path: '/admin/guardrails/test',
    summary: 'What the guardrails in force say of a text, a request or an answer. Nothing is sent.',
    description:
      'A proxy answers it; ask a proxy, not the control plane. Nothing is counted or recorded, and no service or model is asked: guardrails that would ask one say not_asked.',
    body: 'guardrail-test',
    success: { status: 200, says: 'The verdicts.', schema: 'guardrail-verdicts' },
    refusals: { 404: ['answered_by_proxies'] },
  },
];

const authKeyOperations: readonly Operation[] = [
  {
    ...keys,
    id: 'listAuthKeys',
    method: 'get',
    path: '/admin/auth-keys',
    parameters: ['Hashes'],
    summary: 'All keys, without their secrets: those of the configuration, then those of operators, newest first.',
    description: 'While the store does not answer, the keys in force are listed, each marked `stale`.',
    success: { status: 200, says: 'The keys.', schema: 'auth-key-list', headers: ['x-gateway-stale'] },
    refusals: { 400: ['invalid_query'], 403: ['admin_scope_denied'], 503: ['store_unavailable'] },
  },
  {
    ...keys,
    id: 'issueAuthKey',
    method: 'post',
    path: '/admin/auth-keys',
    summary: 'Issues a key. Its secret is in this answer and nowhere else.',
    body: 'auth-key-write',
    success: { status: 201, says: 'The key, with its secret.', schema: 'auth-key-issued', headers: writeHeaders },
    refusals: { ...keyWrite, 403: ['admin_scope_denied'], 409: ['too_many_auth_keys', 'write_conflict'] },
  },
  {
    ...keys,
    id: 'issueAuthKeys',
    method: 'post',
    path: '/admin/auth-keys/batch',
    summary: 'Issues up to 100 keys at once: all of them, or none.',
    description: 'A refusal names the entry at fault, such as `keys[3].name`.',
    body: 'auth-key-batch',
    success: { status: 201, says: 'The keys, with their secrets.', schema: 'auth-keys-issued', headers: writeHeaders },
    refusals: { ...keyWrite, 403: ['admin_scope_denied'], 409: ['too_many_auth_keys', 'write_conflict'] },
  },
  {
    ...oneKey,
    id: 'getAuthKey',
    method: 'get',
    path: '/admin/auth-keys/{id}',
    summary: 'One key, without its secret.',
    success: { ...key, says: 'The key.', headers: ['x-gateway-stale'] },
    refusals: { 404: ['auth_key_not_found'], 503: ['store_unavailable'] },
  },
  {
    ...oneKey,
    id: 'changeAuthKey',
    method: 'patch',
    path: '/admin/auth-keys/{id}',
    summary: 'Changes name, description, user path, labels, models or end of a key; its secret stays.',
    description:
      'Absent members stay as they are. An operator can grant no more than its own key has, as when it issues a key.',
    body: 'auth-key-change',
    success: key,
    refusals: { ...oneKeyWrite, 403: ['admin_scope_denied'] },
  },
  {
    ...oneKey,
    id: 'rotateAuthKey',
    method: 'post',
    path: '/admin/auth-keys/{id}/rotate',
    summary: 'Issues a key in the place of another, with its name, rights and end, and revokes that one.',
    description:
      'The secret of the new key is in this answer and nowhere else. With `overlap` the old key works for a while longer.',
    body: 'auth-key-rotate',
    success: { status: 201, says: 'The new key, with its secret.', schema: 'auth-key-issued', headers: writeHeaders },
    refusals: {
      ...oneKeyWrite,
      403: ['admin_scope_denied'],
      409: ['auth_key_config_owned', 'auth_key_inactive', 'too_many_auth_keys', 'write_conflict'],
    },
  },
  {
    ...oneKey,
    id: 'deactivateAuthKey',
    method: 'post',
    path: '/admin/auth-keys/{id}/deactivate',
    summary: 'Revokes a key permanently; within a second every proxy refuses it.',
    success: { status: 204, says: 'It is revoked.', headers: writeHeaders },
    refusals: oneKeyWrite,
  },
  {
    ...oneKey,
    id: 'deleteAuthKey',
    method: 'delete',
    path: '/admin/auth-keys/{id}',
    summary: 'Revokes a key and deletes it.',
    success: { status: 204, says: 'It is deleted.', headers: writeHeaders },
    refusals: oneKeyWrite,
  },
  {
    ...oneKey,
    id: 'putAuthKeyLabels',
    method: 'put',
    path: '/admin/auth-keys/{id}/labels',
    summary: 'Replaces the labels of a key.',
    body: 'auth-key-labels',
    success: key,
    refusals: oneKeyWrite,
  },
  {
    ...oneKey,
    id: 'putAuthKeyAllowedModels',
    method: 'put',
    path: '/admin/auth-keys/{id}/allowed-models',
    summary: 'Replaces the list of models a key may use.',
    body: 'auth-key-allowed-models',
    success: key,
    refusals: { ...oneKeyWrite, 403: ['admin_scope_denied'] },
  },
  {
    ...oneKey,
    id: 'putAuthKeyDashboardAccess',
    method: 'put',
    path: '/admin/auth-keys/{id}/dashboard-access',
    summary: 'Grants a key access to the admin API, or withdraws it.',
    body: 'auth-key-dashboard-access',
    success: key,
    refusals: { ...oneKeyWrite, 403: ['admin_scope_denied'] },
  },
];

/** Served by the control plane, but for the last ones, which a proxy answers; it passes the others on. */
export const adminOperations: readonly Operation[] = [
  ...rateLimitOperations,
  ...budgetOperations,
  ...cacheOperations,
  ...authKeyOperations,
  ...virtualModelOperations,
  ...guardrailOperations,
  ...auditOperations,
  ...usageOperations,
  ...statusOperations,
  ...sessionOperations,
  ...signInOperations,
  ...explainOperations,
];
