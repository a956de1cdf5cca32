// Routes that take no body: nothing of one is read.
import { pathOf } from '../call/head.ts';
import { refusal } from '../errors.ts';
import type { Exchange } from './exchange.ts';

/**
 * Refuses a request that has a body with 400 `unexpected_body`. `Content-Length: 0` is none, and neither is a chunked body without a
 * byte, which proxies make of a request whose end they were not told with its head: only then there is something to wait for.
 */
export function expectNoBody(exchange: Exchange): Promise<void> | undefined {
  const { head, request } = exchange;
  const refused = (): Error => {
    return refusal('unexpected_body', {
      fill: { method: request.method ?? '', path: pathOf(request.url ?? '') },
    });
  };
  if ((head.contentLength ?? 0) > 0 || (head.chunked && head.expectsContinue)) throw refused();
  if (!head.chunked) return undefined;
  return new Promise((resolve, reject) => {
    const stop = (reason?: Error): void => {
      request.off('data', onData).off('end', onEnd);
      exchange.waiting = undefined;
      if (reason) reject(reason);
      else resolve();
    };
    const onData = (): void => stop(refused());
    const onEnd = (): void => stop();
    exchange.waiting = { gone: () => stop(refusal('client_left')), broken: stop };
    request.on('data', onData).on('end', onEnd);
  });
}
