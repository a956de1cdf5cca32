// A model request that is over, as the access log and records see it, whatever kind of trip it was.
import type { Head } from '../call/head.ts';
import type { Rescued } from '../dialects/conversation/conversation.ts';
import type { Refusal } from '../errors.ts';
import type { Exchange, LoggedCaller } from '../http/exchange.ts';
import type { TokenUsage } from '../tokens/token-usage.ts';

export interface LoggedTarget {
  readonly upstream: { readonly name: string; readonly secrets?: readonly string[] };
  /** Empty: the request names none. */
  readonly model: string;
}

/** A target that was asked. Moments in milliseconds of the gateway's clock. */
export interface LoggedAttempt {
  readonly target: LoggedTarget;
  readonly startedAtMs: number;
  readonly endedAtMs: number;
  readonly refused: Refusal | undefined;
  /** Status 0: nothing of it came. */
  readonly answer: { readonly status: number; readonly stream?: boolean } | undefined;
  /** Whether the request reached the provider; absent: it did. */
  readonly isSent?: boolean;
  /** The id of its span, 16 hex digits; absent: it has none. */
  readonly spanId?: string | undefined;
  /** The usage that it was charged for although it failed. */
  readonly usage?: TokenUsage | undefined;
  /** Names the members that the provider could not be told; absent: it was told everything. */
  readonly reading?: { readonly translated: { readonly dropped: readonly string[] } } | undefined;
}

/** The part of `Trip` (stages/settle.ts) that the line of a model request is made of. */
export interface LoggedTrip {
  readonly path: string;
  /** Where it is more than the endpoint; absent: the endpoint, and POST. */
  readonly asked?: { readonly method: string; readonly path: string };
  readonly exchange: Pick<Exchange, 'id' | 'startedAtMs' | 'clientAddress' | 'caller'> & {
    readonly head?: Pick<Head, 'authorization' | 'apiKey' | 'gatewayKey'>;
  };
  readonly snapshot: { readonly revision: string };
  readonly principal: Extract<LoggedCaller, { readonly kind: string }> | undefined;
  readonly call: { readonly model: string; readonly stream: boolean } | undefined;
  readonly route: { readonly targets: readonly LoggedTarget[] } | undefined;
  /** Members that guardrails left out of the request; absent: none. */
  readonly guarding?: { readonly leftOut?: readonly string[] } | undefined;
  /** The outcome of the cache; absent: the cache was off for the request. */
  readonly caching?: { readonly outcome: 'hit' | 'miss' | 'bypass' } | undefined;
  readonly failed: readonly LoggedAttempt[];
  readonly accepted: LoggedAttempt | undefined;
  /** How another target told the rest of an answer that broke off; absent: one target told all of it. */
  readonly rescued?: Rescued | undefined;
  readonly ending: { readonly refused: Refusal | undefined };
}
