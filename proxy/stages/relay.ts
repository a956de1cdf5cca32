// Stage 8: the answer's bytes to the client, unchanged, at the pace at which both sides can go.
import { envelope, refusal } from '../errors.ts';
import type { Exchange } from '../request/exchange.ts';
import type { Failure } from '../upstream/failure.ts';
import type { Answer } from '../upstream/send.ts';
import { dropUsageEvent, type StreamTap, watchStream } from '../upstream/sse.ts';
import type { Accepted } from './attempt.ts';

/** How an exchange ended. */
export interface Outcome {
  /** Status the client got; 499 when it left before. */
  readonly status: number;
  /** Provider that answered, if any did. */
  readonly provider: string;
}

/** Relays an accepted answer. Resolves when the last byte was written, the client left, or the answer broke off. */
export function relay({ answer, target, injectedUsage }: Accepted, exchange: Exchange): Promise<Outcome> | Outcome {
  const { response } = exchange;
  const { status } = answer;
  const provider = target.upstream.name;
  if (exchange.gone) {
    answer.cancel();
    return { status: 499, provider };
  }
  if (answer.complete && !answer.stream) {
    const body = answer.body();
    response.writeHead(status, answerHeaders(answer, exchange.id, body.length));
    response.end(body);
    return { status, provider };
  }
  response.writeHead(status, answerHeaders(answer, exchange.id, undefined));
  const readable = answer.stream && answer.contentEncoding === undefined;
  const tap = injectedUsage && readable ? dropUsageEvent() : watchStream();
  return new Promise((resolve) => {
    response.on('drain', () => answer.resume());
    exchange.onGone = () => {
      answer.cancel();
      resolve({ status: 499, provider });
    };
    answer.attach({
      write(chunk) {
        const bytes = tap.push(chunk);
        return bytes.length === 0 || response.write(bytes);
      },
      end(failure) {
        if (exchange.gone) return;
        finish(answer, tap, failure, exchange, provider);
        resolve({ status, provider });
      },
    });
  });
}

/** The few headers of a provider's answer that are the client's business (never its account or rate-limit headers). */
function answerHeaders(answer: Answer, requestId: string, wholeLength: number | undefined): string[] {
  const headers = ['x-request-id', requestId];
  const { contentType, contentEncoding, contentLength, stream } = answer;
  if (contentType !== undefined) headers.push('content-type', contentType);
  if (contentEncoding !== undefined) headers.push('content-encoding', contentEncoding);
  if (stream) headers.push('cache-control', 'no-cache', 'x-accel-buffering', 'no');
  else if (wholeLength !== undefined) headers.push('content-length', String(wholeLength));
  else if (contentLength !== undefined) headers.push('content-length', contentLength);
  return headers;
}

/** Ends the client's answer as the provider's ended: a broken one never looks like a complete one. */
function finish(
  answer: Answer,
  tap: StreamTap,
  failure: Failure | undefined,
  exchange: Exchange,
  provider: string,
): void {
  const { response } = exchange;
  if (!answer.stream) {
    if (failure === undefined) response.end();
    else response.destroy();
    return;
  }
  const rest = tap.rest();
  if (rest.length > 0) response.write(rest);
  // A body that ends with the connection may have been cut: only the terminal event proves that it was not.
  const cut =
    failure ?? (answer.framed || tap.finished() ? undefined : { code: 'stream_incomplete' as const, reason: '' });
  if (cut === undefined) response.end();
  else {
    const code = cut.code === 'upstream_disconnected' ? 'stream_incomplete' : cut.code;
    response.end(`data: ${envelope(refusal(code, { provider, fill: { reason: cut.reason } }))}\n\n`);
  }
}
