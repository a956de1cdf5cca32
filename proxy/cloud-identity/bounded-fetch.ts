// One question to a source, which ends in time whatever its package does.
import type { IssuedCredential, TokenSource } from './token-source.ts';

/** `mostMs`: the longest question. Rejects with the reason of `signal` as soon as it is aborted. */
export async function boundedFetch(
  source: TokenSource,
  mostMs: number,
  signal: AbortSignal,
): Promise<IssuedCredential> {
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(new Error(`no answer within ${mostMs / 1000} s`)), mostMs);
  timer.unref();
  const ending = AbortSignal.any([signal, late.signal]);
  const over = Promise.withResolvers<never>();
  ending.addEventListener('abort', () => over.reject(ending.reason), { once: true });
  try {
    return await Promise.race([source.fetch(ending), over.promise]);
  } finally {
    clearTimeout(timer);
  }
}
