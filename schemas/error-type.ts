// The six types of an error answer, and the escaping of foreign text in its message; the same in both planes (spec "Errors").

export const errorTypes = [
  'provider_error',
  'rate_limit_error',
  'invalid_request_error',
  'authentication_error',
  'not_found_error',
  'permission_error',
] as const;

/** The `type` of an error on the model endpoints and under /admin. */
export type ErrorType = (typeof errorTypes)[number];

/** Text of a request or an upstream for a message: on one line, no invisible characters, at most 200 characters. */
export function printable(text: string): string {
  // Control, format and separator characters could forge log lines or hide text.
  const clean = text.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, '?');
  return clean.length > 200 ? `${clean.slice(0, 200)}…` : clean;
}
