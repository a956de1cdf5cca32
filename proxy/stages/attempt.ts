// Stage 7 for calls of models: how one target is sent the call, and whether its answer can be relayed. The loop over targets is in
// routing/target-loop.ts.
import { CallContext } from '../call/thread.ts';
import type { Opening } from '../dialects/opening.ts';
import { redactWords } from '../dialects/redact.ts';
import type { Refusal } from '../errors.ts';
import type { ModelRequest } from '../http/exchange.ts';
import type { Matches } from '../limits/match.ts';
import { shortBytes } from '../pacing/slices.ts';
import { filteredRefusal, isFiltered } from '../providers/failures/filtered-answer.ts';
import { failureRefusal, invalid, openingRejection, rejectionOf } from '../providers/provider-error.ts';
import { openingAt, type TargetSpeech } from '../providers/target-speeches.ts';
import { providerHeaders, upstreamIdHeader } from '../providers/upstream-id.ts';
import type { Telemetry } from '../records/spans/telemetry.ts';
import type { Balance } from '../routing/balance/balance.ts';
import type { ConsumerAllowance } from '../routing/limit-refusal.ts';
import type { BegunCall, CallsBefore, Errand, TargetCall } from '../routing/target-call.ts';
import { type LoopParts, type Taken, TargetLoop } from '../routing/target-loop.ts';
import type { Route, Target } from '../snapshot/snapshot.ts';
import type { TargetState } from '../targets/target-state.ts';
import type { TokenUsage } from '../tokens/token-usage.ts';
import { Reading } from '../translation/reading.ts';
import type { ApiKey } from '../upstream/api-keys.ts';
import type { Deadlines } from '../upstream/deadlines.ts';
import type { UpstreamFailure } from '../upstream/failure.ts';
import type { Pools } from '../upstream/pools.ts';
import { send } from '../upstream/send.ts';
import type { UpstreamAnswer } from '../upstream/upstream-answer.ts';
import type { Accepted, FailedAttempt, RoutedCall } from './attempts.ts';
import { chargeUnfinished } from './charge/charge-unfinished.ts';
import { wantedAt } from './expect.ts';
import { keepsItself } from './keep.ts';
import { headersOf, prepare } from './prepare.ts';
import { isOdd, type Reframed, reframedOf } from './reframe.ts';

/** Answers up to this many bytes are held until complete, so that a broken one becomes a clean error; one that is translated or checked, as a whole. */
const heldBytes = 64 * 1024;
const translatedBytes = 16 * 1024 * 1024;
/** Longest reason that is told. Characters. */
const mostWords = 500;

/** The parts that asking targets for a call needs. */
export interface AttemptParts extends LoopParts {
  readonly balance: Balance;
  readonly deadlines: Deadlines;
  readonly metrics: LoopParts['metrics'] & Parameters<typeof chargeUnfinished>[1]['metrics'];
  readonly pools: Pools;
  readonly telemetry?: Telemetry | undefined;
  /** Tokens are counted, so streams are asked to report usage. */
  readonly usageEnabled: boolean;
}

/** A call that was sent. */
export interface ModelCall extends TargetCall<Target> {
  readonly answer: UpstreamAnswer;
  /** The stream's usage event exists only because the gateway asked for it. */
  readonly injectedUsage: boolean;
  readonly speech: TargetSpeech;
  /** The first events of a stream; undefined: they are not read. */
  readonly opening: Opening | undefined;
  /** How the answer is translated; undefined: its bytes are the client's own dialect. */
  readonly reading: Reading | undefined;
  /** An answer in another form than was asked for, brought into that form; undefined: it is relayed as it comes. */
  reframed: Reframed | undefined;
}

/**
 * Sends the call to the targets of its route until one gives an answer that can be relayed, and gives what `accept` makes of that. Rejects with
 * the last word of the targets, or with an unexpected error. Those that fail are added to `failed`.
 */
export function attempt<Answer>(
  routed: RoutedCall,
  { exchange, failed }: { readonly exchange: ModelRequest; readonly failed: FailedAttempt[] },
  parts: AttemptParts,
  accept: (accepted: Accepted) => Answer | Promise<Answer>,
): Promise<Answer> {
  const errand = new ModelErrand(routed, exchange, parts, failed);
  const loop = new TargetLoop(errand, parts, (taken: Taken<ModelCall>) => {
    exchange.waiting = undefined;
    return accept(acceptedOf(taken, routed, errand.targets));
  });
  exchange.waiting = loop;
  return loop.run();
}

/** Asks the targets that are left to go on with an answer that broke off, as `attempt` does; nothing else waits for it. */
export function goOn(
  routed: RoutedCall,
  { exchange, failed }: { readonly exchange: ModelRequest; readonly failed: FailedAttempt[] },
  parts: AttemptParts,
): { readonly accepted: Promise<Accepted>; readonly leave: () => void } {
  const errand = new ModelErrand(routed, exchange, parts, failed);
  const loop = new TargetLoop(errand, parts, (taken: Taken<ModelCall>) => acceptedOf(taken, routed, errand.targets));
  const leave = (): void => {
    errand.leave();
    loop.gone();
  };
  return { accepted: loop.run(), leave };
}

class ModelErrand implements Errand<Target, ModelCall> {
  readonly targets: readonly Target[];
  readonly route: Route;
  readonly startedAtMs: number;
  readonly consumer: ConsumerAllowance;
  readonly failed: FailedAttempt[];
  readonly canHedge: boolean;
  readonly before: CallsBefore | undefined;
  readonly canSend = true;
  readonly fault = undefined;
  readonly isStream: boolean;
  readonly isBoundToKey: boolean;
  readonly #routed: RoutedCall;
  readonly #exchange: ModelRequest;
  readonly #parts: AttemptParts;
  #isLeft = false;

  constructor(routed: RoutedCall, exchange: ModelRequest, parts: AttemptParts, failed: FailedAttempt[]) {
    const { call, consumer, goingOn, keyMark, route } = routed;
    this.startedAtMs = Math.floor(parts.nowMs());
    const context = new CallContext(this.startedAtMs, exchange.request.rawHeaders, call);
    this.targets = goingOn?.targets ?? parts.balance(route, context);
    this.before = goingOn;
    this.canHedge = goingOn === undefined;
    this.route = route;
    this.consumer = consumer;
    this.failed = failed;
    this.isStream = call.stream;
    this.isBoundToKey = keyMark !== undefined;
    this.#routed = routed;
    this.#exchange = exchange;
    this.#parts = parts;
  }

  get labels(): readonly string[] | undefined {
    return this.#routed.labels;
  }

  get isLeft(): boolean {
    return this.#isLeft || this.#exchange.gone;
  }

  /** Its answer is of no use any more, although the client is there. */
  leave(): void {
    this.#isLeft = true;
  }

  noteFailed(failed: FailedAttempt): void {
    this.failed.push(failed);
  }

  matchesOf({ upstream, model }: Target): Matches {
    const { limiter } = this.#parts;
    return this.#routed.isCounted ? limiter.forTarget(upstream.name, model) : limiter.unlimited;
  }

  wantedAt(target: Target): number {
    return wantedAt(target, this.matchesOf(target), this.#routed.expected, this.#parts.limiter);
  }

  stateOf(target: Target): TargetState {
    return this.#parts.targets.of(target);
  }

  /** The key that the call is bound to. */
  keyOf({ upstream }: Target): ApiKey | undefined {
    const { keyMark } = this.#routed;
    return keyMark === undefined ? undefined : upstream.credentials.marked(keyMark);
  }

  send(begun: BegunCall<Target>): ModelCall {
    const { target, state, role, allowance, key, startedAtMs, latestMs, isFresh, isLast, hasNext } = begun;
    const routed = this.#routed;
    const { deadlines, pools, telemetry, usageEnabled } = this.#parts;
    const { upstream } = target;
    const { path, body, injectedUsage, speech, translated } = prepare(target, routed, usageEnabled);
    const headers = headersOf(target, speech, key, this.#exchange);
    const spanId = telemetry?.propagate(this.#exchange, headers);
    if (key.signer !== undefined)
      headers.push(...key.signer.sign({ method: 'POST', path, headers, body }, startedAtMs));
    const { isStream } = this;
    const reading = translated && new Reading(translated);
    const isRead =
      reading !== undefined || routed.guarding?.readsAnswer === true || routed.call.continues !== undefined;
    const mostHeldBytes = isRead || isStream ? translatedBytes : heldBytes;
    const wanted = isStream ? 'stream' : 'whole';
    const needsEvent = !isLast || reading !== undefined;
    const opening = isStream ? openingAt(speech) : undefined;
    const ownBody = translated === undefined && body !== routed.call.body ? body : undefined;
    const facts = {
      latestMs,
      needsEvent,
      opening,
      hasNext,
      isFresh,
      isStream,
      wanted,
      mostHeldBytes,
      ownBody,
    } as const;
    const answer = send(pools.get(upstream), { path, headers, body, facts }, upstream.patience, deadlines);
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
  }

  /** A long answer that is translated is read in steps. */
  read(call: ModelCall): Promise<void> | undefined {
    const { answer, injectedUsage, reading, speech } = call;
    const nowMs = this.#wholeMs;
    if (reading === undefined && isOdd(answer, this.isStream)) {
      const { relayed } = speech;
      call.reframed = reframedOf({ answer, routed: this.#routed, relayed, injectedUsage, nowMs });
    }
    const { reframed } = call;
    if ((reading ?? reframed) === undefined || !isLong(answer)) return undefined;
    return reading?.readLong(answer, answer.body(), nowMs()) ?? reframed?.makeLong();
  }

  refusalOf(call: ModelCall, failure: UpstreamFailure | undefined, isOver: boolean): Refusal | undefined {
    const { target, answer, speech, reading, reframed } = call;
    const { gone } = this.#exchange;
    const { nowMs } = this.#parts;
    const { upstream } = target;
    // Of an answer that was under way when the client left, what has come is measured.
    if (failure !== undefined && (isOver || !gone || !failure.sent))
      return failureRefusal(failure, upstream, answer.head);
    if (gone && answer.status < 400) return undefined;
    const rejected = rejectionOf(answer, speech.speaker, nowMs) ?? openingRefusal(call, nowMs);
    if (rejected !== undefined) return rejected;
    const mayAskOn = !call.isLast && this.route.policy.on.has('content_filter');
    if (mayAskOn && isFiltered(answer.body())) return filteredRefusal(upstream.name);
    const problem = reading?.begin(answer, () => answer.body(), this.#wholeMs()) ?? reframed?.problem();
    if (problem === undefined) return undefined;
    return invalid(answer, upstream, redactWords(problem, upstream.secrets, mostWords));
  }

  usageOf(
    call: ModelCall,
    failure: UpstreamFailure | undefined,
    isOutrun: boolean,
    nowMs: number,
  ): TokenUsage | undefined {
    return chargeUnfinished({ asking: call, routed: this.#routed, failure, isOutrun }, this.#parts, nowMs);
  }

  readonly #wholeMs = (): number => Math.floor(this.#parts.nowMs());
}

/** Reading it takes more than a moment. */
function isLong(answer: UpstreamAnswer): boolean {
  const { complete, status, stream } = answer;
  return !stream && complete && status < 400 && answer.body().length > shortBytes;
}

/** The accepted answer of the call that won. */
function acceptedOf({ call, endedAtMs }: Taken<ModelCall>, routed: RoutedCall, order: readonly Target[]): Accepted {
  const { target, allowance, answer: come, reframed, key, spanId, speech, reading, startedAtMs } = call;
  const { injectedUsage, latestMs, state } = call;
  const answer = reframed?.answer ?? come;
  const told = providerHeaders(come.head, target.upstream);
  const refused = undefined;
  const { relayed } = speech;
  const place = { provider: target.upstream.name, key: key.mark };
  // What is read here may become another answer than its provider has.
  const home = keepsItself(speech) && reading === undefined ? place : undefined;
  // It has been told what is said of the background, too.
  const maker = speech.translation === undefined && reading === undefined ? place : undefined;
  return {
    routed,
    target,
    startedAtMs,
    endedAtMs,
    spanId,
    refused,
    answer,
    allowance,
    state,
    order,
    latestMs,
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

/** A stream that begins with an error, or with what makes no sense. */
function openingRefusal(
  { target, answer, speech, opening: read }: ModelCall,
  nowMs: () => number,
): Refusal | undefined {
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
