// Every error the data plane itself can answer: status, type and words, by code.
import { bad, denied, type ErrorEntry, entryOf, missing } from '../plane/refusal.ts';

const upstream = (message: string, status = 502): ErrorEntry => entryOf(status, 'provider_error', message);

/** Codes are stable and for programs; messages are for people and may change. `{x}` is filled from the details. */
export const errors = {
  malformed_request: bad('The HTTP request is malformed: {reason}.'),
  invalid_header: bad('The request headers are not acceptable: {reason}.'),
  invalid_path: bad('The request path is not acceptable: {reason}.'),
  headers_too_large: bad('The request line and headers are too large: {reason}.', 431),
  // No client reads this one: it ends the trip of a client that has left.
  client_left: bad('The client left before its answer.', 499),
  // Nor this one: it ends a call whose answer is not needed any more.
  hedge_lost: bad('Another target was asked too, and answered first.', 499),
  // Nor this one: it ends a call that the gateway itself waits for.
  auxiliary_timeout: upstream('The model "{model}" did not answer the gateway within {ms} ms.', 504),
  request_timeout: bad('The request did not arrive in time. Send headers and body without long pauses.', 408),
  expectation_failed: bad('Only "Expect: 100-continue" is supported.', 417),
  method_not_allowed: bad('Method {method} is not allowed for {path}. Allowed: {allow}.', 405),
  upgrade_required: bad('The path {path} is for WebSocket. Open it with a wss:// or ws:// address.', 426),
  invalid_upgrade: bad('The WebSocket handshake is not acceptable: {reason}.'),
  unexpected_body: bad('This request takes no body: {method} {path}. Send it without one.'),
  unsupported_media_type: bad('Send the body as "Content-Type: application/json" (UTF-8).', 415),
  multipart_expected: bad('Send the body as "Content-Type: multipart/form-data" with its boundary.', 415),
  unsupported_encoding: bad('Send the body without Content-Encoding; compressed requests are not supported.', 415),
  body_too_large: bad('The body is larger than the limit of {limit} bytes{setting}.', 413),
  invalid_json: bad('The body is not valid JSON: {reason}.'),
  body_too_deep: bad('The body nests deeper than {limit} levels.'),
  body_too_many_keys: bad(
    'The body has too many object keys, objects, lists or values, those of JSON in texts included.',
  ),
  forbidden_key: bad('The body has a key that is not allowed: "__proto__" or "constructor.prototype".'),
  duplicate_key: bad('The body names "{key}" more than once (keys differing only in case count as one). Send it once.'),
  invalid_model: bad('"model" must be a string of 1 to 1024 characters naming a model, for example "openai/gpt-4o".'),
  malformed_multipart: bad('The form is malformed: {reason}.'),
  model_too_late: bad(
    'The first {limit} bytes of the form have no field "model": send the field model before the file.',
  ),
  invalid_stream: bad('"stream" must be true or false.'),
  invalid_parameter: bad('"{param}" {because}.'),
  unsupported_parameter: bad(
    'The provider "{provider}" cannot be asked for "{field}": {because}. Leave it out, or choose another model.',
  ),
  endpoint_not_supported: missing(
    'The {what} "{name}" cannot be asked at {path}: that is for providers that speak Responses themselves.',
  ),
  unsupported_operation: bad(
    'The {what} "{name}" cannot be asked at {path}: its provider has nothing like it. If its server has, the operator can name it under `dialects` of the provider.',
  ),
  // One answer for every failure: a caller without a key learns nothing about which keys exist.
  invalid_api_key: entryOf(
    401,
    'authentication_error',
    'The API key is missing or not valid. Send "Authorization: Bearer <key>".',
  ),
  client_credential_missing: entryOf(
    401,
    'authentication_error',
    'The provider "{provider}" is asked with a credential of yours, and this request has none: log in to it with your client, so that it sends Authorization, and send the key of the gateway as "{header}: <key>".',
  ),
  // The reason names a check of the token and, where it is the configuration's doing, its place: never the token or the value of a claim.
  invalid_token: entryOf(401, 'authentication_error', 'The token is not valid: {reason}.'),
  client_certificate_refused: entryOf(
    401,
    'authentication_error',
    'The client certificate of this connection cannot be verified: {reason}. Connect with another one, or without one.',
  ),
  // Only browsers get these: sessions, and pages of other origins.
  session_ended: { status: 401, type: 'authentication_error', message: 'The session is over. Log in again.' },
  csrf_refused: denied(
    'A write with a session needs the header x-csrf-token, with csrf_token of GET /admin/session, from a page of this address.',
  ),
  foreign_host: denied(
    'Without a master key only names of this machine are served, such as localhost; "{host}" is none. Set GATEWAY_MASTER_KEY.',
  ),
  foreign_origin: denied('Without a master key no page of another origin may write. Set GATEWAY_MASTER_KEY.'),
  origin_not_allowed: denied('Web pages of the origin "{origin}" may not send this request: {reason}.'),
  too_many_failed_logins: entryOf(
    429,
    'rate_limit_error',
    'Too many failed attempts to log in from this address. Retry in {seconds} s; until then no key from this address is looked at.',
  ),
  key_revoked: entryOf(401, 'authentication_error', 'The API key of this stream was revoked or has expired.'),
  ambiguous_credentials: bad('The request carries more than one credential. Send exactly one key.'),
  invalid_user_path: bad('The user path of the request {reason}. Send one path such as /team/app.'),
  rate_limit_exceeded: entryOf(
    429,
    'rate_limit_error',
    'Rate limit exceeded for {subject}: {limit}. Retry in {seconds} s.',
  ),
  rate_limit_store_unavailable: entryOf(
    503,
    'provider_error',
    'The limits of {subject} cannot be checked: the state store that all proxies share does not answer, and the rule admits nothing without it. Retry in {seconds} s.',
  ),
  too_many_sessions: entryOf(
    429,
    'rate_limit_error',
    'The {holder} has {most} realtime sessions open, the most it may have at a time (server.realtime.max_sessions). Close one first.',
  ),
  budget_exceeded: entryOf(
    429,
    'rate_limit_error',
    'Budget exceeded for {subject}: {spent} of {amount} US dollars are spent ({period}){also}. Retry in {seconds} s.',
  ),
  budget_check_failed: entryOf(
    503,
    'provider_error',
    'The budget of {subject} cannot be checked: the state store that proxies share does not answer. Retry in {seconds} s.',
  ),
  target_drained: entryOf(
    503,
    'provider_error',
    'An operator has taken {target} out until {until}, and there is no other model to ask in its place. Retry in {seconds} s.',
  ),
  provider_credential_missing: entryOf(
    503,
    'provider_error',
    'The gateway has no valid credential for {provider} now, and there is no other model to ask in its place. Retry in {seconds} s.',
  ),
  guardrail_blocked: bad('A guardrail refuses this: {reason}.'),
  guardrail_unavailable: upstream(
    'A guardrail could not be asked, and nothing goes on without it: {reason}. Try again.',
    503,
  ),
  guardrails_prevent_passthrough: denied(
    'Guardrails hold for this user path, and they cannot look at what is passed through. Use the endpoints under /v1.',
  ),
  guardrails_prevent_endpoint: denied(
    'Guardrails hold for this user path, and they cannot look at {what}. Send it as words, such as to /v1/chat/completions.',
  ),
  no_target_matches: bad(
    'The model "{model}" has no target for such a request: the conditions of all its targets are false. Ask another model, or ask your operator.',
  ),
  model_not_found: missing('The model "{model}" does not exist. GET /v1/models lists what does.'),
  user_path_denied: denied(
    'This key may not name a user path. Leave the header out, or use a key issued with "user_path" or "any_user_path": true.',
  ),
  model_access_denied: denied('This key may not use the model "{model}". GET /v1/models lists what it may use.'),
  unpriced_model: denied(
    'The model "{model}" has no price, and a budget of {subject} counts what requests cost. Ask another model, or the operator for its price.',
  ),
  routing_member_not_allowed: bad(
    'This key is restricted to some models, so the body must not have "{member}": a provider might go elsewhere by it.',
  ),
  dashboard_access_denied: denied(
    'This key does not open the admin API. Use the master key or a key with dashboard access.',
  ),
  role_denied: denied('This needs the role {needed}; the caller has the role {role}.'),
  admin_scope_denied: denied('This key may not {what}.'),
  auth_key_not_found: missing('There is no key with the id "{id}".'),
  explanation_not_found: missing(
    'This proxy has no explanation with the id "{id}". It keeps each for ten minutes, the last 1,000 at most.',
  ),
  response_not_found: missing(
    'There is no stored response with the id "{id}" for this user path. It may have ended, or was never stored.',
  ),
  response_kept_elsewhere: bad(
    'The provider "{provider}" keeps the response "{id}", and the model "{model}" does not lead there. Choose one that does.',
  ),
  object_kept_elsewhere: bad(
    'The provider "{provider}" keeps "{id}", and the model "{model}" does not lead there. Choose one that does.',
  ),
  unsupported_response_operation: bad('The response "{id}" cannot be {what}: {because}.'),
  kept_not_found: missing('There is no {what} with the id "{id}" for this user path.'),
  objects_of_others: denied(
    'Only the master key may ask for {what}: it would show what belongs to other callers{instead}.',
  ),
  too_many_objects: bad('The body names too many files and other stored objects: at most 1,000 can be looked up.'),
  provider_needed: bad('Several providers keep {what}: {providers}. Choose one with the query parameter "provider".'),
  invalid_upload: bad('The form cannot be used: {reason}.'),
  invalid_batch_input: bad('The batch cannot be used, for {where}: {reason}.'),
  batch_needs_one_provider: bad(
    'No provider has native batches and all models of this batch. Send one for each provider.',
  ),
  invalid_query: bad('The query parameter {name} {problem}.'),
  unknown_provider: bad('There is no provider "{provider}", neither by its name nor by its type.'),
  upgrade_not_supported: bad('There is no WebSocket at {path}. Send the request over HTTP.', 426),
  passthrough_model_unknown: denied(
    'This key is restricted to some models, and the request does not say which one it asks in a way that can be checked.',
  ),
  route_not_found: missing('There is no {method} {path} here.'),
  upstream_unavailable: upstream('The provider could not be reached: {reason}.'),
  upstream_dns: upstream("The provider's host name could not be resolved."),
  upstream_tls: upstream('The TLS connection to the provider failed: {reason}.'),
  upstream_disconnected: upstream('The provider closed the connection before answering completely.'),
  upstream_invalid_response: upstream("The provider's answer could not be used: {reason}."),
  upstream_unauthorized: upstream('The provider refuses the key of the gateway with status {status}: {reason}.'),
  upstream_timeout: upstream('The provider did not answer in time: {reason}.', 504),
  stream_incomplete: upstream('The provider stopped in the middle of the stream.'),
  overloaded: upstream('The gateway is short of memory and takes no new requests for a moment. Try again.', 503),
  draining: upstream('The gateway is shutting down and begins no new sessions. Try again.', 503),
  store_unavailable: upstream('The keys are not known yet: the state store cannot be read. Try again.', 503),
  identity_unavailable: upstream('The token cannot be checked now: {reason}. Try again.', 503),
  stored_responses_unavailable: upstream('The stored responses cannot be read now. Try again.', 503),
  kept_ids_unavailable: upstream('It cannot be read now whose files and batches there are. Try again.', 503),
  control_plane_unavailable: upstream('The control plane cannot be reached: {reason}. {consequence}.', 503),
  internal_error: upstream('The gateway failed unexpectedly. Quote request id {request_id} to your operator.', 500),
} as const satisfies Record<string, ErrorEntry>;
