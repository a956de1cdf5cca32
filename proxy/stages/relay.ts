// Stage 8: the answer's bytes to the client, unchanged, at the pace at which both sides can go.
import { envelope, errors, refusal } from '../errors.ts';
import type { Gateway } from '../gateway.ts';
import { rateLimitHeaders } from '../limits/headers.ts';
import type { Exchange } from '../request/exchange.ts';
import type { Failure } from '../upstream/failure.ts';
import type { Answer } from '../upstream/send.ts';
import { tapStream } from '../upstream/sse.ts';
import { measureBody, measurePassing, measureStream } from '../usage/measure.ts';
import type { TokenUsage } from '../usage/token-usage.ts';
import { createUsageReader } from '../usage/usage-reader.ts';
import type { Allowance } from './admit.ts';
import type { Accepted } from './attempt.ts';

/** How an exchange ended. */
export interface Outcome {
  /** Status the client got; that of the error when the answer broke off; 499 when the client left before. */
  readonly status: number;
  /** Provider that answered, if any did. */
  readonly provider: string;
  /** What the answer cost; undefined when there was none, or tokens are not counted. */
  readonly usage?: TokenUsage | undefined;
}

/** Writes an answer to the client, and knows what passed so far. */
interface Meter {
  /** False when the client needs a pause. */
  write(chunk: Buffer): boolean;
  /** Ends the client's answer; the status of the error that broke it off, if one did. */
  end(failure: Failure | undefined): number | undefined;
  measure(): TokenUsage;
}

/** What the relay stage needs of the gateway. */
type Means = Pick<Gateway, 'nowMs' | 'usageEnabled' | 'reportFailure'>;

/** What ends an answer when something of ours fails in the middle of it. */
const ownFailure: Failure = { code: 'internal_error', reason: '' };

/**
 * Relays an accepted answer. Resolves when the last byte was written, the client left, or the answer broke off. Usage that the
 * provider did not report, or could not any more, is estimated from what passed. What fails unexpectedly while bytes flow is
 * reported, and ends the answer without a word about the provider.
 */
export function relay(
  accepted: Accepted,
  consumer: Allowance,
  exchange: Exchange,
  { nowMs, usageEnabled, reportFailure }: Means,
): Promise<Outcome> | Outcome {
  const { response } = exchange;
  const { answer, target, allowance } = accepted;
  const { status } = answer;
  const provider = target.upstream.name;
  if (exchange.gone) {
    answer.cancel();
    return { status: 499, provider, usage: usageEnabled ? measureBody(accepted, answer.body()) : undefined };
  }
  const limits = rateLimitHeaders(allowance.matches, consumer.matches, Math.floor(nowMs()));
  if (answer.complete && !answer.stream) {
    const body = answer.body();
    response.writeHead(status, answerHeaders(answer, exchange.id, limits, body.length));
    response.end(body);
    return { status, provider, usage: usageEnabled ? measureBody(accepted, body) : undefined };
  }
  return new Promise((resolve, reject) => {
    try {
      response.writeHead(status, answerHeaders(answer, exchange.id, limits, undefined));
    } catch (error) {
      answer.cancel();
      reject(error);
      return;
    }
    response.on('drain', () => answer.resume());
    let isOver = false;
    const finish = (ended: number): void => {
      if (isOver) return;
      isOver = true;
      resolve({ status: ended, provider, usage: usageEnabled ? measured() : undefined });
    };
    const measured = (): TokenUsage | undefined => {
      try {
        return meter.measure();
      } catch (error) {
        reportFailure(error, exchange.id);
        return undefined;
      }
    };
    let broken: Failure | undefined;
    const isReadable = answer.contentEncoding === undefined;
    const meterOf = answer.stream && isReadable ? streamMeter : plainMeter;
    const meter = meterOf(accepted, usageEnabled, exchange);
    exchange.onGone = () => {
      finish(499);
      answer.cancel();
    };
    answer.attach({
      write(chunk) {
        // Whoever hands over several chunks cannot be stopped between them.
        if (isOver || broken !== undefined) return true;
        try {
          return meter.write(chunk);
        } catch (error) {
          reportFailure(error, exchange.id);
          broken = ownFailure;
          answer.cancel(broken);
          return true;
        }
      },
      end(failure) {
        if (isOver) return;
        try {
          finish(meter.end(broken ?? failure) ?? status);
        } catch (error) {
          reportFailure(error, exchange.id);
          response.destroy();
          finish(errors.internal_error.status);
        }
      },
    });
  });
}

/** Passes bytes through; a broken answer breaks the connection, so that it never looks like a complete one. */
function plainMeter(accepted: Accepted, readsUsage: boolean, { response }: Exchange): Meter {
  const reader = createUsageReader();
  return {
    write(chunk) {
      if (readsUsage) reader.push(chunk);
      return response.write(chunk);
    },
    end(failure) {
      if (failure === undefined) response.end();
      else response.destroy();
      return failure && errors[failure.code].status;
    },
    measure: () => measurePassing(accepted, reader),
  };
}

/** Passes whole events through; a broken stream ends with an error event and without the terminal one. */
function streamMeter(accepted: Accepted, readsUsage: boolean, { response, id }: Exchange): Meter {
  const { answer, target, injectedUsage } = accepted;
  // A body that ends with the connection may have been cut: only the terminal event proves that it was not.
  const tap = tapStream({ dropsUsage: injectedUsage, readsUsage, watchesEnd: !answer.framed });
  return {
    write(chunk) {
      const bytes = tap.push(chunk);
      return bytes.length === 0 || response.write(bytes);
    },
    end(failure) {
      // Whatever goes wrong behind the terminal event is nothing to the client.
      const whole = tap.finished() || (failure === undefined && answer.framed);
      if (whole) {
        response.end(tap.rest());
        return undefined;
      }
      const code =
        failure === undefined || failure.code === 'upstream_disconnected' ? 'stream_incomplete' : failure.code;
      const fill = { reason: failure?.reason ?? '', request_id: id };
      const blamed = code === 'internal_error' ? { fill } : { fill, provider: target.upstream.name };
      response.end(`${tap.insideEvent() ? '\n\n' : ''}data: ${envelope(refusal(code, blamed))}\n\n`);
      return errors[code].status;
    },
    measure: () => measureStream(accepted, tap),
  };
}

/** The few headers of a provider's answer that are the client's business (never its account or rate-limit headers), and ours. */
function answerHeaders(
  answer: Answer,
  requestId: string,
  limits: readonly string[],
  wholeLength: number | undefined,
): string[] {
  const headers = ['x-request-id', requestId, ...limits];
  const { contentType, contentEncoding, contentLength, stream } = answer;
  if (contentType !== undefined) headers.push('content-type', contentType);
  if (contentEncoding !== undefined) headers.push('content-encoding', contentEncoding);
  if (stream) headers.push('cache-control', 'no-cache', 'x-accel-buffering', 'no');
  else if (wholeLength !== undefined) headers.push('content-length', String(wholeLength));
  else if (contentLength !== undefined) headers.push('content-length', contentLength);
  return headers;
}
