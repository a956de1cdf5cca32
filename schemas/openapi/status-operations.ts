// The operations that show what is in force, one row each.
import type { Operation } from './operation.ts';

export const statusOperations: readonly Operation[] = [
  {
    id: 'getConfig',
    method: 'get',
    path: '/admin/config',
    tag: 'Status',
    access: 'admin',
    summary: 'What is in force, with the file and line of each entry, or who wrote it.',
    description:
      'Nothing of a provider that may be secret is shown. It also answers while the store is down, marked `stale`.',
    success: { status: 200, says: 'The configuration in force.', schema: 'config', headers: ['x-gateway-stale'] },
    refusals: { 400: ['invalid_query'], 503: ['store_unavailable'] },
  },
  {
    id: 'getStatus',
    method: 'get',
    path: '/admin/status',
    tag: 'Status',
    access: 'admin',
    summary: 'The desired revisions, and the revisions that each proxy enforces.',
    description: 'It also answers while the store is down.',
    success: { status: 200, says: 'The state of the fleet.', schema: 'status' },
  },
  {
    id: 'listTargets',
    method: 'get',
    path: '/admin/targets',
    tag: 'Status',
    access: 'admin',
    summary: 'How models at providers are doing: breakers, speed, calls, learned limits.',
    description: 'What each live proxy knows, from its last heartbeat. It also answers while the store is down.',
    success: { status: 200, says: 'The targets that were asked.', schema: 'targets' },
    refusals: { 400: ['invalid_query'] },
  },
  {
    id: 'getConvergence',
    method: 'get',
    path: '/admin/convergence',
    tag: 'Status',
    access: 'operator',
    summary: 'How many live proxies enforce a write.',
    description:
      'For whoever has written: scoped operators learn no more of the fleet than these numbers. It also answers while the store is down.',
    parameters: ['StateRevision'],
    success: { status: 200, says: 'The numbers.', schema: 'convergence' },
    refusals: { 400: ['invalid_query'] },
  },
  {
    id: 'getApiDescription',
    method: 'get',
    path: '/admin/openapi.json',
    tag: 'Status',
    access: 'operator',
    summary: 'This description.',
    success: { status: 200, says: 'An OpenAPI document.', schema: 'api-description' },
  },
];
