// One call of one target, from sending it to what has come of it: an answer that can be relayed, or a failure of some kind.

import type { Opening } from '../dialects/opening.ts';
import { redactWords } from '../dialects/redact.ts';
import type { Refusal } from '../errors.ts';
import type { Gateway } from '../gateway.ts';
import type { ModelRequest } from '../http/exchange.ts';
import { shortBytes } from '../pacing/slices.ts';
import { failureRefusal, invalid, openingRejection, rejectionOf } from '../providers/provider-error.ts';
import { openingAt, type TargetSpeech } from '../providers/target-speeches.ts';
import { providerHeaders, upstreamIdHeader } from '../providers/upstream-id.ts';
import { noteOutrun } from '../routing/retry/learn.ts';
import { type Consequence, noteAnswered, noteRefused } from '../routing/retry/note-outcome.ts';
import type { Target } from '../snapshot/snapshot.ts';
import type { CallRole } from '../targets/breaker.ts';
import type { TargetState } from '../targets/target-state.ts';
import { Reading } from '../translation/reading.ts';
import type { ApiKey, ApiKeys } from '../upstream/api-keys.ts';
import { outrun, type UpstreamFailure } from '../upstream/failure.ts';
import { send } from '../upstream/send.ts';
import type { UpstreamAnswer } from '../upstream/upstream-answer.ts';
import type { Allowance } from './admit.ts';
import type { Accepted, RoutedCall } from './attempts.ts';
import { keepsItself } from './keep.ts';
import { headersOf, prepare } from './prepare.ts';
import { isOdd, type Reframed, reframedOf } from './reframe.ts';

/** Answers up to this many bytes are held until complete, so that a broken one becomes a clean error; one that is translated or checked, as a whole. */
const heldBytes = 64 * 1024;
const translatedBytes = 16 * 1024 * 1024;
/** Longest reason that is told. Characters. */
const mostWords = 500;

/** How a call is made. */
export interface Way {
  /** Milliseconds of the gateway's clock. */
  readonly startedAtMs: number;
  /** When the answer must be complete, by the same clock. */
  readonly latestMs: number;
  /** On a new connection, because a kept one was closed. */
  readonly isFresh: boolean;
  /** Nothing else can be asked, so a stream may begin with whatever comes. */
  readonly isLast: boolean;
}

/** A target that is being asked, and what the request holds under its rules. */
export interface Asking extends Way {
  readonly target: Target;
  readonly state: TargetState;
  /** What the call is to the breaker. */
  readonly role: CallRole;
  readonly allowance: Allowance;
  readonly answer: UpstreamAnswer;
  /** The provider's key that it is asked with. */
  readonly key: ApiKey;
  /** What its span is called; undefined: no traces are made. */
  readonly spanId: string | undefined;
  /** The stream's usage event exists only because the gateway asked for it. */
  readonly injectedUsage: boolean;
  readonly speech: TargetSpeech;
  /** What the first events of a stream say; undefined: they are not read. */
  readonly opening: Opening | undefined;
  /** How the answer is translated; undefined: its bytes are the client's own dialect. */
  readonly reading: Reading | undefined;
  /** What becomes of an answer whose form is not the one that was asked for; undefined: it is relayed as it comes. */
  reframed: Reframed | undefined;
}

/** Why a call gave no answer that can be relayed. */
export interface Verdict extends Consequence {
  readonly refused: Refusal;
  /** The answer did not come completely; undefined: it did. */
  readonly failure: UpstreamFailure | undefined;
  readonly endedAtMs: number;
}

/** What is asked, for whom, by what means, and who wants to know what has come of it. */
export interface Asker {
  readonly routed: RoutedCall;
  readonly exchange: ModelRequest;
  readonly parts: Pick<Gateway, 'deadlines' | 'metrics' | 'nowMs' | 'pools' | 'targets' | 'telemetry' | 'usageEnabled'>;
  /** An answer was accepted, or none is needed any more: what is still asked is cancelled. */
  readonly isOver: boolean;
  /** The answer can be relayed; the allowance is still held. */
  accepted(asking: Asking, endedAtMs: number): void;
  /** It cannot; the allowance is still held. */
  failed(asking: Asking, verdict: Verdict): void;
  /** Something unexpected has happened; nothing is held. */
  broke(asking: Asking, error: unknown): void;
}

/** Sends the call to one target. The asker is told once what has come of it; when sending throws, the allowance is given back. */
export function ask(target: Target, allowance: Allowance, asker: Asker, way: Way): Asking {
  const { startedAtMs, latestMs, isFresh, isLast } = way;
  const { routed, exchange, parts } = asker;
  const state = parts.targets.of(target);
  const role = state.breaker.begin(startedAtMs);
  try {
    const { upstream } = target;
    const { credentials, patience } = upstream;
    const { path, body, injectedUsage, speech, translated } = prepare(target, routed, parts.usageEnabled);
    const key = keyFor(routed, credentials) ?? credentials.pick(parts.deadlines.coarseNowMs, state.quota);
    const headers = headersOf(target, speech, key, exchange);
    const spanId = parts.telemetry?.propagate(exchange, headers);
    if (key.signer !== undefined)
      headers.push(...key.signer.sign({ method: 'POST', path, headers, body }, startedAtMs));
    const { stream: isStream } = routed.call;
    const reading = translated && new Reading(translated);
    const isRead =
      reading !== undefined || routed.guarding?.readsAnswer === true || routed.call.continues !== undefined;
    const mostHeldBytes = isRead || isStream ? translatedBytes : heldBytes;
    const wanted = isStream ? 'stream' : 'whole';
    const needsEvent = !isLast || reading !== undefined;
    const opening = isStream ? openingAt(speech) : undefined;
    const facts = { latestMs, needsEvent, opening, isFresh, isStream, wanted, mostHeldBytes } as const;
    const answer = send(parts.pools.get(upstream), { path, headers, body, facts }, patience, parts.deadlines);
    const reframed = undefined;
    // One literal: copying another object's members takes several times as long.
    return {
      target,
      state,
      role,
      allowance,
      answer,
      key,
      spanId,
      injectedUsage,
      speech,
      opening,
      reading,
      reframed,
      startedAtMs,
      latestMs,
      isFresh,
      isLast,
    };
  } catch (error) {
    state.breaker.released(role);
    allowance.lease.release();
    throw error;
  }
}

/** The key that a call is bound to. */
function keyFor({ keyMark }: RoutedCall, credentials: ApiKeys): ApiKey | undefined {
  return keyMark === undefined ? undefined : credentials.marked(keyMark);
}

/** What is to be relayed of one. */
export function acceptedOf(
  { target, allowance, answer: come, reframed, key, spanId, injectedUsage, speech, reading, startedAtMs }: Asking,
  routed: RoutedCall,
  endedAtMs: number,
): Accepted {
  const answer = reframed?.answer ?? come;
  const told = providerHeaders(come.head, target.upstream.secrets);
  const refused = undefined;
  const { relayed } = speech;
  const place = { provider: target.upstream.name, key: key.mark };
  const home = keepsItself(speech) ? place : undefined;
  // It has been told what is said of the background, too.
  const maker = speech.translation === undefined ? place : undefined;
  return {
    routed,
    target,
    startedAtMs,
    endedAtMs,
    spanId,
    refused,
    answer,
    allowance,
    injectedUsage,
    relayed,
    reading,
    told,
    upstreamId: told[upstreamIdHeader],
    named: { needsOnlyId: true },
    home,
    maker,
  };
}

/**
 * Something has come of asking a target: it is counted, remembered of the target, and told to the asker. A long answer that is translated is
 * read before, in steps.
 */
export function judge(asking: Asking, failure: UpstreamFailure | undefined, asker: Asker): void {
  const { answer, reading } = asking;
  const { routed } = asker;
  const nowMs = (): number => Math.floor(asker.parts.nowMs());
  if (failure === undefined && reading === undefined && isOdd(answer, routed.call.stream)) {
    const { injectedUsage, speech } = asking;
    asking.reframed = reframedOf({ answer, routed, relayed: speech.relayed, injectedUsage, nowMs });
  }
  const { reframed } = asking;
  if (failure !== undefined || (reading ?? reframed) === undefined || !isLong(answer)) {
    decide(asking, failure, asker);
    return;
  }
  // Meanwhile another target may have been faster.
  const decided = (): void => decide(asking, asker.isOver ? tooLate : undefined, asker);
  const made = reading?.readLong(answer, answer.body(), nowMs()) ?? reframed?.makeLong();
  void made?.then(decided);
}

const tooLate: UpstreamFailure = { failure: outrun, sent: true, isStale: false };

/** Reading it takes more than a moment. */
function isLong(answer: UpstreamAnswer): boolean {
  const { complete, status, stream } = answer;
  return !stream && complete && status < 400 && answer.body().length > shortBytes;
}

function decide(asking: Asking, failure: UpstreamFailure | undefined, asker: Asker): void {
  const { target, state, allowance, answer } = asking;
  const { exchange, parts } = asker;
  const { metrics, nowMs } = parts;
  const endedAtMs = nowMs();
  let refused: Refusal | undefined;
  try {
    refused = refusalOf(asking, failure, asker);
  } catch (error) {
    metrics.upstream.ended(target, 'cancelled', 0);
    state.breaker.released(asking.role);
    answer.cancel();
    allowance.lease.release();
    asker.broke(asking, error);
    return;
  }
  const { gone } = exchange;
  const status = refused?.saidStatus ?? answer.status;
  if (failure === undefined) target.upstream.credentials.answered(asking.key, status, answer.head, endedAtMs);
  if (refused === undefined) {
    noteAnswered(asking, endedAtMs, gone, metrics.upstream);
    asker.accepted(asking, endedAtMs);
    return;
  }
  const isOutrun = failure !== undefined && asker.isOver;
  const brokenOff = isOutrun ? 'outrun' : failure !== undefined && gone ? 'cancelled' : undefined;
  // What was never sent, because the connection had been closed, is no call.
  const isCall = failure?.isStale !== true || asking.isFresh;
  const isBoundToKey = asker.routed.keyMark !== undefined;
  const outcome = { refused, failure, brokenOff, isCall, isBoundToKey } as const;
  const consequence = noteRefused(asking, outcome, endedAtMs, metrics.upstream);
  answer.cancel();
  if (isOutrun) noteOutrun(asking, endedAtMs, asker.routed.call.stream);
  asker.failed(asking, { refused, failure, endedAtMs, ...consequence });
}

/** Why an answer cannot be relayed; undefined when it can. */
function refusalOf(
  asking: Asking,
  failure: UpstreamFailure | undefined,
  { exchange: { gone }, parts: { nowMs }, isOver }: Asker,
): Refusal | undefined {
  const { target, answer, speech, reading, reframed } = asking;
  const { upstream } = target;
  // Of an answer that was under way when the client left, what has come is measured.
  if (failure !== undefined && (isOver || !gone || !failure.sent))
    return failureRefusal(failure, upstream, answer.head);
  if (gone && answer.status < 400) return undefined;
  const rejected = rejectionOf(answer, speech.speaker, nowMs) ?? openingRefusal(asking, nowMs);
  if (rejected !== undefined) return rejected;
  const problem = reading?.begin(answer, () => answer.body(), Math.floor(nowMs())) ?? reframed?.problem();
  if (problem === undefined) return undefined;
  return invalid(answer, upstream, redactWords(problem, upstream.secrets, mostWords));
}

/** A stream that begins with an error, or with what makes no sense. */
function openingRefusal({ target, answer, speech, opening: read }: Asking, nowMs: () => number): Refusal | undefined {
  const { heldEvents } = answer.head;
  if (!answer.stream && !heldEvents) return undefined;
  // A stream that was not asked for is not read while it comes.
  const opening = read ?? (heldEvents ? openingAt(speech) : undefined);
  if (opening === undefined) return undefined;
  if (heldEvents) opening.push(answer.body());
  if (answer.complete) opening.end();
  const { failed, problem } = opening;
  if (failed !== undefined) return openingRejection(failed, answer, speech.speaker, nowMs);
  const { upstream } = target;
  return problem === undefined
    ? undefined
    : invalid(answer, upstream, redactWords(problem, upstream.secrets, mostWords));
}
