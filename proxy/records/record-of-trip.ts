// A model request that is over → its record. What does not apply is left out. Bodies and headers are added by what captured them.

import { authMethodOf } from '../../domain/records/auth-method.ts';
import type {
  AskedBy,
  AuditData,
  Counting,
  Draft,
  RecordDraft,
  RequestRecord,
} from '../../domain/records/request-record.ts';
import { withoutKeysOfQuery, withoutSecrets } from '../../schemas/formats/key-shapes.ts';
import type { CachedFacts } from '../../store/cache/answer-cache.ts';
import { recordId } from '../../store/records/record-id.ts';
import type { Call } from '../call/call.ts';
import type { BodyCapture } from '../capture/body-capture.ts';
import { failedAnswers } from '../capture/failed-answer.ts';
import { shownHeaders } from '../capture/shown-headers.ts';
import { type Refusal, refusal } from '../errors.ts';
import { type Exchange, type LoggedCaller, type ModelRequest, shownPathOf } from '../http/exchange.ts';
import type { AuditSettings } from '../snapshot/snapshot.ts';
import { relayedOutcome } from '../tallies/attempt-outcome.ts';
import type { TokenUsage } from '../tokens/token-usage.ts';
import { droppedOf } from '../translation/losses.ts';
import {
  type AcceptedAttempt,
  attemptRecords,
  cachedAttempt,
  durationNs,
  type PlacedAttempt,
  placedAttempts,
  type RecordedAttempt,
} from './attempts.ts';
import { guardedData, type RecordedGuarding } from './guarded-data.ts';
import { headerOf } from './header-of.ts';
import { knownSecrets } from './known-secrets.ts';
import type { LoggedTrip } from './logged-trip.ts';
import { numbersOf } from './numbers-of.ts';
import { sessionIdOf } from './session-id.ts';
import { shownNames } from './shown-names.ts';

/** Longest User-Agent, path and error message that is recorded. Characters. */
const longestText = 2048;

/** A caller who was let in. */
export interface RecordedCaller {
  readonly kind: string;
  readonly keyId: string | undefined;
  readonly userPath: string;
  readonly shownPath?: string | undefined;
  readonly keyHash?: string | undefined;
  readonly labels?: readonly string[] | undefined;
}

/** `hit`: the kept answer that it got. `semantic`: what was found among requests that mean the same; absent: the semantic cache was not asked. */
export interface RecordedCaching extends NonNullable<LoggedTrip['caching']> {
  readonly hit: { readonly facts: CachedFacts } | undefined;
  readonly semantic?: (NonNullable<AuditData['semantic_cache']> & { readonly place?: object | undefined }) | undefined;
}

/** The part of a trip that its record is made of. */
export interface RecordedTrip
  extends Omit<LoggedTrip, 'call' | 'route' | 'exchange' | 'principal' | 'snapshot' | 'ending' | 'caching'> {
  readonly exchange: Pick<ModelRequest, 'id' | 'startedAtMs' | 'clientAddress' | 'caller' | 'request'> &
    Partial<Pick<Exchange, 'head' | 'told'>>;
  /** No model does anything for it. */
  readonly isFree?: boolean;
  /** Whether it asks for an alias, where no route says so; undefined: that is not known. */
  readonly isAlias?: boolean | undefined;
  /** Its cost becomes known later, and has a record of its own. */
  readonly costsLater?: boolean;
  /** How it counts in sums of usage; absent: `countingOf` decides by its outcome. */
  readonly countsAs?: Counting;
  /** Who has asked, where it is no client. */
  readonly askedBy?: Extract<AskedBy, 'gateway'>;
  /** The session, where it is not that of the call itself; null: it belongs to none. */
  readonly sessionId?: string | null | undefined;
  readonly snapshot: LoggedTrip['snapshot'] & { readonly audit: AuditSettings; readonly hasBudgets: boolean };
  /** `headers`: of the answer, names and values in turn. */
  readonly ending: LoggedTrip['ending'] & { readonly headers?: readonly string[] };
  /** The source of its usage, which is read when the record is made. */
  readonly usage?: { readonly heldBytes?: number } | undefined;
  /** The bodies; absent: they are not recorded. */
  readonly capture?: BodyCapture | undefined;
  readonly principal: RecordedCaller | undefined;
  /** The body is known of calls that were read as a whole. */
  readonly call: (Pick<Call, 'model' | 'stream'> & Partial<Pick<Call, 'body' | 'members'>>) | undefined;
  readonly route: { readonly targets: readonly RecordedAttempt['target'][]; readonly isAlias: boolean } | undefined;
  readonly caching?: RecordedCaching | undefined;
  readonly failed: readonly RecordedAttempt[];
  /** Findings and changes of guardrails; absent: none holds for it. */
  readonly guarding?: RecordedGuarding | undefined;
  readonly accepted: (RecordedAttempt & Identified) | undefined;
}

/** The ids that the provider gave to the request and to its answer. */
interface Identified {
  readonly upstreamId?: string | undefined;
  readonly named?: { readonly answer?: { readonly id: string | undefined } | undefined };
}

/** How it ended. Milliseconds of the gateway's clock. */
export interface RecordedEnd {
  readonly status: number;
  readonly usage: TokenUsage | undefined;
  readonly nowMs: number;
}

/** Which parts of a record are made. */
export interface RecordedParts {
  /** An audit entry is made of it. */
  readonly hasAudit: boolean;
  readonly hasUsage: boolean;
  /** The proxy that served it. */
  readonly instance: string;
}

/** Of the caller, also of one whose key is refused. */
export function userPathOf({ principal, exchange }: Pick<RecordedTrip, 'principal' | 'exchange'>): string {
  return shownPathOf(principal ?? exchange.caller) ?? '/';
}

/** The attempts of a trip that is over. */
export function attemptsOf(trip: RecordedTrip, end: RecordedEnd): readonly PlacedAttempt[] {
  const { failed, accepted } = trip;
  return placedAttempts(failed, accepted && acceptedOf(trip, accepted, end));
}

/** The outcome of the attempt that was relayed. */
export function acceptedOf(
  trip: Pick<RecordedTrip, 'isFree' | 'costsLater' | 'ending'>,
  accepted: NonNullable<RecordedTrip['accepted']>,
  { usage, nowMs, status }: RecordedEnd,
): AcceptedAttempt {
  // A client may also leave when all of its answer was written.
  const refused = trip.ending.refused ?? (status === 499 ? refusal('client_left') : undefined);
  return {
    attempt: accepted,
    usage,
    isFree: trip.isFree === true || (usage === undefined && trip.costsLater === true),
    broken: relayedOutcome(refused) === 'success' ? undefined : refused,
    // Of what has no id of its own, such as embeddings, the id of the request.
    providerId: accepted.named?.answer?.id ?? accepted.upstreamId,
    endedAtMs: nowMs,
  };
}

/** The call, if its body was read as a whole. */
function readCallOf({ call }: RecordedTrip): Call | undefined {
  return call?.body === undefined || call.members === undefined ? undefined : (call as Call);
}

/** The User-Agent header, at most 2,048 characters, without keys and these secrets. */
function agentOf({ exchange }: RecordedTrip, secrets: readonly string[]): string | undefined {
  const agent = headerOf(exchange.request.rawHeaders, 'user-agent');
  if (agent === undefined) return undefined;
  return withoutKeysOfQuery(agent.slice(0, longestText), secrets);
}

/** The record of a model request that is over, with an id of its own. With an audit entry its last member is `data`. */
export function recordOfTrip(trip: RecordedTrip, end: RecordedEnd, parts: RecordedParts): RecordDraft {
  const { exchange, principal, call, failed, accepted, ending, asked } = trip;
  const { startedAtMs } = exchange;
  const { refused } = ending;
  const userPath = userPathOf(trip);
  const answerOf = parts.hasAudit ? failedAnswers(auditOf(trip)) : undefined;
  const secrets = knownSecrets(trip);
  const { hasUsage } = parts;
  const told = { requestedAtMs: startedAtMs, tracksUsage: hasUsage, secrets, answerOf };
  const hit = trip.caching?.hit;
  const attempts =
    hit === undefined
      ? attemptRecords(attemptsOf(trip, end), told)
      : [cachedAttempt(hit.facts, startedAtMs, end.nowMs, hasUsage)];
  const target = accepted?.target ?? failed.at(-1)?.target ?? trip.route?.targets[0];
  const readable = readCallOf(trip);
  const caller = principal ?? exchange.caller;
  const { name, type, model } = hit === undefined ? placeOf(target) : { ...hit.facts, name: hit.facts.provider };
  return {
    id: recordId(startedAtMs),
    request_id: exchange.id,
    session_id:
      trip.sessionId === null
        ? undefined
        : (trip.sessionId ?? sessionIdOf(exchange.request.rawHeaders, readable, userPath, secrets)),
    started_ms: Math.floor(startedAtMs),
    duration_ns: durationNs(startedAtMs, end.nowMs),
    // Of an answer that a client did not wait for, nothing may have come.
    first_byte_ns: accepted?.answer?.status ? durationNs(startedAtMs, accepted.endedAtMs) : undefined,
    method: asked?.method ?? 'POST',
    path: asked === undefined ? trip.path : withoutKeysOfQuery(asked.path.slice(0, longestText), secrets),
    status_code: end.status,
    stream: call?.stream ?? accepted?.answer?.stream,
    requested_model: call !== undefined && trip.route === undefined ? withoutSecrets(call.model, secrets) : call?.model,
    resolved_model: model === undefined || model === '' ? undefined : `${name}/${model}`,
    provider: type,
    provider_name: name,
    user_path: userPath,
    auth_key_id: caller?.keyId,
    auth_method: caller?.kind === undefined ? undefined : authMethodOf(caller.kind),
    client_ip: exchange.clientAddress,
    cache_type: cacheTypeOf(trip.caching),
    alias_used: trip.route?.isAlias ?? trip.isAlias,
    error_type: refused?.type,
    counts_as: countingOf(trip),
    asked_by: trip.askedBy,
    attempts,
    labels: principal?.labels,
    data: parts.hasAudit ? dataOf(trip, readable, parts, secrets) : undefined,
  };
}

/** Undefined: the cache gave no answer. */
function cacheTypeOf(caching: RecordedCaching | undefined): RequestRecord['cache_type'] {
  if (caching?.hit === undefined) return undefined;
  return caching.semantic?.outcome === 'hit' ? 'semantic' : 'exact';
}

function decisionOf(caching: RecordedCaching | undefined): AuditData['semantic_cache'] {
  if (caching?.semantic === undefined) return undefined;
  const { place: _place, ...decision } = caching.semantic;
  return decision;
}

/** How it counts in sums of usage; undefined: as one request of a client. */
function countingOf({ countsAs, askedBy, isFree, caching, accepted, failed }: RecordedTrip): Counting | undefined {
  if (countsAs !== undefined) return countsAs;
  if (askedBy === 'gateway' || isFree === true) return 'calls';
  if (caching?.hit !== undefined) return undefined;
  const isAnswered = accepted !== undefined && (accepted.answer?.status ?? 0) < 400;
  return isAnswered || failed.some(({ usage }) => usage !== undefined) ? undefined : 'calls';
}

/** Answers of failed attempts are not looked at by guardrails: where one might change them, their bodies are left out. */
function auditOf({ guarding, snapshot: { audit } }: RecordedTrip): AuditSettings {
  return guarding?.changesAnswer === true && !audit.hasOriginals ? { ...audit, hasBodies: false } : audit;
}

function bodiesOf(
  { hasBodies, bodyLimitBytes }: AuditSettings,
  secrets: readonly string[],
): Parameters<typeof guardedData>[1] {
  return hasBodies ? { mostBytes: bodyLimitBytes, secrets } : undefined;
}

function placeOf(target: RecordedAttempt['target'] | undefined): Partial<Record<'name' | 'type' | 'model', string>> {
  return target === undefined ? {} : { name: target.upstream.name, type: target.upstream.type, model: target.model };
}

function dataOf(
  trip: RecordedTrip,
  call: Call | undefined,
  { hasUsage, instance }: RecordedParts,
  secrets: readonly string[],
): Draft<AuditData> {
  const { exchange, principal, failed, accepted, ending, snapshot, guarding, caching } = trip;
  const dropped = droppedOf(guarding, accepted?.reading);
  return {
    api_key_hash: principal?.keyHash,
    ...(ending.refused && errorOf(ending.refused, exchange.caller, secrets)),
    user_agent: agentOf(trip, secrets),
    ...(call && numbersOf(call)),
    ...(snapshot.audit.hasHeaders && headersOf(trip, secrets)),
    failover: accepted && failoverOf(failed, accepted),
    rescued: trip.rescued,
    workflow_features: {
      audit: true,
      budget: hasUsage && snapshot.hasBudgets,
      cache: caching !== undefined,
      failover: (trip.route?.targets.length ?? 0) > 1,
      guardrails: guarding !== undefined,
      usage: hasUsage,
    },
    ...(guarding && guardedData(guarding, bodiesOf(snapshot.audit, secrets))),
    semantic_cache: decisionOf(caching),
    dropped: dropped.length === 0 ? undefined : shownNames(dropped, secrets),
    config_revision: snapshot.revision,
    instance,
  };
}

/** As the client sent them, and as it got them. */
function headersOf({ exchange, ending }: RecordedTrip, secrets: readonly string[]): Draft<AuditData> {
  const { request, told } = exchange;
  const answered = told === undefined ? (ending.headers ?? []) : Object.entries(told.headers).flat().map(String);
  return {
    request_headers: shownHeaders(request.rawHeaders, secrets),
    response_headers: answered.length === 0 ? undefined : shownHeaders(answered, secrets),
  };
}

/** Of a login that failed the log has the reason, which its client may not learn. */
function errorOf(
  { code, message, provider, rule }: Refusal,
  caller: LoggedCaller | undefined,
  secrets: readonly string[],
): Draft<AuditData> {
  const reason = caller?.reason === undefined ? '' : ` (${caller.reason})`;
  return {
    error_code: code ?? undefined,
    error_message: withoutSecrets(`${message.slice(0, longestText)}${reason}`, secrets),
    error_provider: provider,
    rule: rule?.label,
  };
}

/** Where the answer came from when it was not the first choice. */
function failoverOf(
  failed: readonly RecordedAttempt[],
  { target }: RecordedAttempt,
): AuditData['failover'] | undefined {
  if (failed.every((attempt) => attempt.target === target)) return undefined;
  return { target_model: `${target.upstream.name}/${target.model}` };
}
