// The operations of /admin/virtual-models, one row each.
import { type Operation, storedRefusals, writeHeaders } from './operation.ts';

const virtualModelListing = {
  status: 200,
  says: 'The virtual models after it.',
  schema: 'virtual-models',
  headers: ['ETag', ...writeHeaders],
} as const;
const aliases = { tag: 'Virtual models', access: 'admin', path: '/admin/virtual-models' } as const;

export const virtualModelOperations: readonly Operation[] = [
  {
    ...aliases,
    id: 'listVirtualModels',
    method: 'get',
    summary: 'Every alias, of the configuration and of operators.',
    description: 'While the store does not answer, the aliases in force are listed, marked `stale`.',
    success: { ...virtualModelListing, says: 'The virtual models.', headers: ['ETag', 'x-gateway-stale'] },
    refusals: { 400: ['invalid_query'], 503: ['store_unavailable'] },
  },
  {
    ...aliases,
    id: 'putVirtualModel',
    method: 'put',
    summary: 'Sets an alias.',
    description:
      'It replaces an alias with this source, letter case aside; one of the configuration until it is deleted. Absent members have their defaults. Its targets must exist.',
    parameters: ['IfMatch'],
    body: 'virtual-model-write',
    success: virtualModelListing,
    refusals: {
      409: ['too_many_virtual_models', 'write_conflict'],
      412: ['precondition_failed'],
      503: storedRefusals,
    },
  },
  {
    ...aliases,
    id: 'deleteVirtualModel',
    method: 'delete',
    summary: 'Removes an alias that an operator has set.',
    description: 'An alias of the configuration that it replaced is in force again.',
    parameters: ['IfMatch'],
    body: 'virtual-model-delete',
    success: virtualModelListing,
    refusals: {
      404: ['virtual_model_not_found'],
      409: ['virtual_model_config_owned', 'virtual_model_in_use', 'write_conflict'],
      412: ['precondition_failed'],
      503: storedRefusals,
    },
  },
];
