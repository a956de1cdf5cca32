// The attempts of a trip as a record says them: in the order in which they began, each with its kind and what it used.
import type { AttemptKind, AttemptRecord } from '../../schemas/records/request-record.ts';
import type { AttemptUsage } from '../../schemas/records/usage.ts';
import type { Refusal } from '../errors.ts';
import type { LoggedAttempt } from '../logged-trip.ts';
import type { TokenPrice } from '../snapshot/snapshot.ts';
import type { TokenUsage } from '../tokens/token-usage.ts';
import { attemptUsage } from './attempt-usage.ts';

/** The most attempts of one record: those that began last. */
const mostAttempts = 32;
/** Of an error's message. Characters. */
const longestMessage = 2048;

/** An attempt whose target is known well enough to be billed. */
export interface RecordedAttempt extends LoggedAttempt {
  readonly target: LoggedAttempt['target'] & {
    readonly upstream: { readonly name: string; readonly type: string };
    readonly price?: TokenPrice | undefined;
  };
}

/** What became of the attempt that was relayed. */
export interface AcceptedAttempt {
  readonly attempt: RecordedAttempt;
  /** Undefined: tokens are not counted, or nothing came. */
  readonly usage: TokenUsage | undefined;
  /** What broke its answer off. */
  readonly broken: Refusal | undefined;
  /** The provider's id of the answer. */
  readonly providerId: string | undefined;
  /** When its answer was over. Milliseconds of the gateway's clock. */
  readonly endedAtMs: number;
}

/** `failed` in any order. `tracksUsage`: attempts that reached their provider have usage. */
export function attemptRecords(
  failed: readonly RecordedAttempt[],
  accepted: AcceptedAttempt | undefined,
  tracksUsage: boolean,
): AttemptRecord[] {
  if (failed.length === 0) return accepted === undefined ? [] : [acceptedRecord(accepted, 1, 'primary', tracksUsage)];
  const all = [...failed, ...(accepted === undefined ? [] : [accepted.attempt])];
  all.sort((one, other) => one.startedAtMs - other.startedAtMs);
  const records = all.map((attempt, index) => {
    const kind = kindOf(attempt, all[index - 1]);
    if (attempt === accepted?.attempt) return acceptedRecord(accepted, index + 1, kind, tracksUsage);
    return failedRecord(attempt, index + 1, kind, tracksUsage);
  });
  return records.slice(-mostAttempts);
}

function kindOf(attempt: RecordedAttempt, before: RecordedAttempt | undefined): AttemptKind {
  if (before === undefined) return 'primary';
  if (attempt.startedAtMs < before.endedAtMs) return 'hedge';
  return attempt.target === before.target ? 'retry' : 'failover';
}

function acceptedRecord(
  { attempt, usage, broken, providerId, endedAtMs }: AcceptedAttempt,
  seq: number,
  kind: AttemptKind,
  tracksUsage: boolean,
): AttemptRecord {
  const { target } = attempt;
  const used = tracksUsage ? attemptUsage(usage, target.price) : undefined;
  return {
    ...beginningOf(attempt, seq, kind, endedAtMs),
    success: broken === undefined,
    ...(broken === undefined ? undefined : errorOf(broken)),
    ...(used === undefined ? undefined : { usage: withId(used, providerId) }),
  };
}

function failedRecord(attempt: RecordedAttempt, seq: number, kind: AttemptKind, tracksUsage: boolean): AttemptRecord {
  const { refused, endedAtMs, isSent, usage, target } = attempt;
  const isCharged = tracksUsage && isSent !== false;
  return {
    ...beginningOf(attempt, seq, kind, endedAtMs),
    success: false,
    ...(refused === undefined ? undefined : errorOf(refused)),
    ...(isCharged ? { usage: attemptUsage(usage, target.price) } : undefined),
  };
}

function beginningOf(
  { target, startedAtMs, answer }: RecordedAttempt,
  seq: number,
  kind: AttemptKind,
  endedAtMs: number,
): Omit<AttemptRecord, 'success'> {
  const { upstream, model } = target;
  return {
    seq,
    kind,
    model,
    provider_name: upstream.name,
    provider_type: upstream.type,
    started_ms: Math.floor(startedAtMs),
    duration_ns: Math.round((endedAtMs - startedAtMs) * 1e6),
    ...(answer === undefined || answer.status === 0 ? undefined : { status_code: answer.status }),
  };
}

function errorOf({ code, message, type }: Refusal): Partial<AttemptRecord> {
  return {
    ...(code === null ? undefined : { error_code: code }),
    error_message: message.slice(0, longestMessage),
    error_type: type,
  };
}

function withId(usage: AttemptUsage, providerId: string | undefined): AttemptUsage {
  return providerId === undefined ? usage : { ...usage, provider_id: providerId };
}
