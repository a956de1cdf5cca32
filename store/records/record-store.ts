// The record store as the control plane sees it: audit entries and usage records, appended and searched. Two engines keep this contract.
import type { AuditEntry } from '../../domain/records/audit-entry.ts';
import type { AskedBy } from '../../domain/records/request-record.ts';
import type { TrafficLine } from '../../domain/records/traffic.ts';
import type { NanoDollars, UsageCounts, UsageOrigin } from '../../domain/records/usage.ts';
import type { RevisionStore } from './kept-revisions.ts';
import type { WrittenEntry } from './written-entries.ts';

/** From the first moment to just before the second. Unix milliseconds. */
export interface Span {
  readonly fromMs: number;
  readonly toMs: number;
}

export const entryKinds = ['call', 'change'] as const;
export type EntryKind = (typeof entryKinds)[number];

/** Entries that match all that is given (spec: Audit sessions). Texts with "contains" fold ASCII case, and have no wildcards. */
export interface EntryFilter {
  /** Absent: of all times. */
  readonly span?: Span;
  /** Contained in the requested model. */
  readonly requestedModel?: string;
  /** Contained in the provider's name or its type. */
  readonly provider?: string;
  /** Exact. */
  readonly method?: string;
  /** Contained in the path. */
  readonly path?: string;
  /** This path and all below it; `/`: all. */
  readonly userPath?: string;
  /** Contained in the error type. */
  readonly errorType?: string;
  readonly statusCode?: number;
  readonly stream?: boolean;
  readonly askedBy?: AskedBy;
  /** `call`: a request of a client or of the gateway; `change`: a write of an operator, or a reload of the configuration. */
  readonly kind?: EntryKind;
  /**
   * Contained in one of request_id, requested_model, provider, provider_name, method, path, session_id, error_type, error_message. Where
   * more than 5,000 entries have it in their own texts, or 2,000 sessions, the newest are found.
   */
  readonly search?: string;
  /** Exact. */
  readonly sessionId?: string;
}

export interface Page {
  readonly limit: number;
  readonly offset: number;
}

/** A page of threads. `after`: the id of the newest match of the thread before it; then `offset` counts from there. */
export interface SessionPage extends Page {
  readonly after?: string | undefined;
}

export interface AuditSession {
  /** All entries of the thread, whatever the filter. */
  readonly request_count: number;
  /** The newest entry of the thread that matches, without bodies. */
  readonly latest: AuditEntry;
}

/**
 * How long requests that succeeded took, in nanoseconds, within 4.5 % of the true percentile. Absent: none did. `firstByte`: until the answer
 * could be relayed.
 */
export interface Times {
  readonly duration?: Percentiles;
  readonly firstByte?: Percentiles;
}

export interface Percentiles {
  readonly p50: number;
  readonly p95: number;
}

/** Requests of one bucket of time, by class of status. */
export interface AuditBucket extends Times {
  readonly startMs: number;
  readonly requests: number;
  readonly succeeded: number;
  /** 4xx, those that were refused too. */
  readonly clientErrors: number;
  /** 429: over a limit of the gateway or of a provider. */
  readonly refused: number;
  readonly serverErrors: number;
}

/** A model that fails now: of the last minutes of the span, `failedShare` of its requests. */
export interface FailingModel {
  /** Empty: no provider was reached. */
  readonly requested_model: string;
  readonly provider_name: string;
  readonly requests: number;
  readonly failed: number;
  /** The minute in which it began. Unix milliseconds. */
  readonly sinceMs: number;
}

/** Of the requests of a span: the buckets that have any, and how long each provider took. */
export interface AuditStats extends Times {
  readonly buckets: readonly AuditBucket[];
  readonly providers: readonly {
    readonly provider_name: string;
    readonly requests: number;
    readonly mean_duration_ns: number;
  }[];
  /** Where edges are minutes. The most failures first. */
  readonly failing: readonly FailingModel[];
}

/** Selects the usage records that match all that is given. */
export interface UsageFilter {
  readonly span: Span;
  readonly userPath?: string;
  /** Exact, the model at the provider, with or without the provider's name before it. */
  readonly model?: string;
  /** Exact, the provider's name or its type. */
  readonly provider?: string;
  readonly label?: string;
  readonly sessionId?: string;
  readonly askedBy?: AskedBy;
  /** `uncached`: attempts. `cached`: answers of the response cache. */
  readonly cacheMode: 'uncached' | 'cached' | 'all';
  /** The span is of whole minutes, the first of them not before `minutesBeforeMs` of `Retention`. Absent: it need not be. */
  readonly isRecent?: boolean;
}

/** Sums over usage records. Costs are null when no record has a price. */
export interface UsageTotals {
  /** Usage records. */
  readonly entries: number;
  /** Of clients, each once, that a provider or the response cache has answered, or that have cost something. */
  readonly requests: number;
  /** Calls of providers. */
  readonly attempts: number;
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly total_tokens: number;
  readonly cached_input_tokens: number;
  readonly cache_write_input_tokens: number;
  readonly reasoning_tokens: number;
  readonly input_cost: NanoDollars | null;
  readonly output_cost: NanoDollars | null;
  readonly total_cost: NanoDollars | null;
  /** Records without a price. */
  readonly unpriced: number;
}

/** The dimension of sums: each value of it is a row. */
export type UsageDimension = 'model' | 'user_path' | 'auth_key_id' | 'label' | 'session';

export interface UsageRow extends UsageTotals {
  /** The value: for `model` the model's id at the provider. */
  readonly key: string;
  /** For `model` alone. */
  readonly provider?: string;
  readonly provider_name?: string;
  /** For `session` alone: its latest. */
  readonly user_path?: string;
  readonly last_ms?: number;
}

/** One usage record: an executed attempt, or an answer of the response cache. */
export interface UsageEntry extends UsageCounts {
  /** `<id of the request record>-<seq of the attempt>`. */
  readonly id: string;
  readonly request_id: string;
  /** The provider's id of the answer. */
  readonly provider_id?: string;
  /** When it was over. Unix milliseconds. */
  readonly at_ms: number;
  readonly model: string;
  readonly provider: string;
  readonly provider_name: string;
  readonly endpoint: string;
  readonly user_path: string;
  readonly asked_by: AskedBy;
  /** The id of the managed key. */
  readonly auth_key_id?: string;
  readonly cache_type?: 'exact' | 'semantic';
  readonly labels?: readonly string[];
  readonly session_id?: string;
  readonly source: UsageOrigin;
  readonly input_cost: NanoDollars | null;
  readonly output_cost: NanoDollars | null;
  readonly total_cost: NanoDollars | null;
}

/** Costs of usage records with this user path (or below it) or this label, from a moment on; answers of the response cache cost nothing. */
export interface SpendQuestion {
  readonly scope: 'user_path' | 'label';
  readonly subject: string;
  /** Sums for each direct child of the path instead. */
  readonly perChild: boolean;
  readonly fromMs: number;
}

/** By child path; by the subject itself where the question is not `perChild`. Nothing spent: no entry. */
export type Spend = ReadonlyMap<string, NanoDollars>;

/** The most comparisons with mirrors that a report reads: the newest. 100,000 took SQLite 3 s. */
export const mostCompared = 20_000;

/** The answers of one model. */
export interface ComparedSide extends Times {
  /** `<provider name>/<model>`. */
  readonly model: string;
  readonly succeeded: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** Null: none has a price. */
  readonly cost: NanoDollars | null;
  readonly unpriced: number;
}

/** The answers of two models to the same requests. Times as in `Times`, but exact. */
export interface MirrorPair {
  readonly alias: string;
  readonly requests: number;
  /** Unix milliseconds. */
  readonly firstMs: number;
  readonly lastMs: number;
  /** Whose answers clients got. */
  readonly primary: ComparedSide;
  readonly mirror: ComparedSide;
  /** How many were compared by their meaning, and the mean cosine; absent: none was. */
  readonly compared: number;
  readonly similarity?: number;
}

export interface MirrorReport {
  readonly pairs: readonly MirrorPair[];
  /** There may be older ones in the span that were not read. */
  readonly isTruncated: boolean;
}

/** A place in the order of requests: by their start, then by their number. */
export interface TrafficCursor {
  /** Unix milliseconds. */
  readonly atMs: number;
  readonly entry: number;
}

/** Selects the requests of clients that began in a span. */
export interface TrafficQuestion {
  readonly span: Span;
  /** Those behind it; absent: from the beginning. */
  readonly after?: TrafficCursor | undefined;
  /** The most entries that are read for one page. */
  readonly most: number;
  /** This path and all below it; absent: all. */
  readonly userPath?: string | undefined;
  /** The share of the requests that went well which is recorded, 0 to 1. */
  readonly succeeded: number;
}

export interface TrafficPage {
  /** There may be none, although more follow. */
  readonly lines: readonly TrafficLine[];
  /** Absent: nothing follows. */
  readonly next?: TrafficCursor;
}

/** Records before these moments may be removed. Unix milliseconds; undefined: kept for ever. */
export interface Retention {
  readonly auditBeforeMs: number | undefined;
  readonly usageBeforeMs: number | undefined;
  /** Of sums of single minutes. */
  readonly minutesBeforeMs?: number;
}

/** Counts of lines of the journal that came to the store. */
export interface AddedRecords {
  /** Records that were new. */
  readonly added: number;
  /** Lines that are no records, after a crash or a full disk; they are passed over. */
  readonly unreadable: number;
}

/** Counts of what was removed to make room; `last`: the number of the last entry that was looked at. */
export interface Relief {
  readonly bodies: number;
  readonly entries: number;
  readonly last: number;
}

/** In bytes. */
export interface RecordRoom {
  /** By records. The file may be larger: what was removed leaves room in it. */
  readonly usedBytes: number;
  /** How much they may become now: the size that was set, or what the disk has beside the reserve of the state store. */
  readonly mostBytes: number;
}

/** Every operation has a deadline and rejects with `StoreUnavailable`; after an outage the next one may succeed. */
export interface RecordStore extends RevisionStore {
  /**
   * Keeps the records of lines of the journal, all of them or none, each id once: a record that is there already is passed over. The caller
   * bounds a batch; 500 records of 64 KiB are well within what the thread of a store may hold.
   */
  add(lines: readonly string[]): Promise<AddedRecords>;
  /** Threads with matching entries, the one with the newest first. `total`: of all pages. */
  sessions(
    filter: EntryFilter,
    page: SessionPage,
  ): Promise<{ readonly total: number; readonly sessions: readonly AuditSession[] }>;
  /** The newest first, without bodies. */
  entries(
    filter: EntryFilter,
    page: Page,
  ): Promise<{ readonly total: number; readonly entries: readonly AuditEntry[] }>;
  /** With everything; undefined: there is none. */
  entry(id: string): Promise<WrittenEntry | undefined>;
  /**
   * The entries of the thread of an entry, the oldest first, with both bodies and the headers of requests, without attempts; at most
   * `most`, around it, and of 16 Mi characters. Undefined: there is no such entry.
   */
  conversation(
    id: string,
    most: number,
  ): Promise<{ readonly entries: readonly WrittenEntry[]; readonly truncated: boolean } | undefined>;
  /**
   * `edges`: where buckets begin, rising, from the start of the span to its end; minutes only those that `minutesBeforeMs` of `Retention` leaves.
   * Questions of the gateway itself and writes of operators do not count.
   */
  stats(filter: Pick<EntryFilter, 'userPath'>, edges: readonly number[]): Promise<AuditStats>;
  /** Entries that were stored after `cursor`, in the order in which they were, without bodies; undefined: only the present cursor. */
  arrived(
    cursor: number | undefined,
    most: number,
  ): Promise<{ readonly entries: readonly AuditEntry[]; readonly cursor: number }>;
  /** A page of the requests of a span, in the order in which they began. */
  traffic(question: TrafficQuestion): Promise<TrafficPage>;
  usageTotals(filter: UsageFilter): Promise<UsageTotals>;
  /** `edges` as for `stats`: a row for each bucket that has records, with its index. */
  usageBuckets(
    filter: UsageFilter,
    edges: readonly number[],
  ): Promise<readonly (UsageTotals & { readonly bucket: number })[]>;
  /** The most expensive first, then those with the most tokens; sessions: the latest first. */
  usageBy(
    filter: UsageFilter,
    dimension: UsageDimension,
    page: Page,
  ): Promise<{ readonly total: number; readonly rows: readonly UsageRow[] }>;
  /** The newest first. `search` as for entries, in request id, model, provider and session. */
  usageLog(
    filter: UsageFilter,
    page: Page,
    search?: string,
  ): Promise<{ readonly total: number; readonly entries: readonly UsageEntry[] }>;
  /** In the order of the questions; until just before `untilMs` (Unix milliseconds), default: all. */
  spend(questions: readonly SpendQuestion[], untilMs?: number): Promise<readonly Spend[]>;
  /** Comparisons of answers with those of mirrors. The pairs with the most requests first. */
  mirrors(span: Span): Promise<MirrorReport>;
  /**
   * Makes room: removes the bodies of at most `most` entries behind number `after`, the oldest first; where none is left, as many of the
   * oldest entries. Usage stays. Both counts 0: nothing is left that may go.
   */
  relieve(after: number, most: number): Promise<Relief>;
  /**
   * How much room there is on a disk of this machine; the file becomes no larger than `mostBytes` from now on. Absent in an engine on a
   * server, whose disk is its own.
   */
  room?(mostBytes: number): Promise<RecordRoom>;
  /** Removes some of what is older, at most `most` entries and as many usage records; gives how many. 0: nothing is left to remove. */
  prune(retention: Retention, most: number): Promise<number>;
  close(): Promise<void>;
}
