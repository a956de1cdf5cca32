// The operations under /admin, one row each.
import { auditOperations } from './audit-operations.ts';
import { budgetOperations } from './budget-operations.ts';
import { cacheOperations } from './cache-operations.ts';
import { explainOperations } from './explain-operations.ts';
import { guardrailOperations } from './guardrail-operations.ts';
import { type Operation, type Refusals, storedRefusals, writeHeaders } from './operation.ts';
import { sessionOperations } from './session-operations.ts';
import { statusOperations } from './status-operations.ts';
import { usageOperations } from './usage-operations.ts';
import { virtualModelOperations } from './virtual-model-operations.ts';

const listing = {
  status: 200,
  says: 'The rules after it.',
  schema: 'rate-limits',
  headers: ['ETag', ...writeHeaders],
} as const;
const stored = storedRefusals;
const rules = { tag: 'Rate limits', access: 'operator' } as const;
const ruleRead: Refusals = { 503: ['store_unavailable'] };
const ruleWrite: Refusals = {
  409: ['write_conflict'],
  412: ['precondition_failed'],
  503: stored,
};
const keys = { tag: 'Keys', access: 'operator' } as const;
const keyWrite: Refusals = { 409: ['write_conflict'], 503: stored };
const oneKey = { ...keys, parameters: ['KeyId'] } as const;
const oneKeyWrite: Refusals = { ...keyWrite, 404: ['auth_key_not_found'] };
const key = { status: 200, says: 'The key as it is now.', schema: 'auth-key', headers: writeHeaders } as const;

const rateLimitOperations: readonly Operation[] = [
  {
    ...rules,
    id: 'listRateLimits',
    method: 'get',
    path: '/admin/rate-limits',
    summary: 'Every rule with its usage.',
    description:
      'Usage is the sum over all live proxies. Several filters must all hold; with `limit`, it is one page. While the store does not answer, the rules in force are listed without usage, marked `stale`.',
    parameters: [
      ...(['RuleUserPath', 'RuleCovers', 'RuleScope', 'RuleSubject'] as const),
      ...(['RuleSearch', 'RuleNamed', 'RuleSource', 'RuleState', 'RuleLimit', 'RuleOffset'] as const),
    ],
    success: { ...listing, says: 'The rules.', headers: ['ETag', 'x-gateway-stale'] },
    refusals: { ...ruleRead, 400: ['invalid_query'] },
  },
  {
    ...rules,
    id: 'putRateLimit',
    method: 'put',
    path: '/admin/rate-limits',
    summary: 'Sets a rule, or changes its caps.',
    description:
      'A rule is named by scope, subject and period. It overrides a rule of the configuration with the same name until it is deleted or expires. Counters are kept.',
    parameters: ['IfMatch'],
    body: 'rate-limit-write',
    success: listing,
    refusals: {
      ...ruleWrite,
      403: ['quota_templates_not_entitled', 'admin_scope_denied'],
      409: ['too_many_rate_limits', 'write_conflict'],
    },
  },
  {
    ...rules,
    id: 'deleteRateLimit',
    method: 'delete',
    path: '/admin/rate-limits',
    summary: 'Removes a manual rule and its counters.',
    description: 'A rule of the configuration that it overrode is in force again.',
    parameters: ['IfMatch'],
    body: 'rate-limit-delete',
    success: listing,
    refusals: {
      ...ruleWrite,
      403: ['admin_scope_denied'],
      404: ['rate_limit_not_found'],
      409: ['rate_limit_config_owned', 'write_conflict'],
    },
  },
  {
    ...rules,
    id: 'resetRateLimit',
    method: 'post',
    path: '/admin/rate-limits/reset-one',
    summary: 'Clears the counters of one rule, on every proxy.',
    parameters: ['IfMatch'],
    body: 'rate-limit-reset-one',
    success: listing,
    refusals: { ...ruleWrite, 403: ['admin_scope_denied'], 404: ['rate_limit_not_found'] },
  },
  {
    ...rules,
    access: 'admin',
    id: 'resetRateLimits',
    method: 'post',
    path: '/admin/rate-limits/reset',
    summary: 'Clears the counters of all rules, on every proxy.',
    parameters: ['IfMatch'],
    body: 'rate-limit-reset',
    success: { status: 200, says: 'It is done.', schema: 'reset-done', headers: ['ETag', ...writeHeaders] },
    refusals: { ...ruleWrite, 400: ['reset_not_confirmed'] },
  },
];

const authKeyOperations: readonly Operation[] = [
  {
    ...keys,
    id: 'listAuthKeys',
    method: 'get',
    path: '/admin/auth-keys',
    summary: 'The managed keys, newest first, without their secrets.',
    description: 'While the store does not answer, the keys in force are listed, each marked `stale`.',
    success: { status: 200, says: 'The keys.', schema: 'auth-key-list', headers: ['x-gateway-stale'] },
    refusals: { 400: ['invalid_query'], 503: ['store_unavailable'] },
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
    ...oneKey,
    id: 'getAuthKey',
    method: 'get',
    path: '/admin/auth-keys/{id}',
    summary: 'One managed key, without its secret.',
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
      409: ['auth_key_inactive', 'too_many_auth_keys', 'write_conflict'],
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
  ...explainOperations,
];
