// The kinds of errors that Anthropic's clients know: its SDKs and agents decide by them what to do next.

const types: ReadonlyMap<number, string> = new Map([
  [400, 'invalid_request_error'],
  [401, 'authentication_error'],
  [402, 'billing_error'],
  [403, 'permission_error'],
  [404, 'not_found_error'],
  [408, 'timeout_error'],
  [413, 'request_too_large'],
  [429, 'rate_limit_error'],
  [500, 'api_error'],
  [503, 'overloaded_error'],
  [504, 'timeout_error'],
  [529, 'overloaded_error'],
]);
const known: ReadonlySet<unknown> = new Set(types.values());

/** The kind of an error of this status. `said`: what a provider calls it; one of Anthropic's own words stays. */
export function anthropicErrorType(status: number, said?: unknown): string {
  if (typeof said === 'string' && known.has(said)) return said;
  return types.get(status) ?? (status < 500 ? 'invalid_request_error' : 'api_error');
}
