// Two requests that are over → the record of how their answers compare.
import { type ComparedAnswer, type MirrorRecord, mirrorPath } from '../../../domain/records/mirror-record.ts';
import type { RequestRecord } from '../../../domain/records/request-record.ts';
import { recordId } from '../../../store/records/record-id.ts';
import { attemptRecords, durationNs } from '../../records/attempts.ts';
import { attemptsOf, type RecordedEnd, type RecordedTrip } from '../../records/record-of-trip.ts';

/** The answer of the last target that was asked; undefined: none was. */
export function comparedAnswer(trip: RecordedTrip, end: RecordedEnd): ComparedAnswer | undefined {
  const settings = { requestedAtMs: trip.exchange.startedAtMs, tracksUsage: true, secrets: [], answerOf: undefined };
  const last = attemptRecords(attemptsOf(trip, end), settings).at(-1);
  if (last === undefined) return undefined;
  const { provider_name, model, success, duration_ns, status_code, usage } = last;
  const { accepted, exchange } = trip;
  // As attempts count it: a clock that is read twice may say that a call began before its request.
  const startedAtMs = Math.max(accepted?.startedAtMs ?? 0, exchange.startedAtMs);
  return {
    model: `${provider_name}/${model}`,
    ...(status_code === undefined ? {} : { status_code }),
    success: success && (status_code ?? 0) < 400,
    duration_ns,
    ...(accepted === undefined ? {} : { first_byte_ns: durationNs(startedAtMs, accepted.endedAtMs) }),
    input_tokens: usage?.input_tokens ?? 0,
    output_tokens: usage?.output_tokens ?? 0,
    cost: usage?.cost?.total ?? null,
  };
}

/** Counts in no sum: the record of each request has what it cost. */
export function comparisonRecord(
  { id, startedAtMs }: { readonly id: string; readonly startedAtMs: number },
  path: string,
  mirror: MirrorRecord,
): RequestRecord {
  return {
    id: recordId(startedAtMs),
    request_id: id,
    started_ms: Math.floor(startedAtMs),
    duration_ns: mirror.mirror.duration_ns,
    method: 'POST',
    path,
    status_code: mirror.mirror.status_code ?? 0,
    user_path: mirrorPath,
    client_ip: '',
    counts_as: 'nothing',
    asked_by: 'gateway',
    attempts: [],
    mirror,
  };
}
