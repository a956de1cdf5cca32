// How the packages of the vendors reach their servers: a request ends with the question that it belongs to, follows no redirect, and reads
// little.
import { AsyncLocalStorage } from 'node:async_hooks';
import { unixTime } from '../../domain/timestamp.ts';
import { shownWords } from './vendor-error.ts';

/** A question for a credential, which may take several requests. */
interface Question {
  readonly signal: AbortSignal;
  issuerNowMs: number | undefined;
  /** Why the last request failed, as `requestFailed` was told. */
  failure: Error | undefined;
}

/** What a package found, and what the clock of the last server said, if it said it. Unix milliseconds. */
export interface Found<Value> {
  readonly value: Value;
  readonly issuerNowMs: number | undefined;
}

/** Packages pass no signal from a call to their requests, and some keep the first HTTP client that they were given. */
const questions = new AsyncLocalStorage<Question>();

/** The longest answer: tokens have a few KiB. Bytes. */
const mostBytes = 1 << 20;

/** Lets a package work; `signal` ends its requests. Rejects as the package does, or with what `requestFailed` was told last. */
export async function asking<Value>(signal: AbortSignal, work: () => Promise<Value>): Promise<Found<Value>> {
  const question: Question = { signal, issuerNowMs: undefined, failure: undefined };
  try {
    const value = await questions.run(question, work);
    return { value, issuerNowMs: question.issuerNowMs };
  } catch (error) {
    throw question.failure ?? error;
  }
}

/** For a package that keeps to itself why a request failed. Undefined: it did not. */
export function requestFailed(failure: Error | undefined): void {
  const question = questions.getStore();
  if (question !== undefined) question.failure = failure;
}

/** `fetch` for the packages of vendors. Outside of `asking` nothing is sent. */
export const vendorFetch: typeof fetch = async (input, init) => {
  const question = questions.getStore();
  if (question === undefined) throw new Error('no credential is asked for');
  const { signal } = question;
  const limits = init?.signal == null ? signal : AbortSignal.any([signal, init.signal]);
  const asked = fetch(input, { ...init, signal: limits, redirect: 'error' });
  const response = await asked.catch((error: unknown) => {
    // Google's package repeats what failed, except for this error.
    throw signal.aborted ? new DOMException(shownWords(signal.reason), 'AbortError') : error;
  });
  const saidMs = unixTime(response.headers.get('date') ?? '');
  // Whole seconds, rounded down: at the latest it was then the end of that second.
  if (saidMs !== undefined) question.issuerNowMs = saidMs + 999;
  const body = await readBounded(response);
  return new Response(body.length === 0 ? null : body, { status: response.status, headers: response.headers });
};

async function readBounded({ body }: Response): Promise<Buffer<ArrayBuffer>> {
  const pieces: Uint8Array[] = [];
  let length = 0;
  for await (const piece of body ?? []) {
    length += piece.byteLength;
    if (length > mostBytes) throw new Error(`the answer is longer than ${mostBytes} bytes`);
    pieces.push(piece);
  }
  return Buffer.concat(pieces);
}
