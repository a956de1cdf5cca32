// The operations of /admin/cache, one row each.
import { type Operation, storedRefusals, writeHeaders } from './operation.ts';

export const cacheOperations: readonly Operation[] = [
  {
    tag: 'Cache',
    access: 'operator',
    id: 'getCache',
    method: 'get',
    path: '/admin/cache',
    summary: 'What the response cache holds, how often it was asked, and what it has saved.',
    description: 'Summed over the live proxies, each since its start. It also answers while the store is down.',
    success: { status: 200, says: 'The cache.', schema: 'cache' },
    refusals: { 400: ['invalid_query'] },
  },
  {
    tag: 'Cache',
    access: 'operator',
    id: 'resetCache',
    method: 'delete',
    path: '/admin/cache',
    summary: 'Lets every proxy forget cached answers, within a second.',
    description:
      'Exactly one of the three parameters says which. Requests get none of the answers that were kept before; what lies in Redis goes when its time is over. An operator of a user path resets within that path only.',
    parameters: ['CacheScope', 'CacheUserPath', 'CacheModel'],
    success: { status: 200, says: 'It is done.', schema: 'reset-done', headers: writeHeaders },
    refusals: { 400: ['invalid_query'], 403: ['admin_scope_denied'], 409: ['write_conflict'], 503: storedRefusals },
  },
];
