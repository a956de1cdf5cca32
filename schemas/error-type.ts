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

const byStatus: Readonly<Record<number, ErrorType>> = {
  403: 'permission_error',
  404: 'not_found_error',
  429: 'rate_limit_error',
};

/** The type of a provider's error by its status, from 400 to 599. A provider's 401 refuses the key of the gateway, so it has none. */
export function errorTypeOf(status: number): ErrorType {
  return byStatus[status] ?? (status < 500 ? 'invalid_request_error' : 'provider_error');
}

/** Text of a request or an upstream for a message: on one line, no invisible characters, at most 200 characters. */
export function printable(text: string): string {
  // Control, format and separator characters could forge log lines or hide text.
  const clean = text.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, '?');
  return clean.length > 200 ? `${clean.slice(0, 200)}…` : clean;
}
