// Forwards a whole request to the control plane, and its answer to the client: one base URL serves both planes.
import type { IncomingHttpHeaders } from 'node:http';
import type { Dispatcher } from 'undici';
import type { ClientPool } from './client-pool.ts';
import { noTransfer } from './hop-by-hop.ts';
import { errors, request } from './undici.ts';

export interface Forwarded {
  readonly method: string;
  /** Path and query. */
  readonly path: string;
  readonly headers: Record<string, string>;
  readonly body: Buffer;
  /** How long its answer may pause. Milliseconds; absent: as long as it may take to begin. */
  readonly quietMs?: number;
}

/** They are made anew for the request that is sent. */
const unsent: ReadonlySet<string> = new Set(['host', 'content-length', 'expect']);

/**
 * Sends a request and resolves with the head of its answer. Rejects with the error of undici: when no answer begins
 * within `timeoutMs` (a HeadersTimeoutError), when `gone` fires, or when the connection fails.
 */
export async function forward(
  pool: ClientPool,
  { method, path, headers, body, quietMs }: Forwarded,
  timeoutMs: number,
  gone: AbortSignal,
): Promise<Dispatcher.ResponseData> {
  // The pool checks its own timeouts about once a second.
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(new errors.HeadersTimeoutError()), timeoutMs);
  try {
    return await request(pool, {
      method,
      path,
      headers,
      body: body.length === 0 ? null : body,
      bodyTimeout: quietMs ?? timeoutMs,
      signal: AbortSignal.any([gone, late.signal]),
    });
  } finally {
    clearTimeout(timer);
  }
}

/** Whether `forward` failed before a connection existed, so that nothing was sent. False where that is not certain. */
export function neverConnected(error: unknown): boolean {
  if (error instanceof errors.ConnectTimeoutError) return true;
  const first: unknown = error instanceof AggregateError ? error.errors[0] : error;
  const { syscall } = (first ?? {}) as { syscall?: unknown };
  return syscall === 'connect' || syscall === 'getaddrinfo';
}

/** Whether GET /health is answered with 200. Never rejects. */
export async function answersHealth(pool: ClientPool, timeoutMs: number): Promise<boolean> {
  try {
    const answer = await request(pool, {
      method: 'GET',
      path: '/health',
      headersTimeout: timeoutMs,
      bodyTimeout: timeoutMs,
      signal: AbortSignal.timeout(timeoutMs),
    });
    await answer.body.dump();
    return answer.statusCode === 200;
  } catch {
    return false;
  }
}

/** The end-to-end headers of a message: without those of the connection, the framing and the host. */
export function endToEndHeaders(headers: IncomingHttpHeaders): Record<string, string> {
  const isOfConnection = noTransfer(['connection', headers.connection ?? '']);
  const kept = Object.entries(headers).filter(
    ([name, value]) => value !== undefined && !isOfConnection(name) && !unsent.has(name),
  );
  return Object.fromEntries(
    kept.map(([name, value]) => [name, Array.isArray(value) ? value.join(', ') : String(value)]),
  );
}
