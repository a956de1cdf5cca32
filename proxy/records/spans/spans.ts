// The spans of a model request that is over: one of the request (server), one of each attempt (client). Bodies, headers, keys and messages of
// errors are in none; texts of strangers are cut.
import { withoutKeysOfQuery, withoutSecrets } from '../../../schemas/formats/key-shapes.ts';
import type { RequestTrace } from '../../call/trace-context.ts';
import { type ModelRequest, shownPathOf } from '../../http/exchange.ts';
import type { PlacedAttempt } from '../attempts.ts';
import { knownSecrets } from '../known-secrets.ts';
import { numbersOf } from '../numbers-of.ts';
import type { RecordedEnd, RecordedTrip } from '../record-of-trip.ts';
import { type Attributes, errorTypeOf, outcomeOf, targetAttributes } from './attempt-figures.ts';
import { operationOf } from './gen-ai-names.ts';

export interface TracedTrip extends RecordedTrip {
  readonly exchange: RecordedTrip['exchange'] & Pick<ModelRequest, 'trace'>;
}

/** A span as a value. Unix milliseconds. */
export interface SpanFacts {
  readonly name: string;
  readonly kind: 'server' | 'client';
  readonly trace: RequestTrace;
  readonly spanId: string;
  /** Undefined: it is the first of its trace. */
  readonly parentSpanId: string | undefined;
  readonly startMs: number;
  readonly endMs: number;
  readonly attributes: Attributes;
  readonly isError: boolean;
}

/** Counts of spans by their outcome. */
export interface SpanCounts {
  readonly exported: number;
  /** The queue was full. */
  readonly dropped: number;
  /** The collector did not take them. */
  readonly failed: number;
  /** In the queue at this moment. */
  readonly waiting: number;
}

/** Characters. */
const longestText = 256;

/** Undefined: the attempt had no span, because it began before traces were made. */
export function attemptSpan(placed: PlacedAttempt, trip: TracedTrip, trace: RequestTrace): SpanFacts | undefined {
  const { attempt, seq, kind, accepted } = placed;
  const { spanId, target, startedAtMs, answer } = attempt;
  if (spanId === undefined) return undefined;
  const { endedAtMs, refused, usage } = outcomeOf(placed);
  const attributes = { ...targetAttributes(target, trip.path), ...requestAttributes(trip) };
  attributes['gateway.provider'] = target.upstream.name;
  attributes['gateway.attempt.number'] = seq;
  attributes['gateway.attempt.kind'] = kind;
  if (answer !== undefined && answer.status !== 0) attributes['http.response.status_code'] = answer.status;
  if (refused !== undefined) addError(attributes, refused, answer?.status);
  if (usage !== undefined) {
    attributes['gen_ai.usage.input_tokens'] = usage.inputTokens;
    attributes['gen_ai.usage.output_tokens'] = usage.outputTokens;
    attributes['gateway.usage.source'] = usage.source;
  }
  if (accepted !== undefined) addAnswer(attributes, accepted.attempt, trip, trace);
  const operation = operationOf(trip.path);
  return {
    name: target.model === '' ? operation : `${operation} ${target.model.slice(0, longestText)}`,
    kind: 'client',
    trace,
    spanId,
    parentSpanId: trace.spanId,
    // It is cut to a whole millisecond, the beginning of the request is not.
    startMs: Math.max(startedAtMs, trip.exchange.startedAtMs),
    endMs: endedAtMs,
    attributes,
    isError: refused !== undefined,
  };
}

export function requestSpan(trip: TracedTrip, end: RecordedEnd, trace: RequestTrace): SpanFacts {
  const { exchange, principal, call, route, snapshot, path } = trip;
  const { method, path: asked } = trip.asked ?? { method: 'POST', path };
  const { refused } = trip.ending;
  const caller = principal ?? exchange.caller;
  const secrets = knownSecrets(trip);
  const attributes: Attributes = {
    'http.request.method': method,
    'http.route': path,
    'url.path': withoutKeysOfQuery(asked.slice(0, longestText), secrets),
    'url.scheme': 'http',
    'http.response.status_code': end.status,
    'gen_ai.operation.name': operationOf(path),
    ...requestAttributes(trip),
    'gateway.request_id': exchange.id,
    'gateway.config_revision': snapshot.revision,
    'gateway.attempts': trip.failed.length + (trip.accepted === undefined ? 0 : 1),
  };
  if (call !== undefined)
    attributes['gen_ai.request.model'] = withoutSecrets(call.model.slice(0, longestText), secrets);
  if (call !== undefined && route?.isAlias === true) attributes['gateway.alias'] = call.model.slice(0, longestText);
  const userPath = shownPathOf(caller);
  if (userPath !== undefined) attributes['gateway.user_path'] = userPath.slice(0, longestText);
  // As in the access log: the master key has no id.
  const keyId = caller?.keyId ?? caller?.kind;
  if (keyId !== undefined) attributes['gateway.key_id'] = keyId;
  if (refused !== undefined) {
    addError(attributes, refused, refused.provider === undefined ? 0 : refused.status);
    if (refused.rule !== undefined) attributes['gateway.rule'] = refused.rule.label;
  }
  return {
    name: `${method} ${path}`,
    kind: 'server',
    trace,
    spanId: trace.spanId,
    parentSpanId: trace.parent?.spanId,
    startMs: exchange.startedAtMs,
    endMs: end.nowMs,
    attributes,
    // A mistake of the client is no error of the server (conventions for HTTP).
    isError: refused !== undefined && (end.status < 400 || end.status >= 500),
  };
}

/** Attributes of the request besides its model. */
function requestAttributes({ call }: TracedTrip): Attributes {
  if (call === undefined) return {};
  const { body, members, stream } = call;
  const numbers = body === undefined || members === undefined ? {} : numbersOf({ body, members });
  return {
    'gen_ai.request.stream': stream,
    ...(numbers.max_tokens === undefined ? undefined : { 'gen_ai.request.max_tokens': numbers.max_tokens }),
    ...(numbers.temperature === undefined ? undefined : { 'gen_ai.request.temperature': numbers.temperature }),
  };
}

/** Attributes of the relayed answer, and the time to the first byte of its stream. */
function addAnswer(
  attributes: Attributes,
  { startedAtMs, endedAtMs }: PlacedAttempt['attempt'],
  { call }: TracedTrip,
  { answer }: RequestTrace,
): void {
  if (answer?.id !== undefined) attributes['gen_ai.response.id'] = answer.id;
  if (answer?.model !== undefined) attributes['gen_ai.response.model'] = answer.model;
  if (call?.stream) attributes['gen_ai.response.time_to_first_chunk'] = (endedAtMs - startedAtMs) / 1000;
}

/** `status`: that of a provider's answer; 0: none. */
function addError(
  attributes: Attributes,
  refused: Parameters<typeof errorTypeOf>[0],
  status: number | undefined,
): void {
  attributes['error.type'] = errorTypeOf(refused, status);
  if (refused.code !== null) attributes['gateway.error_code'] = refused.code.slice(0, longestText);
}
