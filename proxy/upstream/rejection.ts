// What a provider's error answer means for the client: status and type by one table, the provider's words without its secrets.
import type { ErrorType } from '../../schemas/error-type.ts';
import { type Refusal, refusal, upstreamRefusal } from '../errors.ts';
import { scanObject } from '../request/scan.ts';
import type { Upstream } from '../snapshot/snapshot.ts';
import { redact } from './redact.ts';
import type { Answer, UpstreamFailure } from './send.ts';
import { dataOf } from './sse.ts';

const types: Readonly<Record<number, ErrorType>> = {
  401: 'authentication_error',
  403: 'permission_error',
  404: 'not_found_error',
  429: 'rate_limit_error',
};

/** Longest message of a provider that is passed on, in characters. */
const maxMessage = 2000;
const nothing = Buffer.alloc(0);
const isJson = /\bjson\b/i;
const maxRetryAfterSeconds = 86_400;

/** The provider failed to answer: the table entry, naming the provider. */
export function failureRefusal({ failure }: UpstreamFailure, provider: string): Refusal {
  return refusal(failure.code, { provider, fill: { reason: failure.reason } });
}

/**
 * Reads an answer as an error: a status of 400 or more, a status a model endpoint cannot pass on, a body that is neither JSON
 * nor an event stream, an empty stream, or a stream whose first event is an error. Undefined when it is a usable answer.
 */
export function rejectionOf(answer: Answer, upstream: Upstream): Refusal | undefined {
  const { status } = answer;
  if (status >= 400 && status < 600) return spoken(status, answer.body(), answer, upstream);
  if (status < 200 || status >= 300 || status === 204) return invalid(upstream.name, `its status is ${status}`);
  const body = answer.body();
  if (answer.stream && body.length === 0) return invalid(upstream.name, 'the stream is empty');
  if (!answer.stream && !isJson.test(answer.contentType ?? '')) return invalid(upstream.name, 'it is not JSON');
  if (!answer.stream && !isWhole(answer, body)) return invalid(upstream.name, 'it is not a complete JSON object');
  // Successful answers name their choices or data first; looking further would cost every one of them.
  if (!body.subarray(0, 256).includes('"error"')) return undefined;
  return errorInside(body, answer, upstream);
}

function spoken(status: number, body: Buffer, answer: Answer, upstream: Upstream): Refusal {
  const said = upstream.dialect.readError(answer.contentEncoding === undefined ? body : nothing);
  const type = types[status] ?? (status < 500 ? 'invalid_request_error' : 'provider_error');
  const clean = (text: string): string => redact(text, upstream.secrets).trim().slice(0, maxMessage);
  const headers = status === 429 || status === 503 ? retryAfter(answer.retryAfter) : {};
  return upstreamRefusal(
    status,
    type,
    {
      message: clean(said.message) || `The provider answered with status ${status}.`,
      code: said.code === null ? null : clean(said.code),
      param: said.param === null ? null : clean(said.param),
    },
    { provider: upstream.name, headers },
  );
}

/** Whether a held body is an object with members. The full grammar is checked only where the framing proves nothing. */
function isWhole(answer: Answer, body: Buffer): boolean {
  if (!answer.complete || answer.contentEncoding !== undefined) return true;
  if (answer.framed) return opensAndCloses(body) && body.includes(0x22);
  try {
    return scanObject(body).length > 0;
  } catch {
    return false;
  }
}

function opensAndCloses(body: Buffer): boolean {
  let first = 0;
  let last = body.length - 1;
  while (isSpace(body[first])) first += 1;
  while (isSpace(body[last])) last -= 1;
  return body[first] === 0x7b && body[last] === 0x7d;
}

function isSpace(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}

/** An error object sent with a status of success: the whole body, or the first event of a stream. */
function errorInside(body: Buffer, answer: Answer, upstream: Upstream): Refusal | undefined {
  const text = answer.stream ? (dataOf(body).split('\n', 1)[0] ?? '') : body.toString('utf8');
  try {
    const { error, choices, data } = JSON.parse(text) as Record<string, unknown>;
    if (!error || choices !== undefined || data !== undefined) return undefined;
    const code = Number((error as { code?: unknown }).code);
    return spoken(code >= 400 && code < 600 ? code : 502, Buffer.from(text), answer, upstream);
  } catch {
    return undefined;
  }
}

/** Seconds, whole and sane; dates and nonsense are left out. */
function retryAfter(value: string | undefined): Record<string, string> {
  if (value === undefined || !/^\d{1,15}$/.test(value)) return {};
  return { 'retry-after': String(Math.min(Math.max(Number(value), 1), maxRetryAfterSeconds)) };
}

function invalid(provider: string, reason: string): Refusal {
  return refusal('upstream_invalid_response', { provider, fill: { reason } });
}
