// The records of one proxy: each model request that is over becomes a line of the journal, as far as the configuration wants it recorded.
import type { RequestRecord } from '../../domain/records/request-record.ts';
import { isWithin } from '../../domain/user-path.ts';
import type { Journal } from '../../store/records/journal.ts';
import type { RecordLine } from '../../store/records/record-line.ts';
import { BodyCapture } from '../capture/body-capture.ts';
import type { CaptureBudget } from '../capture/capture-budget.ts';
import { mayChangeRequests } from '../guardrails/applying.ts';
import { Batch, longestWaitingText } from '../pacing/batch.ts';
import type { AuditSettings, Snapshot } from '../snapshot/snapshot.ts';
import type { SpentCall } from '../tallies/upstream-tally.ts';
import { lineWithBodies } from './line-with-bodies.ts';
import { type RecordedEnd, type RecordedTrip, recordOfTrip, userPathOf } from './record-of-trip.ts';
import { Turnstile } from './turnstile.ts';

/**
 * How many requests of callers without a key are recorded in a second: they must not be able to fill the store. One of them takes up to 7 KB
 * without its headers, so 30 days of them take 18 GB at most; all of them are counted, and in the access log.
 */
const mostStrangers = 1;
/** Refused requests with a key that are recorded in a second: a client that repeats one in a loop must not fill the store either. */
const mostRefused = 100;

/** The settings that say which bodies are recorded, and how. */
export type CapturedUnder = Pick<Snapshot, 'audit' | 'guardrails'>;

export interface Records {
  /** Gives the taker of the bodies of a request of this consumer; undefined: they are not recorded. */
  capture(snapshot: CapturedUnder, userPath: string): BodyCapture | undefined;
  /** Requests without a record, because there were too many of their kind. */
  omitted(): number;
  /** A model request is over. Its record is in the journal within 50 ms. */
  trip(trip: RecordedTrip, end: RecordedEnd): void;
  /** Two answers to a request were compared: a record of its own says so. */
  compared(record: RequestRecord): void;
  /** Writes the records of all requests that wait for theirs. */
  flush(): void;
}

/** A request that is over and gets a record. */
interface Held {
  readonly trip: RecordedTrip;
  readonly end: RecordedEnd;
  readonly hasAudit: boolean;
}

export interface RecordsOptions {
  readonly captures: CaptureBudget;
  readonly journal: Pick<Journal, 'append'>;
  readonly instance: string;
  readonly usageEnabled: boolean;
  /** Told of each call that has cost something, with its record. */
  readonly spent: (call: SpentCall) => void;
  /** Decides which requests are in the sample: from 0 up to 1. */
  readonly random: () => number;
  /** Told of what could not be recorded, unexpectedly: bodies, or a whole request. It costs no client its answer. */
  readonly reportFailure: (error: unknown, requestId: string) => void;
}

export function createRecords(options: RecordsOptions): Records {
  const { captures, journal, instance, usageEnabled, spent, random, reportFailure } = options;
  const strangers = new Turnstile(mostStrangers);
  const refused = new Turnstile(mostRefused);
  let omitted = 0;
  const held = new Batch<Held>(append);
  /** A failure is reported, and costs the record its bodies alone. */
  const withBodies = (line: string, trip: RecordedTrip, nowMs: number): RecordLine => {
    try {
      return lineWithBodies(line, trip, nowMs);
    } catch (error) {
      reportFailure(error, trip.exchange.id);
      return line;
    }
  };
  return {
    omitted: () => omitted,
    capture({ audit, guardrails }, userPath) {
      if (!audit.hasBodies || !mayBeAudited(audit, userPath)) return undefined;
      const awaitsGuardrails = !audit.hasOriginals && mayChangeRequests(guardrails, userPath);
      return new BodyCapture(captures, audit.bodyLimitBytes, awaitsGuardrails);
    },
    trip(trip, end) {
      try {
        note(trip, end);
      } catch (error) {
        reportFailure(error, trip.exchange.id);
      }
    },
    compared(record) {
      try {
        journal.append(JSON.stringify(record));
      } catch (error) {
        reportFailure(error, record.request_id);
      }
    },
    flush: () => held.flush(),
  };

  function note(trip: RecordedTrip, end: RecordedEnd): void {
    const isKept = trip.caching?.hit !== undefined;
    const wasTried = isKept || trip.accepted !== undefined || trip.failed.length > 0;
    const hasAudit = isAudited(trip.snapshot.audit, userPathOf(trip), end.status, random);
    if (!hasAudit && !(usageEnabled && wasTried)) return;
    const turnstile = trip.principal === undefined ? strangers : refused;
    if (!wasTried && end.status >= 400 && !turnstile.lets(end.nowMs)) {
      omitted += 1;
      return;
    }
    // The connection tells it for as long as it is open.
    void trip.exchange.clientAddress;
    held.add({ trip, end, hasAudit }, mayWait(trip));
  }

  function append({ trip, end, hasAudit }: Held): void {
    try {
      const record = recordOfTrip(trip, end, { hasAudit, hasUsage: usageEnabled, instance });
      for (const { provider_name: provider, model, usage } of record.attempts) {
        const nanoDollars = usage?.cost?.total ?? 0;
        if (nanoDollars > 0) spent({ provider, model, nanoDollars });
      }
      const line = JSON.stringify(record);
      journal.append(hasAudit && trip.snapshot.audit.hasBodies ? withBodies(line, trip, end.nowMs) : line);
    } catch (error) {
      reportFailure(error, trip.exchange.id);
    }
  }
}

/** Whether what the record is made of is short. */
function mayWait({ call, capture, usage }: RecordedTrip): boolean {
  const longest = Math.max(call?.body?.length ?? 0, capture?.answerLength ?? 0, usage?.heldBytes ?? 0);
  return longest <= longestWaitingText;
}

function isAudited(settings: AuditSettings, userPath: string, status: number, random: () => number): boolean {
  const { sample } = settings;
  if (!mayBeAudited(settings, userPath)) return false;
  return sample === 1 || status >= 400 || random() < sample;
}

function mayBeAudited({ isEnabled, without }: AuditSettings, userPath: string): boolean {
  if (!isEnabled) return false;
  for (const path of without) if (isWithin(userPath, path)) return false;
  return true;
}
