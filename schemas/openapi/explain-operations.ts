// The operations of /admin/explain, one row each. A proxy answers them; the control plane says so.
import type { Operation } from './operation.ts';

export const explainOperations: readonly Operation[] = [
  {
    id: 'explainRequest',
    method: 'get',
    path: '/admin/explain',
    tag: 'Status',
    access: 'operator',
    summary: 'What would become of a request: where it would go, under which rules, and why it would be refused.',
    description:
      'A proxy answers it by its own counters and breakers, and sends nothing. Ask a proxy, not the control plane. A scoped operator sees its own user path. With `endpoint`, each target says how it is asked there or why it cannot be, and `counted` which rules count.',
    parameters: [
      'ExplainedModel',
      'ExplainedUserPath',
      'ExplainedEndpoint',
      'ExplainedKey',
      'ExplainedStream',
      'ExplainedThread',
      'ExplainedInputTokens',
      'ExplainedTools',
      'ExplainedImages',
      'ExplainedHeaders',
    ],
    success: { status: 200, says: 'The explanation.', schema: 'explanation' },
    refusals: {
      400: ['invalid_query'],
      403: ['admin_scope_denied'],
      404: ['auth_key_not_found', 'answered_by_proxies'],
    },
  },
  {
    id: 'getExplainedRequest',
    method: 'get',
    path: '/admin/explain/{id}',
    tag: 'Status',
    access: 'operator',
    summary: 'The explanation of a request that was sent with X-Gateway-Explain: 1, and what became of it.',
    description:
      'The proxy that served the request keeps it for ten minutes, the last 1,000 and 8 MiB at most. The explanation is of the moment before the first provider is asked.',
    parameters: ['ExplanationId'],
    success: { status: 200, says: 'What is known of the request.', schema: 'explained-request' },
    refusals: { 404: ['explanation_not_found', 'answered_by_proxies'] },
  },
];
