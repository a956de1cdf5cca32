// Asks services of operators over HTTP: one POST of JSON each, signed where there is a secret, and bounded in time, size and number.
import { createHmac } from 'node:crypto';
import type { Deadlines } from './deadlines.ts';
import type { Patience } from './patience.ts';
import type { Origin, Pools } from './pools.ts';
import { type BrokenAnswer, type Question, readWhole, type WholeAnswer } from './read-whole.ts';

/** A service that is asked. */
export interface Hook extends Origin {
  /** The name for messages; open calls are counted by it, across reloads. */
  readonly name: string;
  /** Path and query. */
  readonly path: string;
  /** Further headers, names and values in turn. */
  readonly headers: readonly string[];
  /** Signs the body; undefined: nothing is signed. */
  readonly secret: string | undefined;
  /** For all of the answer. Milliseconds. */
  readonly timeoutMs: number;
  /** How many calls may be open; beyond, none waits. */
  readonly mostAtOnce: number;
}

/** The reasons for a missing answer. */
export const hookTroubles = ['busy', 'timeout', 'unreachable', 'broken', 'status', 'cancelled'] as const;
export type HookTrouble = (typeof hookTroubles)[number];

/** The body of an answer with status 200, or why there is none. */
export type HookReply =
  | { readonly body: Buffer; readonly trouble?: undefined }
  | { readonly body?: undefined; readonly trouble: HookTrouble };

/** Longest answer that is read; of a long question, twice its length. Bytes. */
const usualBytes = 1024 * 1024;
/** `sha256=` and the HMAC of the body in hexadecimal digits. */
export const signatureHeader = 'x-gateway-signature';

/** The open calls of all services. */
export class Hooks {
  readonly #pools: Pick<Pools, 'get'>;
  readonly #deadlines: Deadlines;
  readonly #open = new Map<string, number>();

  constructor(pools: Pick<Pools, 'get'>, deadlines: Deadlines) {
    this.#pools = pools;
    this.#deadlines = deadlines;
  }

  /** How many calls of a service are open. */
  openOf(name: string): number {
    return this.#open.get(name) ?? 0;
  }

  /**
   * Asks once; `headers`: of this question, names and values in turn. Where a kept connection had been closed, the question goes out again, on a
   * new one. Redirects are not followed. Never rejects.
   */
  async ask(hook: Hook, body: Buffer, headers: readonly string[], gone: AbortSignal | undefined): Promise<HookReply> {
    const { name, mostAtOnce, timeoutMs } = hook;
    if (gone?.aborted) return { trouble: 'cancelled' };
    const before = this.openOf(name);
    if (before >= mostAtOnce) return { trouble: 'busy' };
    this.#open.set(name, before + 1);
    const over = new AbortController();
    const leave = (): void => over.abort();
    const timer = setTimeout(leave, timeoutMs);
    gone?.addEventListener('abort', leave, { once: true });
    try {
      const answer = await this.#send(hook, body, headers, over.signal);
      if (gone?.aborted) return { trouble: 'cancelled' };
      return over.signal.aborted ? { trouble: 'timeout' } : replyOf(answer);
    } finally {
      clearTimeout(timer);
      gone?.removeEventListener('abort', leave);
      const left = this.openOf(name) - 1;
      if (left === 0) this.#open.delete(name);
      else this.#open.set(name, left);
    }
  }

  async #send(
    hook: Hook,
    body: Buffer,
    headers: readonly string[],
    signal: AbortSignal,
  ): Promise<WholeAnswer | BrokenAnswer> {
    const { path, secret, timeoutMs } = hook;
    const signed = secret === undefined ? [] : [signatureHeader, `sha256=${signatureOf(secret, body)}`];
    const all = [
      'content-type',
      'application/json',
      'accept',
      'application/json',
      ...hook.headers,
      ...signed,
      ...headers,
    ];
    const mostBytes = Math.max(usualBytes, 2 * body.length);
    const question: Question = { method: 'POST', path, headers: all, body, mostBytes, signal };
    const pool = this.#pools.get(hook);
    const patience = patienceOf(timeoutMs);
    const answer = await readWhole(pool, { ...question, mayReuse: true }, patience, this.#deadlines);
    if (answer.failure === undefined || !answer.isStale || signal.aborted) return answer;
    return readWhole(pool, question, patience, this.#deadlines);
  }
}

function signatureOf(secret: string, body: Buffer): string {
  return createHmac('sha256', secret).update(body).digest('hex');
}

/** The timer of the call is exact; the shared ones, which are coarse, only come behind it. */
function patienceOf(timeoutMs: number): Patience {
  const lateMs = timeoutMs + 1_000;
  return {
    firstByteMs: lateMs,
    firstEventMs: lateMs,
    otherEventMs: lateMs,
    streamIdleMs: lateMs,
    totalMs: lateMs,
    usageDrainMs: lateMs,
  };
}

function replyOf(answer: WholeAnswer | BrokenAnswer): HookReply {
  if (answer.failure === undefined) return answer.status === 200 ? { body: answer.body } : { trouble: 'status' };
  if (answer.failure.code === 'upstream_timeout') return { trouble: 'timeout' };
  return { trouble: answer.sent ? 'broken' : 'unreachable' };
}
