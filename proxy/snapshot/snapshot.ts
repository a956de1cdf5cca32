// The compiled form of the config with the keys: frozen, replaced as a whole. A request uses one snapshot from its head to settle.

import type { CacheResets } from '../../domain/cache/cache-reset.ts';
import type { Condition } from '../../domain/conditions/condition.ts';
import type { LocalTime } from '../../domain/conditions/local-time.ts';
import type { Credentials } from '../../domain/keys/credentials.ts';
import type { PeopleInForce } from '../../domain/keys/identify-session.ts';
import type { ModelFacts } from '../../domain/models/model-facts.ts';
import type { Price } from '../../domain/prices/price.ts';
import type { TrustedProxies } from '../../plane/access/client-address.ts';
import type { SecureSettings } from '../../plane/tls/secure-settings.ts';
import type { Config } from '../../schemas/types.ts';
import type { BudgetCover } from '../budgets/budget-cover.ts';
import type { Rescued } from '../dialects/conversation/conversation.ts';
import type { Operation } from '../dialects/dialect.ts';
import type { ModelListing } from '../discovery/ask-models.ts';
import type { DiscoveryPlan } from '../discovery/discovery.ts';
import type { Guardrail } from '../guardrails/guardrail.ts';
import type { ConnectionSettings } from '../http/connections.ts';
import type { CrossOrigin } from '../http/cross-origin.ts';
import type { ToldLimits } from '../limits/headers.ts';
import type { Slices } from '../pacing/slices.ts';
import type { MediaPlace } from '../providers/media.ts';
import type { Base, StorePlaces } from '../providers/paths.ts';
import type { KeyStyle, MediaOperation } from '../providers/row.ts';
import type { Speeches } from '../providers/target-speeches.ts';
import type { UnsupportedPolicy } from '../translation/losses.ts';
import type { ApiKeys } from '../upstream/api-keys.ts';
import type { Patience } from '../upstream/patience.ts';
import type { Origin } from '../upstream/pools.ts';
import type { HedgePlan } from './hedge.ts';
import type { RetryPolicy } from './retry-policy.ts';

/** Which requests have a line. `failures`: those with a status from 400 on, clients that left (499), and answers that broke off. */
export type AccessLogScope = Config['server']['access_log'];

/** The settings of responses that clients ask to store. */
export interface KeepingOfResponses {
  /** Whether the gateway keeps responses. It remembers in any case which provider keeps one. */
  readonly isEnabled: boolean;
  readonly ttlMs: number;
}

/** A named provider instance, ready to be called. */
export interface Upstream extends Origin {
  readonly name: string;
  /** Its provider type. */
  readonly type: string;
  /** How it is asked for what the gateway does not understand. */
  readonly opaque: OpaqueSpeech;
  /** Where it keeps files and batches, as far as it does. */
  readonly stores: StorePlaces;
  /** Where and how its models are listed; undefined: nowhere. */
  readonly modelList: ModelListing | undefined;
  /** How a model of it is asked. */
  readonly speechesOf: (model: string) => Speeches;
  /** Where a model of it is asked for what is passed on as it is; undefined: nowhere. */
  readonly mediaOf: (operation: MediaOperation, model: string) => MediaPlace | undefined;
  /** The policy for members that it cannot receive. */
  readonly unsupported: UnsupportedPolicy;
  /** Configured headers of every request, names and values in turn. */
  readonly headers: readonly string[];
  /** Headers of the client that are passed on, in lower case; undefined: none. */
  readonly forwarded: readonly string[] | undefined;
  /** Its API keys, each with the headers of every request. */
  readonly credentials: ApiKeys;
  /** The secrets that no client may see: the keys and the values of configured headers. */
  readonly secrets: readonly string[];
  /** Whether it is asked with the credential of each client alone. `given`: this one is a copy for one request, and has that of its client. */
  readonly clientAuth: 'none' | 'needed' | 'given';
  /** Callers restricted to some models may send members that make this provider go elsewhere. */
  readonly allowsRoutingMembers: boolean;
  /** Whether the limits that its answers report steer balancing. */
  readonly learnsLimits: boolean;
  /** Failures make others be asked first. */
  readonly hasBreaker: boolean;
  /** How it is probed; undefined: it is not. */
  readonly probe: ProbePlan | undefined;
  /** How its models are found out; undefined: they are configured. */
  readonly discovery: DiscoveryPlan | undefined;
  readonly patience: Patience;
}

/** A question that the gateway asks a provider by itself. */
export interface ProbePlan {
  readonly intervalMs: number;
  readonly timeoutMs: number;
  /** Asked for one token; undefined: the provider is asked for its models. */
  readonly model: string | undefined;
}

/** How a provider is asked where its words are passed on as they are. */
export interface OpaqueSpeech extends Base {
  readonly keyStyle: KeyStyle;
  /** Headers of every request that the client may say otherwise, names and values in turn. */
  readonly headers: readonly string[];
}

/** One place a request may go; one object for all routes that lead there. */
export interface Target {
  readonly upstream: Upstream;
  /** The model's id at the provider. */
  readonly model: string;
  readonly modelJson: Buffer;
  readonly speeches: Speeches;
  /** The price of its use there; undefined: unknown. */
  readonly price?: Price | undefined;
  /** What is known of the model there; absent: nothing. */
  readonly facts?: ModelFacts | undefined;
  /** The target of the configuration that this one is for one request of a client, with its credential; absent: it is that itself. */
  readonly original?: Target | undefined;
}

/** `failover`: always the first target; `round_robin`: by the weights; the others by speed, price, conversation, open requests, room left. */
export const strategies = [
  'round_robin',
  'failover',
  'least_latency',
  'cost',
  'session_affinity',
  'least_busy',
  'quota',
] as const;
export type Strategy = (typeof strategies)[number];

/** The model that gets copies of requests to an alias. */
export interface MirrorPlace {
  /** Of the requests, 0 to 1. */
  readonly share: number;
  /** Leads to that one model, which is asked once. */
  readonly route: Route;
}

/** The conditions of the targets of a route. */
export interface ConditionalTargets {
  /** Each once. */
  readonly conditions: readonly Condition[];
  /** The conditions on the way to each target. */
  readonly ofTargets: readonly (readonly Condition[])[];
  /** The route as if the targets with these conditions (the places in `conditions`) were not written; undefined: nothing is left. */
  readonly without: (refused: readonly number[]) => Route | undefined;
}

/** Where a model name leads: one target, or those of an alias or a bare id in declared order, none twice. */
export interface Route {
  /** Equal for equal routes, across reloads: the state of balancing belongs to it. */
  readonly name: string;
  readonly targets: readonly Target[];
  /**
   * The share of the traffic of each target, relative to the others. 0: the target is never the choice of the strategy; it is only asked
   * behind those with a share, in declared order. The first target of an alias has a share; in a part of a route none may have.
   */
  readonly weights: readonly number[];
  /** The tier of each target, from 0, ascending: the strategy orders within a tier. Undefined: all are of one tier. */
  readonly tiers: readonly number[] | undefined;
  /** Which of those with a share is asked first (proxy/balance); failover: the first one. */
  readonly strategy: Strategy;
  readonly policy: RetryPolicy;
  /** A second target is asked when the first one is slow; undefined: none is. */
  readonly hedge: HedgePlan | undefined;
  /** Another target tells the rest of a stream that breaks in the middle; undefined: none does. */
  readonly rescue: Rescued | undefined;
  /** Absent: nothing is copied. */
  readonly mirror?: MirrorPlace | undefined;
  /** Who may use it: these paths and everything below them; undefined: all user paths. */
  readonly userPaths: readonly string[] | undefined;
  /** The request for which it is false gets what is behind; undefined: there is none. */
  readonly when: Condition | undefined;
  /** Where the name leads for other user paths, and while `when` is false; undefined: nowhere. */
  readonly behind: Route | undefined;
  /** Undefined: none of its targets has a condition. */
  readonly conditional: ConditionalTargets | undefined;
  /** The source of the family that the name belongs to, such as `eu/*`; a key that may use it may use the name. */
  readonly family: string | undefined;
  /** The alias or family that declares it, else its name: what its names, and the parts of it that keys may use, have together. */
  readonly source: string;
  /** An alias or a family declares it: no provider has a model of this name. */
  readonly isAlias: boolean;
  /** GET /v1/models shows the name. */
  readonly isListed: boolean;
}

/** One entry of GET /v1/models. */
export interface ModelEntry {
  readonly id: string;
  readonly object: 'model';
  readonly created: number;
  readonly owned_by: string;
}

/** Where all names lead that a request may use: qualified names, bare ids, names of families, aliases. A name always has the same route. */
export interface Routes {
  /** By provider and by model: the one target of that model. */
  readonly targets: ReadonlyMap<string, ReadonlyMap<string, Target>>;
  /** The route of a name in this letter case. */
  get(name: string): Route | undefined;
  /** The route of a name in any letter case: the first one of several. */
  inAnyCase(name: string): Route | undefined;
  /** Every name, each once. */
  keys(): Iterable<string>;
  /** The list of GET /v1/models for callers without restrictions, sorted by id. Always the same list. */
  entries(): Slices<readonly ModelEntry[]>;
}

/** Client-side patience of the server, in milliseconds. */
export interface ServerTimeouts {
  readonly headersMs: number;
  readonly bodyMs: number;
  /** How long a client may take nothing of its answer. */
  readonly writeIdleMs: number;
  /** How long a connection may stay idle between requests. */
  readonly keepAliveMs: number;
}

/** The settings of sessions over WebSocket that begin now. */
export interface SessionSettings {
  /** Of one message. Bytes. */
  readonly frameLimitBytes: number;
  /** Milliseconds. */
  readonly pingIntervalMs: number;
  /** Milliseconds. */
  readonly longestMs: number;
  /** From the first byte of a message to its last. Milliseconds. */
  readonly messageMs: number;
  /** Of one key, and of one user path, at a time. */
  readonly mostSessions: number;
}

/** The settings of records. */
export interface AuditSettings {
  readonly isEnabled: boolean;
  readonly hasBodies: boolean;
  /** Bodies are recorded as clients send and get them, not as guardrails leave them. */
  readonly hasOriginals: boolean;
  /** Of one body that is recorded. */
  readonly bodyLimitBytes: number;
  readonly hasHeaders: boolean;
  /** Which share of the requests that went well is recorded, 0 to 1. */
  readonly sample: number;
  /** Nothing is recorded of these user paths and of all below them. */
  readonly without: readonly string[];
}

/** Which earlier requests mean the same as another. */
export interface SemanticSettings {
  /** Whose embeddings are compared. */
  readonly model: string;
  /** The cosine of two embeddings, at least. */
  readonly threshold: number;
  /** Of a conversation, without those of the system. */
  readonly mostTurns: number;
  /** Only requests with the same system prompt are compared. */
  readonly withSystem: boolean;
  readonly engine: 'embedded' | 'postgres' | 'redis';
  readonly timeoutMs: number;
  readonly mostEntries: number;
}

/** Which answers are kept, and who gets them. */
export interface CacheSettings {
  readonly isEnabled: boolean;
  readonly ttlMs: number;
  /** Of all answers. */
  readonly mostBytes: number;
  readonly mostEntryBytes: number;
  readonly scope: 'gateway' | 'user_path' | 'key';
  /** Whose answers are kept. */
  readonly operations: ReadonlySet<Operation>;
  readonly onlyDeterministic: boolean;
  /** Equal requests wait for one call. */
  readonly sharesCalls: boolean;
  /** How long the client of a call may delay those that wait for it, in milliseconds. */
  readonly sharePatienceMs: number;
  /** Undefined: as the process has it. */
  readonly engine: 'memory' | 'redis' | undefined;
  /** Undefined: only equal requests get an answer that was kept. */
  readonly semantic: SemanticSettings | undefined;
  /** Nothing is kept of these user paths and of all below them. */
  readonly without: readonly string[];
  /** The resets by operators. */
  readonly resets: CacheResets;
}

export interface Snapshot {
  /** First 12 hex digits of the hash over the config files. */
  readonly revision: string;
  readonly bodyLimitBytes: number;
  /** Of bodies that are passed on as they come. */
  readonly uploadLimitBytes: number;
  /** Whether /p/{provider}/{endpoint} is served. */
  readonly servesPassthrough: boolean;
  /** Whether callers reach stored objects of providers of which it is not known whose they are. */
  readonly allowsUnknownObjects: boolean;
  /** Of the bodies of all open requests together; undefined: as the process decides by its memory. */
  readonly bodyBudgetBytes: number | undefined;
  readonly shutdownGraceMs: number;
  readonly timeouts: ServerTimeouts;
  /** Streams end when the key that opened them no longer lets in. */
  readonly cutsRevokedStreams: boolean;
  readonly connections: ConnectionSettings;
  /** Undefined: the listener speaks plain HTTP. */
  readonly secure: SecureSettings | undefined;
  readonly accessLog: AccessLogScope;
  readonly storedResponses: KeepingOfResponses;
  readonly audit: AuditSettings;
  /** In their order. */
  readonly guardrails: readonly Guardrail[];
  readonly cache: CacheSettings;
  /** Budgets are enforced, if usage is tracked. */
  readonly hasBudgets: boolean;
  /** Whose requests budgets count, where they may ask no model without a price; absent: they may. */
  readonly budgeted?: BudgetCover | undefined;
  readonly realtime: SessionSettings;
  /** Proxies that tell the truth about the address of their client; undefined: none. */
  readonly trustedProxies: TrustedProxies | undefined;
  /** Whose pages may read answers; undefined: no others than our own. */
  readonly crossOrigin: CrossOrigin | undefined;
  /** Which headers speak of limits. */
  readonly toldLimits: ToldLimits;
  /** The time as conditions see it. */
  readonly localTime: LocalTime;
  /** Name of the header that holds a request's user path, in lower case. */
  readonly userPathHeader: string;
  /** Name of the header that may hold the key of the gateway, in lower case. */
  readonly gatewayKeyHeader: string;
  /** Whose tokens are keys of the gateway: their `iss`. */
  readonly ownIssuers: ReadonlySet<string>;
  /** Every name a request may use: qualified, bare, alias. */
  readonly routes: Routes;
  /** Where a moderation leads that names no model, if nothing has the name of the usual one; undefined: no provider of OpenAI's format does them. */
  readonly moderation: Route | undefined;
  /** Some aliases are for some user paths alone. */
  readonly hidesAliases: boolean;
  readonly upstreams: readonly Upstream[];
  /** The names of all configured providers, folded; those that are left out included. */
  readonly providers: ReadonlySet<string>;
  /** Who may be signed in to the dashboard. */
  readonly people: PeopleInForce;
  /** The keys in force; the same object as long as no key changes. */
  readonly credentials: Credentials;
}
