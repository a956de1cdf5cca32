// Tells OpenTelemetry of model requests: a span of the request and one of each attempt, and how attempts went, as metrics. All of it
// is made when a request is over; only the ids are drawn before, because providers are told them.
import { type RequestTrace, readTraceContext, type TraceContext, writeTraceContext } from '../../call/trace-context.ts';
import type { ModelRequest } from '../../http/exchange.ts';
import { attemptsOf, type RecordedEnd } from '../record-of-trip.ts';
import { Turnstile } from '../turnstile.ts';
import { type Figures, measureAttempt } from './attempt-figures.ts';
import { attemptSpan, requestSpan, type SpanFacts, type TracedTrip } from './spans.ts';

/** Of so many requests of callers without a key there are spans in a second: they must not be able to fill the queue. */
const mostStrangers = 10;

/** Where spans go. */
export interface Traces {
  drawTraceId(): string;
  drawSpanId(): string;
  /** `parent` undefined: the trace begins here. */
  isSampled(traceId: string, parent: TraceContext | undefined): boolean;
  /** Never waits, and never throws: what cannot be taken is counted. */
  take(span: SpanFacts): void;
}

export interface Telemetry {
  /**
   * Draws the id of a span for a request to a provider, and writes the trace into its headers (names and values in turn). Undefined: no traces
   * are made, and the headers stay as they are.
   */
  propagate(exchange: Pick<ModelRequest, 'request' | 'trace'>, headers: string[]): string | undefined;
  /** Writes the span of a request into headers, so that a request which serves it belongs below it. No traces are made: they stay as they are. */
  continueIn(headers: string[], exchange: Pick<ModelRequest, 'request' | 'trace'>): void;
  /** A model request is over. */
  trip(trip: TracedTrip, end: RecordedEnd): void;
}

export function createTelemetry(traces: Traces | undefined, figures: Figures | undefined): Telemetry {
  const strangers = new Turnstile(mostStrangers);
  return {
    propagate(exchange, headers) {
      if (traces === undefined) return undefined;
      exchange.trace ??= beginTrace(exchange.request.rawHeaders, traces);
      const spanId = traces.drawSpanId();
      writeTraceContext(headers, exchange.trace, spanId);
      return spanId;
    },
    continueIn(headers, exchange) {
      if (traces === undefined) return;
      exchange.trace ??= beginTrace(exchange.request.rawHeaders, traces);
      writeTraceContext(headers, exchange.trace, exchange.trace.spanId);
    },
    trip(trip, end) {
      const attempts = attemptsOf(trip, end);
      if (figures !== undefined) for (const attempt of attempts) measureAttempt(attempt, trip.path, figures);
      if (traces === undefined) return;
      if (trip.principal === undefined && !strangers.lets(end.nowMs)) return;
      const trace = trip.exchange.trace ?? beginTrace(trip.exchange.request.rawHeaders, traces);
      if (!trace.isSampled) return;
      for (const attempt of attempts) {
        const span = attemptSpan(attempt, trip, trace);
        if (span !== undefined) traces.take(span);
      }
      traces.take(requestSpan(trip, end, trace));
    },
  };
}

function beginTrace(rawHeaders: readonly string[], traces: Traces): RequestTrace {
  const parent = readTraceContext(rawHeaders);
  const traceId = parent?.traceId ?? traces.drawTraceId();
  const isSampled = traces.isSampled(traceId, parent);
  return { traceId, spanId: traces.drawSpanId(), parent, isSampled, answer: undefined };
}
