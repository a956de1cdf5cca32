// The deadlines of one call of a provider: its timeouts, one after the other, and the total.
import type { Failure } from '../answer.ts';
import type { Deadlines, Timed } from './deadlines.ts';
import { timedOut } from './failure.ts';
import type { Patience } from './patience.ts';

/** A body that is sent while it is read. */
export interface StreamedBody {
  /** The provider could take more than the client has sent. */
  readonly isAwaited: boolean;
}

/** The facts of a call at its start. */
export interface CallFacts {
  /** The deadline of the complete answer, besides that of `Patience`. Milliseconds of the shared clock. */
  readonly latestMs: number;
  /**
   * A stream is handed over only when its first event has come, so that an empty or failed stream can be asked
   * elsewhere.
   */
  readonly needsEvent: boolean;
  /**
   * Reads the first events; absent: any event suffices. Events without content are held back for a moment, because an
   * error may follow.
   */
  readonly opening?: { readonly isQuiet: boolean; push(bytes: Buffer): void } | undefined;
  /** Asked when the first event of a stream is late: whether another target could be asked now. Absent: none can. */
  readonly hasNext?: (() => boolean) | undefined;
  /** The call is repeated on a new connection, because the kept one had been closed. */
  readonly isFresh: boolean;
  /** A stream was asked for. */
  readonly isStream: boolean;
  /** The wanted form of the answer; its first bytes then decide, not its head alone. Absent: it passes as it came. */
  readonly wanted?: 'stream' | 'whole' | undefined;
  /** An answer up to this many bytes is held until it is complete. */
  readonly mostHeldBytes: number;
  /** The body, where it was made for this call alone: it is given back when it is sent. Absent: others read it, too. */
  readonly ownBody?: Buffer | undefined;
  /** Absent: the body is sent at once. */
  readonly streamed?: StreamedBody | undefined;
  /** Is given the head of the answer as it came, names and values in turn. */
  readonly takeHead?: (status: number, headers: readonly Buffer[]) => void;
}

/** The receiver of the end of a deadline. */
export interface Late {
  late(failure: Failure): void;
  /** A stream has begun and had no content for `quietMs`: it is not held back longer. */
  staysQuiet(): void;
}

/** How long a stream without content is held back after its first event, in milliseconds. */
const quietMs = 500;

export class CallDeadline implements Timed {
  deadlineMs: number;
  place: number | undefined;
  readonly #patience: Patience;
  readonly #deadlines: Deadlines;
  readonly #call: Late;
  #totalDeadlineMs: number;
  #sentAtMs = 0;
  #waitingFor = '';
  readonly #isStream: boolean;
  /** Undefined: the first event of a stream may take its whole time. */
  #hasNext: (() => boolean) | undefined;
  /** The first event of a stream is awaited. */
  #isBeforeEvent = false;
  /** Undefined: all of the body was sent. */
  #sending: StreamedBody | undefined;
  #hasAnswer = false;
  /** A stream has begun, and its first words are awaited. */
  #isQuiet = false;

  /** Runs from now on. */
  constructor(
    patience: Patience,
    deadlines: Deadlines,
    { latestMs, isStream, streamed, hasNext }: CallFacts,
    call: Late,
  ) {
    this.#patience = patience;
    this.#deadlines = deadlines;
    this.#call = call;
    this.#isStream = isStream;
    this.#sending = streamed;
    this.#hasNext = hasNext;
    this.#totalDeadlineMs = Math.min(deadlines.coarseNowMs + patience.totalMs, latestMs);
    // Connecting has a timeout of its own (upstream/pools.ts).
    this.deadlineMs = this.#totalDeadlineMs;
    deadlines.add(this);
  }

  /** Milliseconds since the request was sent, as coarse as the shared clock. */
  get sinceSentMs(): number {
    return this.#deadlines.coarseNowMs - this.#sentAtMs;
  }

  /** The request is sent, or begins to be. */
  sent(): void {
    this.#sentAtMs = this.#deadlines.coarseNowMs;
    if (this.#sending === undefined) this.#awaitAnswer();
    else this.sentMore();
  }

  /** Some of a streamed body was taken. */
  sentMore(): void {
    if (this.#sending === undefined) return;
    if (this.#hasAnswer) this.awaitMore();
    else this.#await('it took nothing of the body for timeouts.first_byte', this.#nowAnd(this.#patience.firstByteMs));
  }

  /** All of a streamed body was taken. */
  sentAll(): void {
    if (this.#sending === undefined) return;
    this.#sending = undefined;
    if (this.#hasAnswer) return;
    this.#sentAtMs = this.#deadlines.coarseNowMs;
    this.#awaitAnswer();
  }

  #awaitAnswer(): void {
    const { firstByteMs } = this.#patience;
    if (this.#isStream && this.#eventMs < firstByteMs) this.#awaitEvent();
    else this.#await('no first byte within timeouts.first_byte', this.#sentAtMs + firstByteMs);
  }

  /** A stream begins. */
  awaitFirstEvent(): void {
    this.#hasAnswer = true;
    this.#awaitEvent();
  }

  #awaitEvent(): void {
    this.#await('no first event within timeouts.first_event', this.#sentAtMs + this.#eventMs);
    this.#isBeforeEvent = true;
  }

  get #eventMs(): number {
    const { firstEventMs, otherEventMs } = this.#patience;
    return this.#hasNext === undefined ? firstEventMs : otherEventMs;
  }

  /**
   * A stream has begun without content. Only the first call starts the wait; later events without content do not extend
   * it.
   */
  awaitWords(): void {
    if (this.#isQuiet) return;
    this.#isQuiet = true;
    this.#isBeforeEvent = false;
    this.deadlineMs = Math.min(this.#nowAnd(quietMs), this.#totalDeadlineMs);
  }

  /** A part of the body has come, or the call goes on after a pause. */
  awaitMore(): void {
    this.#hasAnswer = true;
    this.#isQuiet = false;
    this.#await('the stream was silent for timeouts.stream_idle', this.#nowAnd(this.#patience.streamIdleMs));
  }

  /** The client does not read: only the total deadline runs. */
  pause(): void {
    this.deadlineMs = this.#totalDeadlineMs;
  }

  /** The client has left: waits only `usageDrainMs` longer for the usage. */
  finishSoon(): void {
    this.#totalDeadlineMs = Math.min(this.#totalDeadlineMs, this.#deadlines.coarseNowMs + this.#patience.usageDrainMs);
  }

  /** Nothing is awaited any more. */
  stop(): void {
    this.#deadlines.remove(this);
  }

  expire(): void {
    const isTotal = this.#deadlines.coarseNowMs >= this.#totalDeadlineMs;
    // The client is slow, not the provider.
    if (!isTotal && this.#sending?.isAwaited === true) {
      this.sentMore();
      return;
    }
    if (this.#isQuiet && !isTotal) {
      this.#isQuiet = false;
      this.#call.staysQuiet();
      return;
    }
    if (this.#isBeforeEvent && !isTotal && this.#hasNext?.() === false) {
      // No other target could do better.
      this.#hasNext = undefined;
      if (this.#hasAnswer) this.#awaitEvent();
      else this.#awaitAnswer();
      return;
    }
    this.#call.late(timedOut(isTotal ? 'the answer was not complete within timeouts.total' : this.#waitingFor));
  }

  #nowAnd(ms: number): number {
    return this.#deadlines.coarseNowMs + ms;
  }

  #await(what: string, dueMs: number): void {
    this.#isBeforeEvent = false;
    this.#waitingFor = what;
    this.deadlineMs = Math.min(dueMs, this.#totalDeadlineMs);
  }
}
