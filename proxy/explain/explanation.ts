// The members of an explanation, as in `schemas/admin/explanation.schema.json`. Times are RFC 3339 in UTC.
import type { BudgetMode } from '../../domain/budgets/mode.ts';
import type { ExplanationAnswer } from '../../schemas/types.ts';
import type { SharedReport } from '../limits/report.ts';
import type { Obstacle } from '../targets/target-state.ts';

/** The request as the gateway understands it. */
export interface AskedRequest {
  /** The consumer whose rules apply. */
  readonly user_path: string;
  readonly model: string;
  readonly stream: boolean;
  /** Its path. */
  readonly endpoint?: string;
  readonly thread?: string;
  /** The tokens of its prompt, as the question says. */
  readonly input_tokens?: number;
  readonly key?: AskedKey;
}

/** How a request at an endpoint counts. */
export interface Counted {
  /** `all`: those on the user path, the provider and the model. */
  readonly rules: 'all' | 'user_paths' | 'none';
  /** Until when a slot is held of each rule on requests in flight. */
  readonly slot: 'answer' | 'session' | 'none';
  readonly says: string;
}

export interface AskedKey {
  readonly id: string;
  readonly name: string;
  readonly user_path?: string;
  readonly any_user_path: boolean;
  /** Empty: every model. */
  readonly allowed_models: readonly string[];
  readonly state: 'active' | 'expired' | 'revoked';
  /** Of a token: the identity, and where each right comes from. */
  readonly identity?: string;
  readonly rights?: readonly { readonly right: string; readonly from: string; readonly claims: readonly string[] }[];
}

/** Where something is declared, or who wrote it; absent for an operator whose user path it is not in. */
export interface Source {
  readonly source?: 'config' | 'manual';
  readonly declared_at?: string;
  readonly updated_by?: string;
}

export interface AliasStep extends Source {
  /** The name that was asked for; of a family, one of its names. */
  readonly name: string;
  /** The family that declares it. */
  readonly family?: string;
  readonly strategy: string;
  readonly targets: readonly string[];
  readonly user_paths?: readonly string[];
  readonly when?: string;
}

export interface Resolution {
  readonly kind: 'alias' | 'family' | 'bare_id' | 'model' | 'unknown';
  /** The aliases on the way, the one that was asked for first. */
  readonly aliases: readonly AliasStep[];
  /** Of a name with several targets. */
  readonly strategy?: string;
  /** The most calls for one request. */
  readonly attempts?: number;
  /** Another target is asked beside one that is slow to begin. */
  readonly hedge?: true;
  /** How another target tells the rest of a stream that breaks in the middle. */
  readonly rescue?: 'continue' | 'restart';
}

/** A rule that holds for the request. The counters and the source are absent for an operator whose user path it is not in. */
export interface MatchingRule extends Source {
  readonly id: string;
  readonly name?: string;
  readonly scope: string;
  readonly subject: string;
  /** Whose counters these are: of a template, the child. */
  readonly effective_subject: string;
  readonly per_child: boolean;
  readonly mode: 'enforce' | 'shadow';
  readonly period_label: string;
  readonly period_seconds: number;
  readonly max_requests?: number;
  readonly max_tokens?: number;
  /** By all proxies together, or by each of them alone. */
  readonly counted: 'fleet' | 'replica';
  /** Of a rule that the fleet counts: the live proxies, how exactly it is counted now, and what holds while the state store is lost. */
  readonly replicas?: number;
  readonly exactness?: SharedReport['exactness'];
  readonly on_store_loss?: SharedReport['onStoreLoss'];
  /** The same in words. */
  readonly says: string;
  readonly exhausted: boolean;
  /** Present when it refuses a request: until it admits one. */
  readonly retry_after_seconds?: number;
  readonly requests_used?: number;
  readonly requests_remaining?: number;
  readonly tokens_used?: number;
  /** Set aside by open requests; absent: it has no token cap. */
  readonly tokens_reserved?: number;
  readonly tokens_remaining?: number;
  readonly in_flight?: number;
  /** Of a rule that the fleet counts: requests, or slots, that this proxy and others hold in advance. They are not used. */
  readonly held?: number;
  readonly held_by_others?: number;
  /** The same of tokens. */
  readonly tokens_held?: number;
  readonly tokens_held_by_others?: number;
  readonly resets_in_seconds?: number;
  readonly overrides_config?: boolean;
  readonly reason?: string;
  readonly expires_at?: string;
}

/** A budget that is used up and covers the request. The amounts are absent for an operator whose user path it is not in. */
export interface SpentBudget {
  readonly id: string;
  readonly scope: 'user_path' | 'label';
  readonly subject: string;
  /** Whose spend it is: of a template, the child. */
  readonly effective_subject: string;
  readonly per_child: boolean;
  readonly mode: BudgetMode;
  readonly period_label: string;
  readonly period_seconds: number;
  readonly period_end: string;
  readonly retry_after_seconds: number;
  /** US dollars. */
  readonly amount?: number;
  readonly spent?: number;
}

/** A guardrail that looks at the request, at its answer, or at both. The source is absent for an operator whose user paths it is not in. */
export interface GuardrailStep extends Source {
  readonly name: string;
  readonly kind: string;
  readonly on: readonly ('input' | 'output')[];
  readonly mode: 'enforce' | 'shadow';
  readonly order: number;
}

export type TargetReason =
  | Obstacle
  | 'context_window_too_small'
  | 'drained'
  | 'no_credential'
  | 'saturated'
  | 'store_lost'
  | 'attempts_used_up'
  | 'client_credential_missing'
  | 'condition_false'
  | 'not_granted'
  | 'provider_left_out'
  | 'unknown_model'
  | 'unsupported_operation';

/** A condition of a target. `holds` absent: that depends on what the question does not say. */
export interface ConditionStep {
  readonly when: string;
  readonly holds?: boolean;
}

/** The outcome that one target would have. */
export interface TargetStep {
  /** `<provider>/<model>`; as it is written for one that leads nowhere. */
  readonly target: string;
  /** How it is asked at the endpoint. `bytes`: it gets the client's own, but for the model's name. */
  readonly relay?: 'bytes' | 'translated';
  readonly translated_to?: string;
  /** It is not known whether its server has the endpoint. */
  readonly is_assumed?: true;
  /** The share of requests that ask it first, relative to the others. */
  readonly weight?: number;
  /** Of an alias with tiers: from 1, lower ones are asked first. */
  readonly tier?: number;
  readonly would: 'ask' | 'last_resort' | 'skip';
  /** Absent when nothing stands in its way. */
  readonly reason?: TargetReason;
  /** The end of a sentence about it. */
  readonly says: string;
  /** Since when the reason is known; absent where that is not remembered. */
  readonly since?: string;
  /** When the reason ends, if nothing happens until then. */
  readonly until?: string;
  /** Those on its way; for operators of the whole gateway. */
  readonly conditions?: readonly ConditionStep[];
  /** Requests that this proxy has sent it and that are not over; absent: none. */
  readonly open_requests?: number;
  /** The mean time to its first byte. Milliseconds. */
  readonly first_byte_ms?: number;
  /** Of an alias with `hedge`: when another target is asked beside it. Milliseconds; absent while too little is known of it. */
  readonly hedge_after_ms?: number;
  /** The remaining quota that its provider reported, by dimension. */
  readonly learned_remaining?: Readonly<Record<string, number>>;
  readonly rules: readonly MatchingRule[];
}

/** The model that gets a copy of the request once it is answered. */
export interface MirrorStep {
  /** `<provider>/<model>`. */
  readonly target: string;
  /** Of the requests, 0 to 1. */
  readonly share: number;
  readonly would: 'copy' | 'skip';
  /** The end of a sentence about it. */
  readonly says: string;
}

export type NearMissReason = ExplanationAnswer['near_misses'][number]['reason'];

/** Something that does not hold for the request, and was perhaps meant to. */
export interface NearMiss extends Source {
  readonly kind: 'rule' | 'alias' | 'model';
  /** The title of a rule; a name. */
  readonly name: string;
  readonly reason: NearMissReason;
  readonly says: string;
}

export interface ForeseenRefusal {
  readonly status: number;
  readonly code: string;
  readonly message: string;
  readonly retry_after_seconds?: number;
  /** The rule or budget that decides: its name, else its id. */
  readonly rule?: string;
}

export interface Explanation {
  readonly request: AskedRequest;
  readonly outcome: string;
  readonly refusal?: ForeseenRefusal;
  readonly resolution: Resolution;
  /** Of a request at a named endpoint. */
  readonly counted?: Counted;
  /** Those that are used up, as far as this proxy was told. */
  readonly budgets: readonly SpentBudget[];
  readonly rate_limits_enabled: boolean;
  /** Of the user path. */
  readonly rules: readonly MatchingRule[];
  /** In the order in which they look. */
  readonly guardrails: readonly GuardrailStep[];
  /** In the order in which they would be asked now. */
  readonly targets: readonly TargetStep[];
  /** Absent: its name has no mirror. */
  readonly mirror?: MirrorStep;
  readonly near_misses: readonly NearMiss[];
  readonly config_revision: string;
  readonly server_time: string;
}
