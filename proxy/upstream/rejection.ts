// What a provider's error answer means for the client: status and type by one table, the provider's words without its secrets.
import { type ErrorType, type Refusal, refusal, upstreamRefusal } from '../errors.ts';
import type { Upstream } from '../snapshot/snapshot.ts';
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
  if (answer.stream) {
    const first = answer.body();
    if (first.length === 0) return invalid(upstream.name, 'the stream is empty');
    return firstEventError(first, answer, upstream);
  }
  const contentType = answer.contentType ?? 'missing';
  return /\bjson\b/i.test(contentType) ? undefined : invalid(upstream.name, `its content type is ${contentType}`);
}

function spoken(status: number, body: Buffer, answer: Answer, upstream: Upstream): Refusal {
  const said = upstream.dialect.readError(body);
  const type = types[status] ?? (status < 500 ? 'invalid_request_error' : 'provider_error');
  const message = redact(said.message, upstream.secret).trim().slice(0, maxMessage);
  const headers = status === 429 || status === 503 ? retryAfter(answer.retryAfter) : {};
  return upstreamRefusal(
    status,
    type,
    { ...said, message: message || `The provider answered with status ${status}.` },
    { provider: upstream.name, headers },
  );
}

function firstEventError(first: Buffer, answer: Answer, upstream: Upstream): Refusal | undefined {
  if (!first.subarray(0, 256).includes('"error"')) return undefined;
  const data = dataOf(first);
  try {
    const { error } = JSON.parse(data.split('\n', 1)[0] ?? '') as { error?: { code?: unknown } };
    if (typeof error !== 'object' || error === null) return undefined;
    const code = Number(error.code);
    return spoken(code >= 400 && code < 600 ? code : 502, Buffer.from(data), answer, upstream);
  } catch {
    return undefined;
  }
}

/** Seconds, whole and sane; dates and nonsense are left out. */
function retryAfter(value: string | undefined): Record<string, string> {
  if (value === undefined || !/^\d{1,15}$/.test(value)) return {};
  return { 'retry-after': String(Math.min(Math.max(Number(value), 1), maxRetryAfterSeconds)) };
}

/** Removes the provider's key, and anything that looks like one, from a provider's words. */
function redact(message: string, secret: string | undefined): string {
  const known = secret ? message.replaceAll(secret, '[redacted]') : message;
  return known.replace(/\bsk-[A-Za-z0-9_*-]{4,}/g, '[redacted]');
}

function invalid(provider: string, reason: string): Refusal {
  return refusal('upstream_invalid_response', { provider, fill: { reason } });
}
