// The common part of all operations that call a model.
import type { ParameterName, Refusals } from './operation.ts';

export const modelCallParameters = ['UserPath', 'Explain', 'CacheControl'] as const satisfies readonly ParameterName[];

/** The errors of any of them. */
export const modelCallRefusals: Refusals = {
  400: [
    'invalid_json',
    'invalid_model',
    'invalid_stream',
    'duplicate_key',
    'forbidden_key',
    'body_too_deep',
    'body_too_many_keys',
    'routing_member_not_allowed',
    'no_target_matches',
    'too_many_objects',
    'object_kept_elsewhere',
  ],
  403: ['model_access_denied', 'unpriced_model'],
  404: ['model_not_found', 'kept_not_found'],
  408: ['request_timeout'],
  413: ['body_too_large'],
  415: ['unsupported_media_type', 'unsupported_encoding'],
  429: ['rate_limit_exceeded', 'budget_exceeded'],
  502: [
    'upstream_unavailable',
    'upstream_dns',
    'upstream_tls',
    'upstream_disconnected',
    'upstream_invalid_response',
    'upstream_unauthorized',
    'stream_incomplete',
  ],
  503: ['rate_limit_store_unavailable', 'budget_check_failed', 'target_drained', 'provider_credential_missing'],
  504: ['upstream_timeout'],
};

/** The refusals of a model call, and that of a model whose provider does not have the endpoint. */
export const nativeRefusals: Refusals = withMistakes('unsupported_operation');

/** The refusals of a call with text, which guardrails check. */
export const guardedRefusals: Refusals = guarded('unsupported_operation');

/** The refusals of a call with text that may be translated for a provider with another dialect. */
export const translatedRefusals: Refusals = guarded(
  'invalid_parameter',
  'unsupported_parameter',
  'unsupported_operation',
);

function withMistakes(...codes: readonly string[]): Refusals {
  return { ...modelCallRefusals, 400: [...(modelCallRefusals[400] ?? []), ...codes] };
}

function guarded(...codes: readonly string[]): Refusals {
  return {
    ...withMistakes('guardrail_blocked', ...codes),
    503: [
      'guardrail_unavailable',
      'rate_limit_store_unavailable',
      'budget_check_failed',
      'target_drained',
      'provider_credential_missing',
    ],
  };
}
