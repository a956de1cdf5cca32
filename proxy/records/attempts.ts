// The attempts of a trip as a record says them: in the order in which they began, each with its kind and what it used.

import { feeOf } from '../../domain/prices/cost.ts';
import type { Price } from '../../domain/prices/price.ts';
import type { AttemptKind, AttemptRecord, Draft } from '../../domain/records/request-record.ts';
import type { AttemptUsage } from '../../domain/records/usage.ts';
import { withoutSecrets } from '../../schemas/formats/key-shapes.ts';
import type { CachedFacts } from '../../store/cache/answer-cache.ts';
import type { FailedAnswer } from '../capture/failed-answer.ts';
import type { Refusal } from '../errors.ts';
import { attemptUsage } from '../tokens/attempt-usage.ts';
import type { TokenUsage } from '../tokens/token-usage.ts';
import type { LoggedAttempt } from './logged-trip.ts';

/** The most attempts of one record: those that began last. */
const mostAttempts = 32;
/** Of an error's message. Characters. */
const longestMessage = 2048;

/** An attempt whose target is known well enough to be billed. */
export interface RecordedAttempt extends LoggedAttempt {
  readonly target: LoggedAttempt['target'] & {
    /** `origin`: scheme://host:port. */
    readonly upstream: {
      readonly name: string;
      readonly type: string;
      readonly origin: string;
      readonly secrets?: readonly string[];
    };
    /** The client may say any model. */
    readonly isPassed?: boolean;
    readonly price?: Price | undefined;
    /** The target of a model where what is asked is passed on; it has the price. */
    readonly remembered?: { readonly price?: Price | undefined } | undefined;
  };
  readonly answer: (NonNullable<LoggedAttempt['answer']> & FailedAnswer) | undefined;
}

const noCost = Object.freeze({ input: 0, output: 0, total: 0 });
/** Of an attempt that failed and cost nothing as far as is known, and of one that asked no model. */
const free: AttemptUsage = Object.freeze({
  input_tokens: 0,
  output_tokens: 0,
  total_tokens: 0,
  source: 'estimated',
  cost: noCost,
});
/** Nothing says what was used. */
const unknown: AttemptUsage = Object.freeze({ ...free, cost: null });

/** Adds what is recorded of the answer of a failed attempt. */
export type AnswerOf = (attempt: RecordedAttempt) => Partial<AttemptRecord>;

/** The outcome of the attempt that was relayed. */
export interface AcceptedAttempt {
  readonly attempt: RecordedAttempt;
  /** Undefined: nothing says what was used. */
  readonly usage: TokenUsage | undefined;
  /** Nothing was done for it that costs. */
  readonly isFree: boolean;
  /** The error that broke its answer off, or that its client left; undefined: it came completely. */
  readonly broken: Refusal | undefined;
  /** The provider's id of the answer. */
  readonly providerId: string | undefined;
  /** When its answer was over. Milliseconds of the gateway's clock. */
  readonly endedAtMs: number;
}

/** An attempt in its place among all of a trip. */
export interface PlacedAttempt {
  readonly attempt: RecordedAttempt;
  /** From 1, in the order in which they began. */
  readonly seq: number;
  readonly kind: AttemptKind;
  /** Undefined: it failed. */
  readonly accepted: AcceptedAttempt | undefined;
}

/** In the order in which they began, of too many those that began last. `failed` in any order. */
export function placedAttempts(
  failed: readonly RecordedAttempt[],
  accepted: AcceptedAttempt | undefined,
): readonly PlacedAttempt[] {
  if (failed.length === 0)
    return accepted === undefined ? [] : [{ attempt: accepted.attempt, seq: 1, kind: 'primary', accepted }];
  const all = [...failed, ...(accepted === undefined ? [] : [accepted.attempt])];
  all.sort((one, other) => one.startedAtMs - other.startedAtMs);
  const placed = all.map((attempt, index) => ({
    attempt,
    seq: index + 1,
    kind: kindOf(attempt, all[index - 1]),
    accepted: attempt === accepted?.attempt ? accepted : undefined,
  }));
  return placed.slice(-mostAttempts);
}

const nothingOf: AnswerOf = () => ({});

/** Settings for the records of all attempts of a trip. */
export interface AttemptParts {
  /** When the request came. The gateway's clock cuts the beginnings of attempts to whole milliseconds, so one may seem to be earlier. */
  readonly requestedAtMs: number;
  /** Attempts that reached their provider have usage. */
  readonly tracksUsage: boolean;
  /** Secrets to take out of messages, besides everything that has the form of a key. */
  readonly secrets: readonly string[];
  readonly answerOf: AnswerOf | undefined;
}

/** The attempts of a trip, as `placedAttempts` has put them. */
export function attemptRecords(placed: readonly PlacedAttempt[], parts: AttemptParts): Draft<AttemptRecord>[] {
  const { answerOf = nothingOf } = parts;
  return placed.map((each) =>
    each.accepted === undefined
      ? { ...failedRecord(each, parts), ...answerOf(each.attempt) }
      : acceptedRecord(each, each.accepted, parts),
  );
}

function kindOf(attempt: RecordedAttempt, before: RecordedAttempt | undefined): AttemptKind {
  if (before === undefined) return 'primary';
  // Attempts begin at whole milliseconds, but do not end there.
  if (attempt.startedAtMs < Math.floor(before.endedAtMs)) return 'hedge';
  return attempt.target === before.target ? 'retry' : 'failover';
}

/** The usage of the attempt that was relayed. Where it is not known, the price of a request gives the cost. */
export function usageOfAccepted({ attempt, usage, isFree, providerId }: AcceptedAttempt): AttemptUsage {
  const price = priceOf(attempt);
  if (usage !== undefined) return attemptUsage(usage, price, providerId);
  const isRefused = (attempt.answer?.status ?? 0) >= 400;
  if (isFree || isRefused) return free;
  const fee = price === undefined ? null : feeOf(price);
  return fee === null ? unknown : { ...unknown, cost: fee };
}

/** What each of these attempts has cost in nano-dollars, and when it ended (Unix milliseconds), as their records say it. */
export function spendingsOf(placed: readonly PlacedAttempt[]): { readonly cost: number; readonly atMs: number }[] {
  return placed.map(({ attempt, accepted }) => ({
    cost: (accepted === undefined ? usageOfFailed(attempt) : usageOfAccepted(accepted)).cost?.total ?? 0,
    atMs: accepted?.endedAtMs ?? attempt.endedAtMs,
  }));
}

/** The usage of an attempt that was not relayed. */
function usageOfFailed(attempt: RecordedAttempt): AttemptUsage {
  const { isSent, usage } = attempt;
  return isSent === false || usage === undefined ? free : attemptUsage(usage, priceOf(attempt));
}

function acceptedRecord(
  placed: PlacedAttempt,
  accepted: AcceptedAttempt,
  { requestedAtMs, tracksUsage, secrets }: AttemptParts,
): Draft<AttemptRecord> {
  const { broken, endedAtMs } = accepted;
  return {
    ...beginningOf(placed, requestedAtMs, endedAtMs),
    success: broken === undefined,
    ...(broken && errorOf(broken, secrets)),
    usage: tracksUsage ? usageOfAccepted(accepted) : undefined,
  };
}

function failedRecord(
  placed: PlacedAttempt,
  { requestedAtMs, tracksUsage, secrets }: AttemptParts,
): Draft<AttemptRecord> {
  const { attempt } = placed;
  const { refused, endedAtMs, isSent } = attempt;
  const isCharged = tracksUsage && isSent !== false;
  return {
    ...beginningOf(placed, requestedAtMs, endedAtMs),
    success: false,
    ...(refused && errorOf(refused, secrets)),
    usage: isCharged ? usageOfFailed(attempt) : undefined,
  };
}

/**
 * A kept answer in place of an attempt: whose answer it was, and what it would have used; it cost nothing. Moments in milliseconds. `tracksUsage`:
 * it has usage, with the tokens that were not asked for.
 */
export function cachedAttempt(
  { provider, type, model, usage = free }: CachedFacts,
  startedAtMs: number,
  endedAtMs: number,
  tracksUsage: boolean,
): Draft<AttemptRecord> {
  return {
    seq: 1,
    kind: 'cache',
    model,
    provider_name: provider,
    provider_type: type,
    started_ms: Math.floor(startedAtMs),
    duration_ns: durationNs(startedAtMs, endedAtMs),
    status_code: 200,
    success: true,
    usage: tracksUsage ? { ...usage, cost: noCost } : undefined,
  };
}

/** Between two moments of the gateway's clock, in milliseconds. */
export function durationNs(startedAtMs: number, endedAtMs: number): number {
  return Math.round((endedAtMs - startedAtMs) * 1e6);
}

function beginningOf(
  { attempt, seq, kind }: PlacedAttempt,
  requestedAtMs: number,
  endedAtMs: number,
): Draft<Omit<AttemptRecord, 'success'>> {
  const { target, answer } = attempt;
  const { upstream, model } = target;
  const startedAtMs = Math.max(attempt.startedAtMs, requestedAtMs);
  return {
    seq,
    kind,
    model,
    provider_name: upstream.name,
    provider_type: upstream.type,
    started_ms: Math.floor(startedAtMs),
    duration_ns: durationNs(startedAtMs, endedAtMs),
    status_code: answer?.status === 0 ? undefined : answer?.status,
  };
}

function errorOf(
  { code, message, type }: Refusal,
  secrets: readonly string[],
): Draft<Pick<AttemptRecord, 'error_code' | 'error_message' | 'error_type'>> {
  return {
    error_code: code ?? undefined,
    error_message: withoutSecrets(message.slice(0, longestMessage), secrets),
    error_type: type,
  };
}

function priceOf({ target }: RecordedAttempt): Price | undefined {
  return target.price ?? target.remembered?.price;
}
