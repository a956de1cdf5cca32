// Asks a provider for something small, such as its models, and reads all of the answer, up to a bound.
import type { Failure } from '../answer.ts';
import type { AnswerHead } from './answer-head.ts';
import type { ClientPool } from './client-pool.ts';
import type { Deadlines } from './deadlines.ts';
import type { Patience } from './patience.ts';
import { UpstreamAnswer } from './upstream-answer.ts';

export interface Question {
  /** Default: GET. */
  readonly method?: 'GET' | 'POST' | 'DELETE' | undefined;
  /** Path, the provider's base path included. */
  readonly path: string;
  /** Names and values in turn; without a body its type is left out. */
  readonly headers: readonly string[];
  readonly body?: Buffer | undefined;
  /** A longer answer is a failure. Bytes. */
  readonly mostBytes: number;
  /** It may go out on a connection that was kept; absent: on a new one, because a kept one may have been closed. */
  readonly mayReuse?: boolean;
  /** Fires when the answer is not needed any more. */
  readonly signal?: AbortSignal | undefined;
}

/** An answer that came completely, whatever its status. */
export interface WholeAnswer {
  readonly status: number;
  readonly head: AnswerHead;
  /** Decoded; empty when it is damaged, or decodes to more than `mostBytes`. */
  readonly body: Buffer;
  readonly failure?: undefined;
}

/** One that did not come, or not completely. */
export interface BrokenAnswer {
  readonly failure: Failure;
  /** The provider may have seen the request. */
  readonly sent: boolean;
  /** The kept connection that it went out on had been closed. */
  readonly isStale: boolean;
}

const tooLarge: Failure = { code: 'upstream_invalid_response', reason: 'it is too large' };

/** Sends one request and reads the whole answer, up to `mostBytes`. Never rejects: a failure is a BrokenAnswer. */
export function readWhole(
  pool: ClientPool,
  { method = 'GET', path, headers, body: sent, mostBytes, mayReuse = false, signal }: Question,
  patience: Patience,
  deadlines: Deadlines,
): Promise<WholeAnswer | BrokenAnswer> {
  const { promise, resolve: told } = Promise.withResolvers<WholeAnswer | BrokenAnswer>();
  const facts = {
    latestMs: Number.POSITIVE_INFINITY,
    needsEvent: false,
    isFresh: false,
    isStream: false,
    mostHeldBytes: 0,
  };
  const answer = new UpstreamAnswer(patience, deadlines, facts);
  const leave = (): void => answer.cancel();
  const resolve = (what: WholeAnswer | BrokenAnswer): void => {
    signal?.removeEventListener('abort', leave);
    told(what);
  };
  const pieces: Buffer[] = [];
  let length = 0;
  answer.whenReady((broken) => {
    if (broken !== undefined) return resolve(broken);
    answer.attach({
      write(chunk) {
        length += chunk.length;
        if (length > mostBytes) answer.cancel(tooLarge);
        // The chunk is the parser's memory, which is used again.
        else pieces.push(Buffer.from(chunk));
        return true;
      },
      end(failure) {
        // An answer that is over already cannot be cancelled any more.
        if (failure !== undefined || length > mostBytes)
          return resolve({ failure: failure ?? tooLarge, sent: true, isStale: false });
        resolve({ status: answer.status, head: answer.head, body: Buffer.concat(pieces) });
      },
    });
  });
  const message = sent === undefined ? { headers: withoutType(headers) } : { headers: [...headers], body: sent };
  if (mayReuse) pool.dispatch({ method, path, ...message }, answer);
  else pool.dispatchFresh({ method, path, ...message }, answer);
  if (signal?.aborted) leave();
  else signal?.addEventListener('abort', leave, { once: true });
  return promise;
}

function withoutType(headers: readonly string[]): string[] {
  const kept: string[] = [];
  for (let index = 0; index < headers.length; index += 2) {
    const [name = '', value = ''] = headers.slice(index, index + 2);
    if (name.toLowerCase() !== 'content-type') kept.push(name, value);
  }
  return kept;
}
