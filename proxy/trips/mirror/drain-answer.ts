// Lets an answer that no client gets pass its taps, which read what they want of it. Nothing of it is held.
import type { Failure, Sink } from '../../answer.ts';
import { type Refusal, refusal } from '../../errors.ts';
import type { ModelRequest } from '../../http/exchange.ts';
import type { Delivery } from '../../stages/relay.ts';

/** Resolves when the answer is over: with why it is not complete, or with undefined. */
export function drainAnswer({ answer, provider, taps }: Delivery, request: ModelRequest): Promise<Refusal | undefined> {
  if (request.gone || (answer.complete && !answer.stream)) {
    if (!answer.complete) answer.cancel();
    let body = answer.body();
    for (const tap of taps) body = tap.whole(body);
    return Promise.resolve(undefined);
  }
  const { promise, resolve } = Promise.withResolvers<Refusal | undefined>();
  const told = (failure: Failure | undefined): void =>
    resolve(failure && refusal(failure.code, { provider: provider ?? '', fill: { reason: failure.reason } }));
  request.waiting = { gone: () => answer.cancel() };
  const end: Sink = { write: () => true, end: told };
  answer.attach(taps.reduceRight<Sink>((next, tap) => tap.open(next), end));
  return promise;
}
