// The passthrough: one operation for each method, all with the same text.
import { modelCallRefusals } from './model-call.ts';
import { limitHeaders, type Operation } from './operation.ts';

const methods = ['get', 'post', 'put', 'patch', 'delete', 'head', 'options'] as const;

/** The refusals of a model call that remain for a passed body, which is not read as one. */
const { 408: late, 413: tooLarge, 429: limited, 502: broken, 504: slow } = modelCallRefusals;

export const passthroughOperations: readonly Operation[] = methods.map((method) => ({
  id: `passthrough${method.charAt(0).toUpperCase()}${method.slice(1)}`,
  method,
  path: '/p/{provider}/{endpoint}',
  tag: 'Passthrough',
  access: 'client',
  isOpaque: true,
  summary: `Passes a ${method.toUpperCase()} request on to a provider as it is.`,
  description:
    'Method, query, headers and body go to the provider while they come, with its key in place of yours, and its answer comes back as it is: status, headers, bytes. An error of the provider has its status and the error envelope. Limits of the user path and of the provider count; those of a model, and the models of a key, go by the model that the path, the body or the query names: where such a rule is in force, a body is read up to `server.body_limit` before it is sent, and refused when its model cannot be found. Stored objects, such as files, are there for the caller that made them and for the master key: for others an id in the path, the query or the body is 404, and so is one that is not known (`server.unknown_objects`); lists of them are for the master key. `server.enable_passthrough_routes` switches it off.',
  parameters: ['PassthroughProvider', 'PassthroughEndpoint', 'UserPath'],
  success: {
    status: 200,
    says: 'The answer of the provider.',
    headers: ['x-upstream-request-id', ...limitHeaders],
  },
  refusals: {
    400: [
      'invalid_path',
      'unknown_provider',
      'duplicate_key',
      'routing_member_not_allowed',
      'invalid_json',
      'invalid_parameter',
      'invalid_upload',
      'too_many_objects',
    ],
    403: ['model_access_denied', 'passthrough_model_unknown', 'guardrails_prevent_passthrough', 'objects_of_others'],
    404: ['route_not_found', 'kept_not_found'],
    408: late ?? [],
    413: tooLarge ?? [],
    415: ['unsupported_encoding'],
    426: ['upgrade_not_supported'],
    429: limited ?? [],
    502: broken ?? [],
    503: ['kept_ids_unavailable', 'target_drained', 'provider_credential_missing'],
    504: slow ?? [],
  },
}));
