// The body of a proxy's heartbeat, twice a second: what it enforces, what it rejected, and its live counters.

import {
  areVerdictCounts,
  type CacheFacts,
  isCacheFacts,
  isCountsOfRevision,
  type RevisionCountsRow,
  type VerdictCount,
} from './heartbeat-counts.ts';

/** The JSON of a heartbeat; written by the proxy it is about, read by the control plane. */
export interface HeartbeatBody {
  readonly started_at_ms: number;
  /** Another process writes heartbeats in the same name. Absent: it does not know of any. */
  readonly instance_shared?: boolean;
  readonly config_revision: string;
  /** `last-good` when the directory was not usable at the start; `pinned` when an operator has pinned it; `rollout` while another one is rolled out. */
  readonly config_source: string;
  /** The present problems of the config directory, one line each; empty when there are none. */
  readonly config_problems: readonly string[];
  /** What the directory holds instead of the configuration in force; absent when it was not rejected. */
  readonly config_rejected?: RejectedConfig;
  /** What the directory holds and what waits until it may be put in force; absent when there is nothing. */
  readonly waiting_revision?: string;
  /** How its requests have ended since it has `config_revision` in force; absent in the heartbeat of an older proxy. */
  readonly revision_counts?: RevisionCountsRow;
  /** What is given in place of the directory, such as a pinned revision; absent when nothing is. */
  readonly config_given?: GivenReport;
  /** What its /health/ready says; absent in the heartbeat of an older proxy. */
  readonly ready?: readonly [status: string, reasons: readonly string[]];
  /** Why the state store does not take its heartbeats; absent while it does. */
  readonly store_trouble?: string;
  readonly store_id: string | null;
  readonly state_revision: number;
  /** See `StorePosition`; absent when it has none. */
  readonly state_mark?: string;
  /** `store`, `copy` or `nothing`. */
  readonly state_source: string;
  readonly limiter: 'enforcing' | 'off';
  /** Where its caps hold; absent in the heartbeat of an older proxy. */
  readonly limit_scope?: LimitScope;
  /** With the scope `fleet`: how the state store answers for its caps. */
  readonly limit_store?: LimitStoreState;
  /** See `environmentFingerprint`. */
  readonly environment: string;
  /** Names the master key that it works with, see `sealMark`; absent without one, and in the heartbeat of an older proxy. */
  readonly master_key_mark?: string;
  /** Files of secrets that it cannot use now, one line each; absent when there are none. */
  readonly secret_problems?: readonly string[];
  /** When the certificate of its listener ends, in Unix milliseconds; absent without TLS. */
  readonly certificate_not_after_ms?: number;
  /** Providers that it has left out, because they have no key; absent when there are none. */
  readonly left_out_providers?: readonly string[];
  /** Guardrails that cannot work, by name; absent when there are none. */
  readonly unusable_guardrails?: readonly string[];
  /** Rules that are no templates: rule key, epoch, requests used, tokens used, requests in flight, tokens set aside by open requests. */
  readonly counters: readonly LiveCounter[];
  /** Of each of `counters`, in their order; absent in the heartbeat of an older proxy. */
  readonly windows?: readonly (LiveWindow | null)[];
  /** How often each rule has refused since the proxy has started; absent in the heartbeat of an older proxy. */
  readonly refused?: readonly RefusedCount[];
  /** Targets that other ones are preferred to at this moment, up to `mostUnusableTargets`; absent in the heartbeat of an older proxy. */
  readonly unusable_targets?: readonly UnusableTarget[];
  /** How many there are. */
  readonly unusable_target_count?: number;
  /** Keys that their providers serve nothing for, up to `mostRefusedKeys`; absent when there are none. */
  readonly refused_keys?: readonly RefusedKey[];
  /** Targets that were asked, up to `mostAskedTargets`; absent in the heartbeat of an older proxy. */
  readonly asked_targets?: readonly AskedTarget[];
  /** How many there are. */
  readonly asked_target_count?: number;
  /** Of its response cache, since it has started; absent in the heartbeat of an older proxy. */
  readonly cache?: CacheFacts;
  /** Of its guardrails, since it has started, up to `mostVerdictCounts`; absent in the heartbeat of an older proxy. */
  readonly verdicts?: readonly VerdictCount[];
  /** Providers that are asked for their models, up to `mostDiscovered`; absent in the heartbeat of an older proxy. */
  readonly discovered_models?: readonly DiscoveredModels[];
  /** Providers that are probed, up to `mostProbes`; absent when there are none. */
  readonly probes?: readonly ReportedProbe[];
  /** Providers with a cloud identity, up to `mostIdentities`; absent when there are none. */
  readonly cloud_identities?: readonly ReportedIdentity[];
}

export type LimitScope = 'fleet' | 'replica';

/** `lost`: it does not answer, and on_store_loss says what holds. `recovering`: it waits until all proxies have told what they hold. */
export type LimitStoreState = 'up' | 'lost' | 'recovering';

/**
 * The identity of a provider at a cloud: whose it is, when its credential ends and was renewed, why the last renewal failed, and how many
 * sessions with tags of callers there are. Null: unknown, no end, or no failure.
 */
export type ReportedIdentity = readonly [
  provider: string,
  source: string,
  principal: string | null,
  endsAtMs: number | null,
  renewedAtMs: number | null,
  problem: string | null,
  isValid: boolean,
  sessions: number,
];

/** The last probe of a provider. `model` null: it is asked for its models. `outcome`: see the schema of /admin/status; null: none is known. */
export type ReportedProbe = readonly [
  provider: string,
  model: string | null,
  outcome: string | null,
  atMs: number | null,
];

/** `atMs`: when the provider last said its models, in Unix milliseconds; null for never. */
export type DiscoveredModels = readonly [provider: string, count: number, atMs: number | null];

/**
 * `reason`: see the schema of /admin/status. `untilMs`: when it is asked again, `sinceMs`: since when the reason is known, where that is
 * remembered. Unix milliseconds.
 */
export type UnusableTarget = readonly [
  provider: string,
  model: string,
  reason: string,
  untilMs: number,
  sinceMs?: number,
];

/** A key, by its place in the configuration, that its provider serves nothing for. `sinceMs`: Unix milliseconds. */
export type RefusedKey = readonly [provider: string, position: number, keys: number, reason: string, sinceMs: number];

/** Content of the configuration directory that was not put in force. `sinceMs`: Unix milliseconds. */
export type RejectedConfig = readonly [revision: string, sinceMs: number];

/** `problems`: why it is not in force here, one line each, up to `mostProblems`; none: it is. */
export type GivenReport = readonly [source: string, revision: string, problems: readonly string[]];

/**
 * How a target is doing. `calls`, `failures`: of the last `callWindowSeconds`. `firstByteMs`, `p95Ms`: times to the first byte in whole
 * milliseconds, null while they are not known.
 */
export type AskedTarget = readonly [
  provider: string,
  model: string,
  breaker: string,
  calls: number,
  failures: number,
  firstByteMs: number | null,
  p95Ms: number | null,
  limits: readonly LearnedLimit[],
];

/** A rate limit that a provider reported; `limit` null: it reported none. */
export type LearnedLimit = readonly [dimension: string, remaining: number, limit: number | null];

export type LiveCounter = readonly [
  key: string,
  epoch: number,
  requestsUsed: number,
  tokensUsed: number,
  inFlight: number,
  /** Absent in the heartbeat of an older proxy. */
  tokensReserved?: number,
];

export type RefusedCount = readonly [key: string, count: number];

/** When the present use of a window began and when all of it will have left, in Unix milliseconds; null for concurrency. */
export type LiveWindow = readonly [startMs: number, endMs: number];

/** How often a proxy writes, and how long it counts as live without. Milliseconds. */
export const heartbeatIntervalMs = 500;
export const heartbeatLifeMs = 3_000;

/** The calendar ends there. Unix milliseconds. */
const latestMomentMs = 8.64e15;

/** Problems beyond these are left out of a heartbeat. */
export const mostProblems = 20;
/** Names of providers beyond these are left out of a heartbeat. */
export const mostLeftOut = 500;

/** The most targets that are not usable. */
export const mostUnusableTargets = 100;
/** The most keys. */
export const mostRefusedKeys = 100;
/** The most targets that were asked. */
export const mostAskedTargets = 200;
/** How long calls of targets are counted for. */
export const callWindowSeconds = 60;
/** The most cloud identities. */
export const mostIdentities = 100;
/** The most providers that are probed. */
export const mostProbes = 100;
/** The most providers that are asked for their models. */
export const mostDiscovered = 100;

const readBefore = new WeakMap<object, HeartbeatBody | undefined>();

/**
 * A body as it was read from the store; undefined when it is not one. Members it does not know are ignored. A body is never changed, so it is
 * read once: it has the figures of all rules, and many ask for it.
 */
export function readHeartbeatBody(body: unknown): HeartbeatBody | undefined {
  if (typeof body !== 'object' || body === null) return undefined;
  if (!readBefore.has(body)) readBefore.set(body, parse(body));
  return readBefore.get(body);
}

function parse(body: object): HeartbeatBody | undefined {
  const said = body as Partial<Record<keyof HeartbeatBody, unknown>>;
  const {
    counters,
    windows,
    refused,
    config_problems: problems,
    unusable_targets: unusable,
    asked_targets: asked,
    discovered_models: found,
  } = said;
  const isWhole =
    isNumber(said.started_at_ms) &&
    Math.abs(said.started_at_ms) <= latestMomentMs &&
    isText(said.config_revision) &&
    isText(said.config_source) &&
    isTexts(problems) &&
    (said.store_id === null || isText(said.store_id)) &&
    isNumber(said.state_revision) &&
    (said.state_mark === undefined || isText(said.state_mark)) &&
    isText(said.state_source) &&
    (said.limiter === 'enforcing' || said.limiter === 'off') &&
    (said.limit_scope === undefined || limitScopes.has(said.limit_scope)) &&
    (said.limit_store === undefined || limitStoreStates.has(said.limit_store)) &&
    isText(said.environment) &&
    (said.config_rejected === undefined || isRejected(said.config_rejected)) &&
    (said.waiting_revision === undefined || isText(said.waiting_revision)) &&
    (said.revision_counts === undefined || isCountsOfRevision(said.revision_counts)) &&
    (said.config_given === undefined || isGiven(said.config_given)) &&
    (said.ready === undefined || isReadiness(said.ready)) &&
    (said.store_trouble === undefined || isText(said.store_trouble)) &&
    (said.refused_keys === undefined || (Array.isArray(said.refused_keys) && said.refused_keys.every(isRefusedKey))) &&
    (said.master_key_mark === undefined || isText(said.master_key_mark)) &&
    (said.secret_problems === undefined || isTexts(said.secret_problems)) &&
    (said.certificate_not_after_ms === undefined || isMoment(said.certificate_not_after_ms)) &&
    (said.left_out_providers === undefined || isTexts(said.left_out_providers)) &&
    (said.unusable_guardrails === undefined || isTexts(said.unusable_guardrails)) &&
    (said.instance_shared === undefined || typeof said.instance_shared === 'boolean') &&
    Array.isArray(counters) &&
    counters.every(isCounter) &&
    (windows === undefined || (Array.isArray(windows) && windows.every(isWindow))) &&
    (refused === undefined || (Array.isArray(refused) && refused.every(isRefused))) &&
    (unusable === undefined || (Array.isArray(unusable) && unusable.every(isUnusable))) &&
    (said.unusable_target_count === undefined || isNumber(said.unusable_target_count)) &&
    (asked === undefined || (Array.isArray(asked) && asked.every(isAsked))) &&
    (said.asked_target_count === undefined || isNumber(said.asked_target_count)) &&
    (said.cache === undefined || isCacheFacts(said.cache)) &&
    (said.verdicts === undefined || areVerdictCounts(said.verdicts)) &&
    (said.cloud_identities === undefined ||
      (Array.isArray(said.cloud_identities) && said.cloud_identities.every(isReportedIdentity))) &&
    (said.probes === undefined || (Array.isArray(said.probes) && said.probes.every(isReportedProbe))) &&
    (found === undefined || (Array.isArray(found) && found.every(isDiscovered)));
  return isWhole ? (body as HeartbeatBody) : undefined;
}

function isCounter(value: unknown): value is LiveCounter {
  return Array.isArray(value) && value.length >= 5 && isText(value[0]) && value.slice(1, 6).every(isNumber);
}

function isRefused(value: unknown): value is RefusedCount {
  return Array.isArray(value) && value.length === 2 && isText(value[0]) && isNumber(value[1]);
}

function isUnusable(value: unknown): value is UnusableTarget {
  if (!Array.isArray(value) || !value.slice(0, 3).every(isText) || !isMoment(value[3])) return false;
  return value[4] === undefined || isMoment(value[4]);
}

function isRefusedKey(value: unknown): value is RefusedKey {
  if (!Array.isArray(value)) return false;
  const [provider, position, keys, reason, sinceMs] = value as unknown[];
  return isText(provider) && isCount(position) && isCount(keys) && isText(reason) && isMoment(sinceMs);
}

function isRejected(value: unknown): value is RejectedConfig {
  return Array.isArray(value) && isText(value[0]) && isMoment(value[1]);
}

function isGiven(value: unknown): value is GivenReport {
  return Array.isArray(value) && isText(value[0]) && isText(value[1]) && isTexts(value[2]);
}

function isReadiness(value: unknown): value is NonNullable<HeartbeatBody['ready']> {
  return Array.isArray(value) && isText(value[0]) && isTexts(value[1]);
}

const limitScopes: ReadonlySet<unknown> = new Set<LimitScope>(['fleet', 'replica']);
const limitStoreStates: ReadonlySet<unknown> = new Set<LimitStoreState>(['up', 'lost', 'recovering']);
const breakerStates: ReadonlySet<unknown> = new Set(['closed', 'half_open', 'open']);
const probeOutcomes: ReadonlySet<unknown> = new Set(['up', 'down', 'unclear']);
const limitDimensions: ReadonlySet<unknown> = new Set(['requests', 'tokens', 'input_tokens', 'output_tokens']);

function isAsked(value: unknown): value is AskedTarget {
  if (!Array.isArray(value)) return false;
  const [provider, model, breaker, calls, failures, mean, p95, limits] = value as unknown[];
  return (
    isText(provider) &&
    isText(model) &&
    breakerStates.has(breaker) &&
    isCount(calls) &&
    isCount(failures) &&
    (mean === null || isCount(mean)) &&
    (p95 === null || isCount(p95)) &&
    Array.isArray(limits) &&
    limits.every(isLearned)
  );
}

function isLearned(value: unknown): value is LearnedLimit {
  if (!Array.isArray(value)) return false;
  const [dimension, remaining, limit] = value as unknown[];
  return limitDimensions.has(dimension) && isCount(remaining) && (limit === null || isCount(limit));
}

function isCount(value: unknown): value is number {
  return isNumber(value) && value >= 0;
}

function isDiscovered(value: unknown): value is DiscoveredModels {
  if (!Array.isArray(value)) return false;
  const [provider, count, atMs] = value as unknown[];
  return isText(provider) && isNumber(count) && count >= 0 && (atMs === null || isMoment(atMs));
}

function isReportedProbe(value: unknown): value is ReportedProbe {
  if (!Array.isArray(value)) return false;
  const [provider, model, outcome, atMs] = value as unknown[];
  const isKnown = probeOutcomes.has(outcome) && isMoment(atMs);
  return isText(provider) && (model === null || isText(model)) && (isKnown || (outcome === null && atMs === null));
}

function isReportedIdentity(value: unknown): value is ReportedIdentity {
  if (!Array.isArray(value)) return false;
  const [provider, source, principal, endsAtMs, renewedAtMs, problem, isValid, sessions] = value as unknown[];
  return (
    isText(provider) &&
    isText(source) &&
    [principal, problem].every((text) => text === null || isText(text)) &&
    [endsAtMs, renewedAtMs].every((moment) => moment === null || isMoment(moment)) &&
    typeof isValid === 'boolean' &&
    isNumber(sessions)
  );
}

function isMoment(value: unknown): value is number {
  return isNumber(value) && Math.abs(value) <= latestMomentMs;
}

function isWindow(value: unknown): value is LiveWindow | null {
  return value === null || (Array.isArray(value) && value.length === 2 && value.every(isMoment));
}

function isText(value: unknown): value is string {
  return typeof value === 'string';
}

function isTexts(value: unknown): value is string[] {
  return Array.isArray(value) && value.every(isText);
}

function isNumber(value: unknown): value is number {
  return Number.isSafeInteger(value);
}
