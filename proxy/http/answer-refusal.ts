// Renders a refusal as the whole answer: the one place where the error envelope meets a socket.

import { STATUS_CODES } from '../../plane/http.ts';
import { pathOf } from '../call/head.ts';
import { anthropicLimitHeaders } from '../dialects/messages/limit-headers.ts';
import { asRefusal, type ErrorCode, type Refusal } from '../errors.ts';
import { fixedHeaderList, fixedHeaders } from './answer-headers.ts';
import { envelope } from './error-envelope.ts';
import { errorBody, speaksAnthropic } from './error-format.ts';
import type { Exchange } from './exchange.ts';
import { linger } from './linger.ts';

/** An unread body up to this many bytes is waited for, so that the connection can stay. */
const shortBytes = 64 * 1024;

/**
 * Answers with the refusal a thrown thing stands for, unless the client is gone or an answer has begun (then it is broken off).
 * Returns the refusal, and notes it.
 * `nowMs`: Unix milliseconds, for headers that name the moment of a reset.
 */
export function answerRefusal(thrown: unknown, exchange: Exchange, nowMs = exchange.startedAtMs): Refusal {
  const refused = asRefusal(thrown, exchange.id);
  exchange.refused = refused;
  const { response, request, gone } = exchange;
  if (gone) return refused;
  if (response.headersSent) {
    response.destroy();
    return refused;
  }
  const isLast = refused.code !== null && (untrusted.has(refused.code) || refused.code === 'overloaded');
  if (isLast || !(request.complete || isShort(exchange))) response.shouldKeepAlive = false;
  const said = errorBody(refused, exchange);
  const body = request.method === 'HEAD' ? '' : said;
  const headers = headersOf(exchange, { refused, length: Buffer.byteLength(said), nowMs });
  response.writeHead(refused.status, headers);
  exchange.told = { headers, body };
  if (request.complete) response.end(body);
  else linger(exchange, body);
  return refused;
}

/** After these the connection is closed: the start of the next request is unknown, or the bytes before it are not worth reading. */
const untrusted: ReadonlySet<string> = new Set<ErrorCode>([
  'malformed_request',
  'invalid_header',
  'invalid_path',
  'headers_too_large',
  'expectation_failed',
  'request_timeout',
  'unexpected_body',
]);

/** A refusal as raw HTTP bytes, for requests the parser gave up on: there is no response object then. */
export function rawRefusal(refused: Refusal, requestId: string): string {
  const body = envelope(refused);
  return [
    `HTTP/1.1 ${refused.status} ${STATUS_CODES[refused.status]}`,
    'content-type: application/json; charset=utf-8',
    `content-length: ${Buffer.byteLength(body)}`,
    `x-request-id: ${requestId}`,
    fixedHeaderList.join(': '),
    'connection: close',
    '',
    body,
  ].join('\r\n');
}

interface RefusalHead {
  readonly refused: Refusal;
  /** Of the body, in bytes. */
  readonly length: number;
  readonly nowMs: number;
}

function headersOf(
  { request, id }: Exchange,
  { refused, length, nowMs }: RefusalHead,
): Record<string, string | number> {
  const isAnthropic = speaksAnthropic(pathOf(request.url ?? ''), request);
  return {
    ...refused.headers,
    ...fixedHeaders,
    'content-type': 'application/json; charset=utf-8',
    'content-length': length,
    'x-request-id': id,
    ...(isAnthropic ? { 'request-id': id, ...anthropicLimits(refused.headers, nowMs) } : {}),
    ...(refused.status === 401 && refused.provider === undefined ? { 'www-authenticate': 'Bearer' } : {}),
  };
}

/** The limits once more, as clients of Anthropic read them. */
function anthropicLimits(headers: Refusal['headers'], nowMs: number): Record<string, string> {
  const told = anthropicLimitHeaders(Object.entries(headers).flat(), nowMs / 1000);
  return Object.fromEntries(told.flatMap((name, at) => (at % 2 === 0 ? [[name, told[at + 1] ?? '']] : [])));
}

function isShort({ head }: Exchange): boolean {
  return !head.chunked && !head.expectsContinue && (head.contentLength ?? 0) <= shortBytes;
}
