// The operations under /v1/realtime, one row each.
import { nativeRefusals } from './model-call.ts';
import { limitHeaders, type Operation, type Refusals } from './operation.ts';

const realtime = { tag: 'Model API', access: 'client', parameters: ['RealtimeModel', 'UserPath'] } as const;
const headers = ['x-upstream-request-id', ...limitHeaders] as const;
const { 408: late = [], 413: large = [], 415: types = [] } = nativeRefusals;
const sessionRefusals: Refusals = {
  400: [
    'invalid_model',
    'invalid_parameter',
    'invalid_upgrade',
    'routing_member_not_allowed',
    'no_target_matches',
    'unsupported_operation',
  ],
  403: ['model_access_denied', 'guardrails_prevent_endpoint'],
  404: ['model_not_found'],
  426: ['upgrade_required'],
  429: ['rate_limit_exceeded', 'budget_exceeded', 'too_many_sessions'],
  502: (nativeRefusals[502] ?? []).filter((code) => code !== 'stream_incomplete'),
  503: [
    'overloaded',
    'draining',
    'rate_limit_store_unavailable',
    'budget_check_failed',
    'target_drained',
    'provider_credential_missing',
  ],
  504: ['upstream_timeout'],
};
const { 426: _, ...others } = sessionRefusals;
const signallingRefusals: Refusals = {
  ...others,
  400: [
    'invalid_json',
    'invalid_model',
    'invalid_parameter',
    'duplicate_key',
    'routing_member_not_allowed',
    'no_target_matches',
    'unsupported_operation',
  ],
  408: late,
  413: large,
  415: types,
  429: ['rate_limit_exceeded', 'budget_exceeded'],
  503: [
    'overloaded',
    'rate_limit_store_unavailable',
    'budget_check_failed',
    'target_drained',
    'provider_credential_missing',
  ],
};

export const realtimeOperations: readonly Operation[] = [
  {
    ...realtime,
    id: 'openRealtimeSession',
    method: 'get',
    path: '/v1/realtime',
    summary: 'Opens a session over WebSocket: its events go to the provider and back as they are.',
    description:
      'A WebSocket handshake. A browser sends its key as the sub-protocol `openai-insecure-api-key.<key>` beside `realtime`. Of further members of the query the provider is told `intent`; `call_id` is refused. A session is one request, and holds its slots until it ends; the tokens of each `response.done` are charged as they come.',
    success: { status: 101, says: 'The session is open.', headers },
    refusals: sessionRefusals,
  },
  {
    ...realtime,
    id: 'createRealtimeSecret',
    method: 'post',
    path: '/v1/realtime/client_secrets',
    summary: 'Mints a secret with which a browser opens a session at the provider itself.',
    body: 'realtime-secret-request',
    success: { status: 200, says: 'The answer of the provider.', schema: 'realtime-secret', headers },
    refusals: signallingRefusals,
  },
  {
    ...realtime,
    id: 'createRealtimeCall',
    method: 'post',
    path: '/v1/realtime/calls',
    summary: 'Offers a call over WebRTC.',
    description:
      'The body is an offer, `application/sdp` with the model in the query, or a form with the parts `sdp` and `session`. The answer is that of the provider, also SDP; the call itself goes past the gateway.',
    success: { status: 201, says: 'The answer of the provider; `Location` names the call.', headers },
    refusals: signallingRefusals,
  },
];
