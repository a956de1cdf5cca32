// One request as it is journaled: written once, when it is over. Audit entries and usage records are made of it (spec: Audit entry).
import type { ErrorType } from '../../schemas/error-type.ts';
import type { MirrorRecord } from './mirror-record.ts';
import type { AttemptUsage } from './usage.ts';

/**
 * `primary`: the first one of its request. `failover`: of another target. `retry`: of the same target again. `hedge`: beside a slow one.
 * `cache`: no provider was asked; it names the target whose answer was kept.
 */
export const attemptKinds = ['primary', 'failover', 'retry', 'hedge', 'cache'] as const;
export type AttemptKind = (typeof attemptKinds)[number];

/** `certificate`: that of the client, at the listener. `jwt`: a token of an identity provider. `sign_in`: a person who signed in there. `no_key`: the gateway runs without a master key. */
export const authMethods = ['api_key', 'certificate', 'jwt', 'master_key', 'no_key', 'sign_in'] as const;
export type AuthMethod = (typeof authMethods)[number];

/**
 * The origin of a call: a client, or the gateway itself, for an embedding of the semantic cache or the verdict of a
 * guardrail.
 */
export const askedBy = ['client', 'gateway'] as const;
export type AskedBy = (typeof askedBy)[number];

export interface AttemptRecord {
  /** From 1. */
  readonly seq: number;
  readonly kind: AttemptKind;
  /** The model's id at the provider; empty: the request names none. */
  readonly model: string;
  readonly provider_name: string;
  readonly provider_type: string;
  /** Unix milliseconds. */
  readonly started_ms: number;
  readonly duration_ns: number;
  /** Absent: no answer came. */
  readonly status_code?: number;
  readonly success: boolean;
  readonly error_code?: string;
  readonly error_message?: string;
  readonly error_type?: string;
  /** Of failed attempts, where bodies and headers are recorded. */
  readonly response_body?: unknown;
  readonly response_headers?: Readonly<Record<string, string>>;
  /** Absent: the attempt did not reach its provider, or usage is not tracked. */
  readonly usage?: AttemptUsage;
}

/** The features that were at work for a request (spec: data.workflow_features). */
export interface WorkflowFeatures {
  readonly audit: boolean;
  readonly budget: boolean;
  readonly cache: boolean;
  readonly failover: boolean;
  readonly guardrails: boolean;
  readonly usage: boolean;
}

/** One rewriting of a request on its way (spec: Revision object). */
export interface RequestRevision {
  readonly seq: number;
  readonly rewriter: string;
  readonly bytes_before: number;
  readonly bytes_after: number;
  readonly tokens_saved?: number;
  readonly no_change: boolean;
  readonly body?: unknown;
  readonly detail?: unknown;
}

/** The finding of one guardrail on a request or its answer. Guardrails that let it pass have none. */
export interface GuardrailRecord {
  readonly name: string;
  readonly kind: string;
  readonly phase: 'input' | 'output';
  readonly outcome: 'flag' | 'revise' | 'block' | 'failed';
  /** A category, such as `card`: never what was found. */
  readonly reason?: string;
  /** `shadow`: nothing came of it. */
  readonly mode: 'enforce' | 'shadow';
}

/** The decision of the semantic layer of the cache. */
export interface SemanticDecision {
  /** As `gateway_cache_semantic_total` says it. */
  readonly outcome: string;
  readonly threshold: number;
  /** Of the nearest request, whether it was near enough or not. */
  readonly similarity?: number;
  /** The key of its answer: a hash. */
  readonly matched?: string;
}

/** The part of an entry that only its own page shows (spec: data). Members that do not apply are absent, never null. */
export interface AuditData {
  readonly api_key_hash?: string;
  readonly error_code?: string;
  readonly error_message?: string;
  /** The provider that an error came from. */
  readonly error_provider?: string;
  /** `admin_write`: a change by an operator, with `before` and `after` in its bodies. `config_reload`: a reload of the configuration. Absent: a request. */
  readonly event_type?: string;
  /** Of a change: what was changed, such as `rule user_path /team-a minute`. */
  readonly about?: string;
  /** Of a change by a person who signed in: its e-mail or name. */
  readonly operator_name?: string;
  readonly user_agent?: string;
  readonly max_tokens?: number;
  readonly temperature?: number;
  readonly request_body?: unknown;
  readonly response_body?: unknown;
  readonly request_headers?: Readonly<Record<string, string>>;
  readonly response_headers?: Readonly<Record<string, string>>;
  readonly request_body_too_big_to_handle?: boolean;
  readonly response_body_too_big_to_handle?: boolean;
  readonly failover?: { readonly target_model: string };
  /** Another target told the rest of a stream that broke in the middle: it went on, or began again. */
  readonly rescued?: 'continue' | 'restart';
  readonly workflow_features?: WorkflowFeatures;
  readonly request_revisions?: readonly RequestRevision[];
  readonly guardrails?: readonly GuardrailRecord[];
  /** Absent: the semantic cache was not asked. */
  readonly semantic_cache?: SemanticDecision;
  /** Members of the request that the provider could not be told: the first hundred, and of each the first 128 characters. */
  readonly dropped?: readonly string[];
  /** The revision of the configuration that served it. */
  readonly config_revision?: string;
  /** The label of the rule that refused it. */
  readonly rule?: string;
  /** The proxy, or control plane, that served it. */
  readonly instance?: string;
}

/**
 * How a record counts in sums of usage, where it is not one request of a client. `calls`: calls of providers alone,
 * such as a poll, an upload, a call of the gateway itself, or a request that no provider answered. `nothing`: a cost
 * that became known later.
 */
export type Counting = 'calls' | 'nothing';

export interface RequestRecord {
  /** A UUID, version 7, drawn by the process that served it: the store keeps each id once. */
  readonly id: string;
  readonly request_id: string;
  /** The conversation it belongs to: `sessionIdOf` of the proxy; absent: it stands alone. */
  readonly session_id?: string;
  /** Its start. Unix milliseconds. */
  readonly started_ms: number;
  /** Until its answer was over. */
  readonly duration_ns: number;
  /** Until the answer of a provider could be relayed; absent: none was. */
  readonly first_byte_ns?: number;
  readonly method: string;
  /** The path as asked, without its query. */
  readonly path: string;
  readonly status_code: number;
  /** As asked, else as answered; absent: its body was not read, and nothing was answered. */
  readonly stream?: boolean;
  readonly requested_model?: string;
  /** `<provider name>/<model>` of the target that executed it, else of the first one. */
  readonly resolved_model?: string;
  /** The provider's type, and its name in the configuration. */
  readonly provider?: string;
  readonly provider_name?: string;
  readonly user_path: string;
  /** The id of the managed key. */
  readonly auth_key_id?: string;
  readonly auth_method?: AuthMethod;
  readonly client_ip: string;
  readonly cache_type?: 'exact' | 'semantic';
  /** Absent: it is not known which model it asks for. */
  readonly alias_used?: boolean;
  readonly error_type?: ErrorType;
  /** Absent: one request of a client; each of its attempts is a call of a provider. */
  readonly counts_as?: Counting;
  /** Absent: a client, or it is not known, because an older proxy has written it. */
  readonly asked_by?: Extract<AskedBy, 'gateway'>;
  /** In their order; none for a request that was refused before. */
  readonly attempts: readonly AttemptRecord[];
  /** Those of the key (spec: data.labels). */
  readonly labels?: readonly string[];
  /** Absent: no audit entry is made of it, only usage records. */
  readonly data?: AuditData;
  /** The comparison of two answers to the request, which is all that this record is about; absent: it is about a request. */
  readonly mirror?: MirrorRecord;
}

/** An object on its way into JSON, which leaves out members that are undefined: optional ones may be. */
export type Draft<Shape> = {
  readonly [Key in keyof Shape]: Shape extends Readonly<Record<Key, unknown>> ? Shape[Key] : Shape[Key] | undefined;
};

/** A record that JSON.stringify makes into its line. */
export interface RecordDraft extends Draft<Omit<RequestRecord, 'attempts' | 'data' | 'mirror'>> {
  readonly attempts: readonly Draft<AttemptRecord>[];
  readonly data: Draft<AuditData> | undefined;
}
