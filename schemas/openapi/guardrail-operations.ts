// The operations of /admin/guardrails, one row each. A proxy answers the test; the control plane says so.
import { type Operation, storedRefusals, writeHeaders } from './operation.ts';

const listing = {
  status: 200,
  says: 'The guardrails after it.',
  schema: 'guardrails',
  headers: ['ETag', ...writeHeaders],
} as const;
const guardrails = { tag: 'Guardrails', access: 'admin', path: '/admin/guardrails' } as const;

export const guardrailOperations: readonly Operation[] = [
  {
    ...guardrails,
    id: 'listGuardrails',
    method: 'get',
    summary: 'Every guardrail, of the configuration and of operators, in their order, with what they have said.',
    description: 'While the store does not answer, those in force are listed, marked `stale`.',
    success: { ...listing, says: 'The guardrails.', headers: ['ETag', 'x-gateway-stale'] },
    refusals: { 400: ['invalid_query'], 503: ['store_unavailable'] },
  },
  {
    ...guardrails,
    id: 'putGuardrail',
    method: 'put',
    summary: 'Sets a guardrail.',
    description:
      'It replaces one with this name; one of the configuration until it is deleted. Absent members have their defaults.',
    parameters: ['IfMatch'],
    body: 'guardrail-write',
    success: listing,
    refusals: {
      409: ['too_many_guardrails', 'write_conflict'],
      412: ['precondition_failed'],
      503: storedRefusals,
    },
  },
  {
    ...guardrails,
    id: 'deleteGuardrail',
    method: 'delete',
    summary: 'Removes a guardrail that an operator has set.',
    description: 'One of the configuration that it replaced is in force again.',
    parameters: ['IfMatch'],
    body: 'guardrail-delete',
    success: listing,
    refusals: {
      404: ['guardrail_not_found'],
      409: ['guardrail_config_owned', 'write_conflict'],
      412: ['precondition_failed'],
      503: storedRefusals,
    },
  },
  {
    ...guardrails,
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
