// The HTTP status that an error would have had which came without one: in the events of a stream, or in an answer of status 200.

/** The members of an error that may give its status; a code may be a number. */
interface SaidError {
  readonly code?: unknown;
  readonly type?: unknown;
  /** Google's word beside a number. */
  readonly status?: unknown;
}

/** The words of OpenAI, Anthropic, Google and Bedrock, in lower case. */
const statuses: ReadonlyMap<string, number> = new Map(
  (
    [
      [
        400,
        'invalid_request_error invalid_prompt context_length_exceeded string_above_max_length invalid_argument failed_precondition validationexception badrequesterror bad_request',
      ],
      [401, 'authentication_error invalid_api_key unauthenticated unrecognizedclientexception'],
      [402, 'billing_error insufficient_balance insufficient_credits'],
      [403, 'permission_error permission_denied accessdeniedexception'],
      [404, 'not_found_error model_not_found not_found resourcenotfoundexception'],
      [413, 'request_too_large'],
      [
        429,
        'rate_limit_error rate_limit_exceeded rate_limited too_many_requests insufficient_quota exceeded_current_quota_error resource_exhausted throttlingexception servicequotaexceededexception',
      ],
      [
        500,
        'api_error server_error internal_error internal_server_error internalservererror internal internalserverexception',
      ],
      [
        503,
        'service_unavailable service_unavailable_error server_is_overloaded slow_down unavailable engine_overloaded_error serviceunavailableexception modelnotreadyexception',
      ],
      [504, 'timeout_error timeout deadline_exceeded modeltimeoutexception'],
      [529, 'overloaded_error overloaded'],
    ] as const
  ).flatMap(([status, words]) => words.split(' ').map((word): [string, number] => [word, status])),
);

/**
 * The HTTP status, 400 to 599, of an error: its number, else that of its words; the code decides before the type.
 * Undefined: none gives it.
 */
export function statusSaid({ code, type, status }: SaidError): number | undefined {
  for (const said of [code, status, type]) {
    const number = Number(said);
    if (number >= 400 && number < 600) return number;
    const known = typeof said === 'string' ? statuses.get(said.toLowerCase()) : undefined;
    if (known !== undefined) return known;
  }
  return undefined;
}
