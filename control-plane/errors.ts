// Every error the control plane can answer, and its one shape: the flat object of the spec ("Admin error shape").

import { type ErrorType, printable } from '../schemas/error-type.ts';

interface Entry {
  readonly status: number;
  readonly type: ErrorType;
  readonly message: string;
}

const bad = (message: string, status = 400): Entry => ({ status, type: 'invalid_request_error', message });

/** Codes are stable and for programs; messages are for people and may change. `{x}` is filled from the details. */
export const errors = {
  malformed_request: bad('The HTTP request is malformed.'),
  invalid_path: bad('The request path is not acceptable; check its percent-encoding.'),
  headers_too_large: bad('The request line and headers are too large. Send at most 16 KiB.', 431),
  request_timeout: bad('The request did not arrive in time. Send headers and body without long pauses.', 408),
  expectation_failed: bad('Only "Expect: 100-continue" is supported.', 417),
  method_not_allowed: bad('Method {method} is not allowed for {path}. Allowed: {allow}.', 405),
  unsupported_media_type: bad('Send the body as "Content-Type: application/json" (UTF-8).', 415),
  body_too_large: bad('The body is too large. Send at most {limit} bytes.', 413),
  invalid_json: bad('The body is not valid JSON. Send one JSON object.'),
  route_not_found: { status: 404, type: 'not_found_error', message: 'There is no {method} {path} here.' },
  internal_error: {
    status: 500,
    type: 'provider_error',
    message: 'The control plane failed unexpectedly. Quote request id {request_id} to your operator.',
  },
} as const satisfies Record<string, Entry>;

export type ErrorCode = keyof typeof errors;

/** What may be added to a table entry. */
export interface Details {
  /** The member of the request that is at fault. */
  readonly param?: string;
  /** Values for the placeholders of the message. */
  readonly fill?: Readonly<Record<string, string | number>>;
  readonly headers?: Readonly<Record<string, string>>;
}

/** The body of every error answer under /admin and beside it; `param` is left out when there is none. */
export interface AdminError {
  readonly code: ErrorCode;
  readonly message: string;
  readonly param?: string;
  readonly status_code: number;
  readonly type: ErrorType;
}

/** A refusal from the table, with the placeholders of its message filled and made harmless. */
export function refusal(code: ErrorCode, details: Details = {}): Refusal {
  const message = errors[code].message.replace(/\{(\w+)\}/g, (_, name: string) =>
    printable(String(details.fill?.[name] ?? '')),
  );
  return new Refusal(code, message, details);
}

/** The refusal as the flat admin error (spec "Admin error shape", design section 4). */
export function describeRefusal(refused: Refusal): AdminError {
  const { code, message, param, status, type } = refused;
  return { code, message, ...(param === undefined ? {} : { param }), status_code: status, type };
}

/** An error answer on its way to the client: thrown anywhere, rendered by the server alone. */
export class Refusal extends Error {
  readonly code: ErrorCode;
  readonly status: number;
  readonly type: ErrorType;
  readonly param: string | undefined;
  readonly headers: Readonly<Record<string, string>>;

  constructor(code: ErrorCode, message: string, details: Details) {
    super(message);
    this.name = 'Refusal';
    this.code = code;
    this.status = errors[code].status;
    this.type = errors[code].type;
    this.param = details.param;
    this.headers = details.headers ?? {};
  }
}
