// An audit entry as the admin API shows it (spec: Audit entry). Times are RFC 3339 in UTC; members that do not apply are absent, never null.
import type { AskedBy, AttemptRecord, AuditData, RequestRecord } from './request-record.ts';

/** The usage of all attempts of an entry together (spec: Audit entry, `usage`). */
export interface EntryUsage {
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly total_tokens: number;
  readonly cached_input_tokens: number;
  readonly uncached_input_tokens: number;
  readonly cache_write_input_tokens: number;
  /** Cached of all input; 0 without input. */
  readonly cached_input_ratio: number;
  /** Four for each cached token. */
  readonly estimated_cached_characters: number;
  /** How many usage records it is the sum of. */
  readonly entries: number;
  readonly rewrite_tokens_saved: number;
  readonly rewrite_cost_saved: number;
  /** US dollars; null: nothing of it has a price. Absent: an entry of before this was kept. */
  readonly total_cost?: number | null;
}

/** An attempt as it is shown: its start is a timestamp. */
export type ShownAttempt = Omit<AttemptRecord, 'started_ms' | 'usage'> & { readonly started_at: string };

export interface AuditEntry extends Omit<RequestRecord, 'started_ms' | 'asked_by' | 'attempts' | 'labels' | 'data'> {
  readonly timestamp: string;
  /** The revision of the configuration that served it. */
  readonly workflow_version_id?: string;
  /** Who called: the id of a managed key. */
  readonly principal_id?: string;
  readonly asked_by: AskedBy;
  /** A test of the configuration that expects what became of it, as YAML. Only of one entry; absent: no test can be made of it. */
  readonly as_test?: string;
  /** Bodies, and headers of attempts, were left out of a list. */
  readonly bodies_omitted: boolean;
  /** It belongs to a conversation that can be shown. */
  readonly conversation_payload: boolean;
  /** Absent: nothing was executed, or usage is not tracked. */
  readonly usage?: EntryUsage;
  readonly data: AuditData & { readonly labels?: readonly string[]; readonly attempts: readonly ShownAttempt[] };
}
