// Stage 8: the answer's bytes to the client, unchanged, at the pace at which both sides can go.
import { envelope, errors, refusal } from '../errors.ts';
import type { Exchange } from '../request/exchange.ts';
import type { Answer, Sink } from '../upstream/send.ts';
import { tapStream } from '../upstream/sse.ts';
import type { Accepted } from './attempt.ts';

/** How an exchange ended. */
export interface Outcome {
  /** Status the client got; that of the error when the answer broke off; 499 when the client left before. */
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
  return new Promise((resolve, reject) => {
    try {
      response.writeHead(status, answerHeaders(answer, exchange.id, undefined));
    } catch (error) {
      answer.cancel();
      reject(error);
      return;
    }
    response.on('drain', () => answer.resume());
    exchange.onGone = () => {
      answer.cancel();
      resolve({ status: 499, provider });
    };
    const readable = answer.contentEncoding === undefined;
    const end = (failed: number | undefined): void => resolve({ status: failed ?? status, provider });
    if (answer.stream && readable) answer.attach(streamSink(answer, injectedUsage, exchange, provider, end));
    else answer.attach(plainSink(exchange, end));
  });
}

/** Passes bytes through; a broken answer breaks the connection, so that it never looks like a complete one. */
function plainSink({ response }: Exchange, end: (failed: number | undefined) => void): Sink {
  return {
    write: (chunk) => response.write(chunk),
    end(failure) {
      if (failure === undefined) response.end();
      else response.destroy();
      end(failure && errors[failure.code].status);
    },
  };
}

/** Passes whole events through; a broken stream ends with an error event and without the terminal one. */
function streamSink(
  answer: Answer,
  dropsUsage: boolean,
  { response }: Exchange,
  provider: string,
  end: (failed: number | undefined) => void,
): Sink {
  // A body that ends with the connection may have been cut: only the terminal event proves that it was not.
  const tap = tapStream({ dropsUsage, watchesEnd: !answer.framed });
  return {
    write(chunk) {
      const bytes = tap.push(chunk);
      return bytes.length === 0 || response.write(bytes);
    },
    end(failure) {
      const whole = failure === undefined && (answer.framed || tap.finished());
      if (whole) {
        response.end(tap.rest());
        end(undefined);
        return;
      }
      const code =
        failure === undefined || failure.code === 'upstream_disconnected' ? 'stream_incomplete' : failure.code;
      const said = envelope(refusal(code, { provider, fill: { reason: failure?.reason ?? '' } }));
      response.end(`${tap.insideEvent() ? '\n\n' : ''}data: ${said}\n\n`);
      end(errors[code].status);
    },
  };
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
