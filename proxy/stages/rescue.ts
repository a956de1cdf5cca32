// Stage 8, where an answer breaks off in the middle and its alias has `rescue`: what came of it is counted, and the targets that are left are
// asked to go on, within the same policy, budget of retries and limits as before the first word.
import type { FailureKind } from '../../domain/targets/failure-kind.ts';
import type { Rescued } from '../dialects/conversation/conversation.ts';
import { Refusal, refusal } from '../errors.ts';
import type { HeldBody } from '../http/body-budget.ts';
import type { ModelRequest } from '../http/exchange.ts';
import { inSlices } from '../pacing/slices.ts';
import { openingRejection } from '../providers/provider-error.ts';
import type { TargetSpeech } from '../providers/target-speeches.ts';
import type { ConsumerAllowance } from '../routing/limit-refusal.ts';
import { meaningOf } from '../routing/retry/failure-kind.ts';
import { noteBreak } from '../routing/retry/learn.ts';
import type { Target } from '../snapshot/snapshot.ts';
import { relayedOutcome } from '../tallies/attempt-outcome.ts';
import type { RescueOutcome, RescueTally } from '../tallies/rescue-tally.ts';
import { usualCall } from '../targets/breaker.ts';
import { ofBrokenAnswer, type TokenUsage } from '../tokens/token-usage.ts';
import { continuationOf } from '../translation/rescue/continuation.ts';
import { JoinedStream } from '../translation/rescue/joined-stream.ts';
import type { Broken, Rescuing, Successor } from '../translation/rescue/rescuing.ts';
import { ContinuedSeam, RepeatedSeam, type Seam } from '../translation/rescue/seam.ts';
import { SwitchingAnswer } from '../translation/rescue/switching-answer.ts';
import { type Translated, translate } from '../translation/translated.ts';
import { UpstreamAnswer } from '../upstream/upstream-answer.ts';
import { type AttemptParts, goOn } from './attempt.ts';
import type { Accepted, FailedAttempt } from './attempts.ts';

/** A request whose answer may be told by several targets. */
export interface RescuedTrip {
  readonly exchange: ModelRequest;
  readonly failed: FailedAttempt[];
  readonly consumer: ConsumerAllowance | undefined;
  readonly held: Pick<HeldBody, 'hold'> | undefined;
  accepted: Accepted | undefined;
  rescued: Rescued | undefined;
}

export type RescueParts = AttemptParts & {
  readonly metrics: AttemptParts['metrics'] & { readonly rescues: RescueTally };
  /** Tells the operator of an unexpected failure. */
  readonly reportFailure: (error: unknown, requestId: string) => void;
};

/** A target that is left: what it is told, and what its words are joined to. */
interface Way {
  readonly translated: Translated;
  readonly seam: Seam | undefined;
}

/** A character of a text in memory. Bytes. */
const bytesPerCharacter = 2;

/** The answer that is relayed: with others behind it, where its request may be rescued. */
export function rescuable(accepted: Accepted, trip: RescuedTrip, parts: RescueParts): Accepted {
  const { answer, reading, routed } = accepted;
  const isBroken = routed.rescue !== undefined && reading !== undefined && answer.stream;
  if (!isBroken || !(answer instanceof UpstreamAnswer)) return accepted;
  const rescuer = new Rescuer({ ...accepted, answer }, trip, parts);
  return { ...accepted, answer: rescuer.switching, rescuing: rescuer };
}

type Relaying = Accepted & { readonly answer: UpstreamAnswer };

class Rescuer implements Rescuing {
  readonly joined: JoinedStream;
  /** The answer that is relayed. */
  readonly switching: SwitchingAnswer;
  readonly #trip: RescuedTrip;
  readonly #parts: RescueParts;
  readonly #rescue: Rescued;
  /** Of the target that is relayed, or that broke off last. */
  #accepted: Relaying;
  /** The target that broke off last. */
  #broken: Target;
  #leave: (() => void) | undefined;
  #isLeft = false;

  constructor(accepted: Relaying, trip: RescuedTrip, parts: RescueParts) {
    this.#accepted = accepted;
    this.#broken = accepted.target;
    this.switching = new SwitchingAnswer(accepted.answer, () => this.leave());
    this.#trip = trip;
    this.#parts = parts;
    this.#rescue = accepted.routed.rescue ?? 'continue';
    this.joined = new JoinedStream(
      this.#rescue,
      (characters) => trip.held?.hold(characters * bytesPerCharacter) !== false,
    );
  }

  async goOn(broken: Broken): Promise<Successor | undefined> {
    this.switching.leave();
    this.#broken = this.#accepted.target;
    let successor: Successor | undefined;
    try {
      successor = await this.#ask(broken);
    } catch (error) {
      if (!(error instanceof Refusal)) this.#parts.reportFailure(error, this.#trip.exchange.id);
    }
    if (successor === undefined && !this.#isLeft) this.note('no_target');
    return successor;
  }

  leave(): void {
    this.#isLeft = true;
    this.#leave?.();
  }

  note(outcome: RescueOutcome): void {
    const { target } = outcome === 'not_joinable' ? this.#accepted : { target: this.#broken };
    this.#parts.metrics.rescues.note(target.upstream.name, outcome);
  }

  /** Throws the refusal of the targets, or of the one that broke off. */
  async #ask(broken: Broken): Promise<Successor | undefined> {
    const { exchange, failed } = this.#trip;
    const { latestMs, routed, startedAtMs } = this.#accepted;
    const endedAtMs = this.#parts.nowMs();
    const refused = this.#refusalOf(broken);
    const ways = await this.#ways(broken);
    if (exchange.gone || this.#isLeft || ways.size === 0) return undefined;
    const goingOn = {
      calls: failed.length + 1,
      startedAtMs: Math.min(startedAtMs, ...failed.map((each) => each.startedAtMs)),
      latestMs,
      kind: kindOf(broken, refused),
      refused,
      targets: [...ways.keys()],
    };
    const translated = new Map(Array.from(ways, ([target, way]) => [target, way.translated]));
    const asking = goOn({ ...routed, translated, goingOn }, { exchange, failed }, this.#parts);
    this.#leave = asking.leave;
    const accepted = await asking.accepted;
    this.#leave = undefined;
    const { allowance, answer, state, target } = accepted;
    const way = ways.get(target);
    if (this.#isLeft || exchange.gone || way === undefined || !(answer instanceof UpstreamAnswer)) {
      answer.cancel();
      state.open -= 1;
      allowance.lease.release();
      return undefined;
    }
    this.#count({ refused, usage: broken.usage, endedAtMs });
    this.#accepted = { ...accepted, answer };
    this.#trip.accepted = accepted;
    this.#trip.rescued = this.#rescue;
    return {
      ...way,
      asked: { operation: routed.operation, call: { body: way.translated.body } },
      begin: () => this.switching.goOn(answer),
    };
  }

  /** The targets that are left and can be told, in their order. */
  async #ways({ usage }: Broken): Promise<ReadonlyMap<Target, Way>> {
    const { order, routed, target: broken } = this.#accepted;
    const asked = new Set([broken, ...this.#trip.failed.map(({ target }) => target)]);
    const ways = new Map<Target, Way>();
    for (const target of order) {
      const translated = routed.translated?.get(target);
      const speech = target.speeches[routed.operation];
      if (asked.has(target) || translated === undefined || speech === undefined) continue;
      const way = await this.#wayTo(translated, speech, usage.outputTokens);
      if (way !== undefined) ways.set(target, way);
    }
    return ways;
  }

  /** Undefined: it cannot be told. */
  async #wayTo(translated: Translated, speech: TargetSpeech, spentTokens: number): Promise<Way | undefined> {
    const { said } = this.joined;
    if (said === '') return { translated, seam: undefined };
    if (this.#rescue === 'restart') return { translated, seam: new RepeatedSeam(said) };
    if (said.trim() === '')
      return { translated, seam: new ContinuedSeam(said, { prefix: '', isExact: true, repeats: false }) };
    const { dialect, spoken, target } = translated;
    const place = { dialect: dialect.name, model: target.model, quirks: speech.quirks, path: speech.path };
    const { request, asked } = continuationOf(spoken.request, said, spentTokens, place);
    try {
      const told = await inSlices(translate({ ...spoken, request }, target, speech, dialect));
      return { translated: told, seam: new ContinuedSeam(said, asked) };
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      return undefined;
    }
  }

  #refusalOf({ failure, words }: Broken): Refusal {
    const { answer, routed, target } = this.#accepted;
    const { name: provider } = target.upstream;
    const speaker = target.speeches[routed.operation]?.speaker;
    if (words === undefined || speaker === undefined)
      return refusal(failure.code, { provider, fill: { reason: failure.reason, request_id: this.#trip.exchange.id } });
    const { message, code, type, status } = words;
    const said = { message, code, type, param: null, further: status === undefined ? {} : { status } };
    return openingRejection(said, answer, speaker, this.#parts.nowMs);
  }

  /** The target that broke off has done its part: that is charged, and it becomes one of those that failed. */
  #count({ refused, usage, endedAtMs }: { refused: Refusal; usage: TokenUsage; endedAtMs: number }): void {
    const { allowance, answer, spanId, startedAtMs, state, target } = this.#accepted;
    const { limiter, metrics, usageEnabled } = this.#parts;
    const { consumer, failed } = this.#trip;
    const nowMs = Math.floor(endedAtMs);
    const used = usageEnabled ? ofBrokenAnswer(usage) : undefined;
    if (used !== undefined) {
      for (const { matches, lease } of [consumer, allowance].filter((one) => one !== undefined))
        limiter.charge(matches, used.totalTokens, nowMs, lease);
      metrics.tokens(used.source, used.totalTokens);
      metrics.upstream.charged(target, used.inputTokens, used.outputTokens);
    }
    metrics.upstream.ended(target, relayedOutcome(refused), (endedAtMs - startedAtMs) / 1000);
    noteBreak({ target, state, role: usualCall }, nowMs);
    state.open -= 1;
    allowance.lease.release();
    failed.push({ target, startedAtMs, endedAtMs, spanId, refused, answer, isSent: true, usage: used });
  }
}

/** The kind of failure that it is for `retry.on`. */
function kindOf({ failure, words }: Broken, refused: Refusal): FailureKind | undefined {
  const broken = words === undefined ? { failure, sent: true, isStale: false } : undefined;
  return meaningOf({ refused, failure: broken }).kind;
}
