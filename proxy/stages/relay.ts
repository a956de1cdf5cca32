// Stage 8: the answer's bytes to the client, unchanged, at the pace at which both sides can go.
import { fixedHeaderList } from '../connection/answer-headers.ts';
import type { Exchange } from '../connection/exchange.ts';
import { errors, refusal } from '../errors.ts';
import type { Gateway } from '../gateway.ts';
import { rateLimitHeaders } from '../limits/headers.ts';
import { measureBody } from '../tokens/measure.ts';
import type { TokenUsage } from '../tokens/token-usage.ts';
import { decodedSink, isDecodable, type Sink } from '../upstream/decoded-sink.ts';
import type { Failure } from '../upstream/failure.ts';
import type { Answer } from '../upstream/send.ts';
import type { Allowance } from './admit.ts';
import type { Accepted } from './attempt.ts';
import { plainMeter, streamMeter } from './meter.ts';

/** How an exchange ended. */
export interface Outcome {
  /** Status the client got; that of the error when the answer broke off; 499 when the client left before. */
  readonly status: number;
  /** Provider that answered, if any did. */
  readonly provider: string;
  /** What the answer cost; undefined when there was none, or tokens are not counted. */
  readonly usage?: TokenUsage | undefined;
}

/** What the relay stage needs of the gateway. */
type Means = Pick<Gateway, 'nowMs' | 'usageEnabled' | 'reportFailure' | 'keyStreams'>;

/** What ends an answer when something of ours fails in the middle of it. */
const ownFailure: Failure = { code: 'internal_error', reason: '' };
/** What ends the stream of a key that no longer lets in. */
const keyRevoked: Failure = { code: 'key_revoked', reason: '' };

/**
 * Relays an accepted answer. Resolves when the last byte was written, the client left, or the answer broke off. Usage that the
 * provider did not report, or could not any more, is estimated from what passed. What fails unexpectedly while bytes flow is
 * reported, and ends the answer without a word about the provider. A client that leaves behind the last words of a stream leaves the
 * call open for a moment, its slots included, so that the usage that comes next is not lost. Throws a Refusal for a compression that
 * cannot be undone, where it would hide what the client must not see.
 */
export function relay(
  accepted: Accepted,
  consumer: Allowance,
  exchange: Exchange,
  means: Means,
): Promise<Outcome> | Outcome {
  const { nowMs, usageEnabled } = means;
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
  const encoding = answer.stream ? answer.contentEncoding : undefined;
  if (encoding !== undefined && accepted.injectedUsage && !isDecodable(encoding)) {
    answer.cancel();
    const reason = `it is encoded as ${encoding}, although plain bytes were asked for`;
    throw refusal('upstream_invalid_response', { provider, fill: { reason } });
  }
  try {
    response.writeHead(status, answerHeaders(answer, exchange.id, limits, undefined));
  } catch (error) {
    answer.cancel();
    throw error;
  }
  return new Promise((resolve) => flow(accepted, exchange, means, resolve));
}

/** Lets an open answer flow to the client until it is over. The head has been written. */
function flow(accepted: Accepted, exchange: Exchange, means: Means, resolve: (outcome: Outcome) => void): void {
  const { response, keyId } = exchange;
  const { answer, target } = accepted;
  const { usageEnabled, reportFailure, keyStreams } = means;
  const encoding = answer.contentEncoding;
  const isPlain = encoding === undefined || (answer.stream && isDecodable(encoding));
  const meter = (answer.stream && isPlain ? streamMeter : plainMeter)(accepted, usageEnabled, exchange);
  let isOver = false;
  let isDraining = false;
  let broken: Failure | undefined;
  let forget: (() => void) | undefined;
  const measured = (): TokenUsage | undefined => {
    try {
      return meter.measure();
    } catch (error) {
      reportFailure(error, exchange.id);
      return undefined;
    }
  };
  const finish = (status: number): void => {
    if (isOver) return;
    isOver = true;
    forget?.();
    resolve({ status, provider: target.upstream.name, usage: usageEnabled ? measured() : undefined });
  };
  const leave = (): void => {
    finish(499);
    answer.cancel();
    source.close();
  };
  const sink: Sink = {
    write(chunk) {
      // Whoever hands over several chunks cannot be stopped between them.
      if (isOver || broken !== undefined) return true;
      try {
        if (!isDraining) return meter.write(chunk);
        if (meter.drain(chunk)) leave();
      } catch (error) {
        reportFailure(error, exchange.id);
        broken = ownFailure;
        answer.cancel(broken);
      }
      return true;
    },
    end(failure) {
      if (isOver) return;
      try {
        finish(isDraining ? 499 : (meter.end(broken ?? failure) ?? answer.status));
      } catch (error) {
        reportFailure(error, exchange.id);
        response.destroy();
        finish(errors.internal_error.status);
      }
    },
  };
  const source =
    answer.stream && encoding !== undefined && isDecodable(encoding)
      ? decodedSink(encoding, sink, answer)
      : { ...sink, resume: () => answer.resume(), close: () => undefined };
  response.on('drain', () => source.resume());
  exchange.onGone = () => {
    isDraining = meter.awaitsUsage();
    if (!isDraining) {
      leave();
      return;
    }
    answer.finishWithin(target.upstream.patience.usageDrainMs);
    source.resume();
  };
  if (answer.stream && keyId !== undefined) forget = keyStreams.watch(keyId, () => answer.cancel(keyRevoked));
  answer.attach(source);
}

/** The few headers of a provider's answer that are the client's business (never its account or rate-limit headers), and ours. */
function answerHeaders(
  answer: Answer,
  requestId: string,
  limits: readonly string[],
  wholeLength: number | undefined,
): string[] {
  const headers = ['x-request-id', requestId, ...fixedHeaderList, ...limits];
  const { contentType, contentEncoding, contentLength, stream } = answer;
  if (contentType !== undefined) headers.push('content-type', contentType);
  const isDecoded = stream && contentEncoding !== undefined && isDecodable(contentEncoding);
  if (contentEncoding !== undefined && !isDecoded) headers.push('content-encoding', contentEncoding);
  if (stream) headers.push('cache-control', 'no-cache', 'x-accel-buffering', 'no');
  else if (wholeLength !== undefined) headers.push('content-length', String(wholeLength));
  else if (contentLength !== undefined) headers.push('content-length', contentLength);
  return headers;
}
