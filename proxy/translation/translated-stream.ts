// A streamed answer in the words of its client, event by event. What is long is told in steps, so that it holds up no other request.
import { errorTypeOf, errorTypes } from '../../schemas/error-type.ts';
import type { Answer, Failure, Sink } from '../answer.ts';
import type { StreamEvent, StreamFailure } from '../dialects/conversation/stream-event.ts';
import { redactWords } from '../dialects/redact.ts';
import { statusSaid } from '../dialects/said-status.ts';
import { maxEventBytes, ServerEventSplitter } from '../dialects/server-events.ts';
import { type EventReader, type EventSplitter, type EventWriter, InvalidAnswer } from '../dialects/translation.ts';
import { refusal } from '../errors.ts';
import { type Slices, shortBytes } from '../pacing/slices.ts';
import { inPieces } from './in-pieces.ts';
import { type JoinedStream, OtherAnswer } from './rescue/joined-stream.ts';
import { isOfProvider, type Rescuing, type Successor, spentOf } from './rescue/rescuing.ts';
import { eventReader, eventWriter, type Translated } from './translated.ts';
import type { TranslatedUsage } from './translated-usage.ts';

/** Longest message of a provider that is passed on, in characters. */
const mostWords = 2_000;
/**
 * Most of one answer, because writers keep what they have written, and readers what they cannot tell yet: characters of its parts, each of
 * which counts as some more, and bytes that told nothing.
 */
const mostContent = 64 * 1024 * 1024;
const partContent = 512;
const mostSilentBytes = maxEventBytes + 64 * 1024;
/** Of an error that does not say what kind it is. */
const unsaidStatus = 502;
/** The failure that ends an answer when the gateway itself fails in the middle of it. */
const ownFailure: Failure = { code: 'internal_error', reason: '' };
const incomplete: Failure = { code: 'stream_incomplete', reason: '' };

/** A streamed answer, and how it is translated. */
export interface Streaming {
  readonly answer: Pick<Answer, 'cancel' | 'resume' | 'stream'>;
  readonly translated: Translated;
  /** The secrets that no error may contain, longest first. */
  readonly secrets: readonly string[];
  /** Unix milliseconds. */
  readonly nowMs: number;
  /** Tells the operator of an unexpected failure. */
  readonly report: (error: unknown) => void;
  /** Has another target go on where this one breaks off; absent: none does. */
  readonly rescuing?: Rescuing | undefined;
}

/**
 * Reads events of the provider and writes those of the client. Nothing is held but an event that has not ended, what readers hold of a part,
 * and what has its turn to be told.
 */
export class TranslatedStream implements Sink {
  readonly #streaming: Streaming;
  readonly #usage: TranslatedUsage;
  readonly #next: Sink;
  #translated: Translated;
  #splitter: EventSplitter;
  #reader: EventReader;
  readonly #writer: EventWriter;
  #isFinished = false;
  #contentLength = 0;
  #silentBytes = 0;
  #failed: StreamFailure | undefined;
  #broken: Failure | undefined;
  /** Undefined: one target tells all of it. */
  readonly #joined: JoinedStream | undefined;
  /** Undefined: no target goes on any more. */
  #rescuing: Rescuing | undefined;
  /** Another target is being asked. */
  #isWaiting = false;
  /** How the target before this one broke off. */
  #brokenBefore: Failure | undefined;
  /** The target whose failure ends the answer, if one does. */
  #blamed: Translated;
  /** The words in which a target told that it breaks off. */
  #words: StreamFailure | undefined;
  /** The work that is still to be written, in order. */
  readonly #works: Slices<void>[] = [];
  /** Whether the sink took the last piece without asking for a pause. */
  #isFlowing = true;
  /** The end of the answer; undefined while it goes on. */
  #ended: { readonly failure: Failure | undefined } | undefined;

  constructor(streaming: Streaming, usage: TranslatedUsage, next: Sink) {
    const { translated, nowMs, rescuing } = streaming;
    this.#streaming = streaming;
    this.#usage = usage;
    this.#next = next;
    this.#joined = rescuing?.joined;
    this.#rescuing = rescuing;
    this.#translated = translated;
    this.#blamed = translated;
    this.#splitter = translated.dialect.eventSplitter?.() ?? new ServerEventSplitter();
    this.#reader = eventReader(translated);
    this.#writer = eventWriter(translated, nowMs);
  }

  write(chunk: Buffer): boolean {
    if (this.#isOver || this.#isWaiting) return true;
    // There is room again, or the client will say so.
    this.#isFlowing = true;
    try {
      const said: StreamEvent[] = [];
      let isLong = false;
      for (const event of this.#splitter.push(chunk)) {
        isLong ||= event.data.length > shortBytes;
        for (const each of this.#reader.read(event)) said.push(each);
      }
      this.#bound(said, chunk.length);
      this.#tell(said, isLong);
    } catch (error) {
      this.#break(error instanceof OtherAnswer ? this.#differing() : invalid(error));
    }
    return this.#isFlowing && this.#works.length === 0;
  }

  end(failure: Failure | undefined): void {
    // No client waits for the one that is asked.
    if (this.#isWaiting) {
      this.#giveUpRescue();
      this.#conclude(brokenOff(failure));
      return;
    }
    const broken = this.#broken ?? this.#finish() ?? (this.#isOver ? undefined : brokenOff(failure));
    if (this.#isWaiting) return;
    if (broken !== undefined && this.#failed === undefined && this.#isRescued(broken)) return;
    this.#conclude(broken);
  }

  #conclude(broken: Failure | undefined): void {
    // A fault of the gateway is told in words that name the request (connection/client-sink.ts); what the provider said is told already.
    const isToldBehind = this.#failed === undefined && broken?.code === 'internal_error';
    if (broken !== undefined && this.#failed === undefined && !isToldBehind)
      this.#tell([{ kind: 'failed', failure: this.#words ?? wordsOf(broken) }]);
    const provider = this.#blamed.target.upstream.name;
    this.#ended = { failure: broken === undefined || isToldBehind ? broken : { ...broken, provider, isTold: true } };
    if (this.#works.length === 0) this.#next.end(this.#ended.failure);
  }

  get #isOver(): boolean {
    return this.#isFinished || this.#failed !== undefined || this.#broken !== undefined;
  }

  #bound(events: readonly StreamEvent[], bytes: number): void {
    this.#silentBytes = events.length === 0 ? this.#silentBytes + bytes : 0;
    for (const event of events) this.#contentLength += contentLength(event);
    const most = this.#writer.mostContent ?? mostContent;
    if (this.#contentLength > most || this.#silentBytes > mostSilentBytes) {
      throw new InvalidAnswer('it is too long to be translated');
    }
  }

  /** Tells what the last bytes say. Gives why the answer is broken, if it is; a provider that said so itself included. */
  #finish(): Failure | undefined {
    try {
      if (!this.#isOver) {
        const last = this.#splitter.end().flatMap((event) => this.#reader.read(event));
        this.#tell([...last, ...this.#reader.end()]);
      }
    } catch (error) {
      return error instanceof OtherAnswer ? this.#differing() : invalid(error);
    }
    return this.#failed === undefined ? undefined : incomplete;
  }

  /** `isLong`: it took long to read them. */
  #tell(events: readonly StreamEvent[], isLong: boolean = false): void {
    const told: StreamEvent[] = [];
    for (const event of events) {
      // Events behind the end of an answer are dropped, except the reason why it is broken.
      const isLate =
        this.#isFinished || this.#failed !== undefined || (this.#broken !== undefined && event.kind !== 'failed');
      if (isLate && event.kind !== 'usage') break;
      this.#usage.note(event);
      if (event.kind === 'failed') {
        if (this.#isRescued(incomplete, event.failure)) break;
        if (this.#joined !== undefined) told.push(...this.#joined.close());
        told.push(this.#withoutSecrets(event.failure));
        this.#failed = event.failure;
        continue;
      }
      if (this.#joined === undefined) told.push(event);
      else for (const each of this.#joined.push(event)) told.push(each);
      if (event.kind === 'finished') this.#noteRescued();
      if (event.kind === 'finished') this.#isFinished = true;
    }
    this.#works.push(this.#writing(told, isLong));
    if (this.#works.length === 1) this.#work();
  }

  *#writing(events: readonly StreamEvent[], isLong: boolean): Slices<void> {
    if (isLong) yield;
    let text = '';
    for (const event of events) {
      for (const each of inPieces(event)) {
        for (const piece of this.#writer.write(each)) {
          text += piece;
          if (text.length < shortBytes) continue;
          this.#isFlowing = this.#next.write(Buffer.from(text));
          text = '';
          yield;
        }
      }
    }
    if (text !== '') this.#isFlowing = this.#next.write(Buffer.from(text));
  }

  /** Does what comes next, until it pauses. */
  #work(): void {
    try {
      for (let work = this.#works[0]; work !== undefined; work = this.#works[0]) {
        if (work.next().done !== true) {
          setImmediate(() => this.#goOn());
          return;
        }
        this.#works.shift();
      }
    } catch (error) {
      // Unwritten work is dropped, an end of the answer included.
      this.#works.length = 0;
      this.#isFinished = false;
      throw error;
    }
  }

  /** Others have had their turn. */
  #goOn(): void {
    try {
      this.#work();
    } catch (error) {
      if (!(error instanceof InvalidAnswer)) this.#streaming.report(error);
      this.#break(error instanceof InvalidAnswer ? invalid(error) : ownFailure);
      return;
    }
    if (this.#works.length > 0) return;
    if (this.#ended !== undefined) this.#next.end(this.#ended.failure);
    else if (this.#isFlowing) this.#streaming.answer.resume();
  }

  /** Nothing more is read, and the provider need not go on. */
  #break(failure: Failure): void {
    this.#broken = failure;
    if (this.#ended === undefined) this.#streaming.answer.cancel(failure);
    else this.end(failure);
  }

  /** Whether another target is asked to go on. `words`: in which the target told that it breaks off. */
  #isRescued(broken: Failure, words?: StreamFailure): boolean {
    const rescuing = this.#rescuing;
    if (rescuing === undefined || !isOfProvider(broken)) return false;
    this.#blamed = this.#translated;
    this.#noteRescued();
    this.#broken = undefined;
    this.#words = words;
    if (!rescuing.joined.isJoinable) {
      rescuing.note('not_joinable');
      this.#rescuing = undefined;
      return false;
    }
    this.#isWaiting = true;
    this.#brokenBefore = broken;
    this.#usage.breakOff();
    void rescuing.goOn({ failure: broken, words, usage: this.#usage.usage() }).then((successor) => {
      if (this.#isWaiting) this.#goOnWith(successor, broken);
    });
    return true;
  }

  #goOnWith(successor: Successor | undefined, broken: Failure): void {
    try {
      if (successor === undefined) {
        this.#giveUpRescue();
        this.#conclude(broken);
        return;
      }
      const { translated, seam, asked } = successor;
      this.#isWaiting = false;
      this.#translated = translated;
      this.#splitter = translated.dialect.eventSplitter?.() ?? new ServerEventSplitter();
      this.#reader = eventReader(translated);
      this.#joined?.goOn(seam, spentOf(this.#usage.usage()));
      this.#usage.restart(asked);
      successor.begin();
    } catch (error) {
      this.#streaming.report(error);
      this.#giveUpRescue();
      this.#conclude(ownFailure);
    }
  }

  /** The one before broke off, and this one went on. */
  #noteRescued(): void {
    if (this.#brokenBefore !== undefined) this.#rescuing?.note('rescued');
    this.#brokenBefore = undefined;
  }

  #giveUpRescue(): void {
    this.#isWaiting = false;
    this.#rescuing?.leave();
    this.#rescuing = undefined;
  }

  /** Another target says something else than the client has read: the answer ends as the one before broke off. */
  #differing(): Failure {
    this.#rescuing?.note('differs');
    this.#rescuing = undefined;
    return this.#brokenBefore ?? incomplete;
  }

  #withoutSecrets(failure: StreamFailure): StreamEvent {
    const { secrets } = this.#streaming;
    const provider = failure.code === 'key_revoked' ? undefined : this.#blamed.target.upstream.name;
    const clean = (words: string): string => redactWords(words, secrets, mostWords);
    const message = clean(failure.message);
    const code = failure.code ?? failure.type;
    const status = failure.status ?? statusSaid(failure) ?? unsaidStatus;
    // Clients read the kinds of the error envelope from every provider (spec, Error envelope).
    const type = errorTypes.find((known) => known === failure.type) ?? errorTypeOf(status);
    return { kind: 'failed', failure: { message, code: code && clean(code), type, provider, status } };
  }
}

/** A stream that ended too early, for no reason or because the provider was lost. Other reasons stay what they are. */
function brokenOff(failure: Failure | undefined): Failure {
  return failure === undefined || failure.code === 'upstream_disconnected' ? incomplete : failure;
}

function wordsOf({ code, reason }: Failure): StreamFailure {
  const { message, type, status } = refusal(code, { fill: { reason, request_id: '' } });
  return { message, code, type, status };
}

/** Throws again what says nothing of the answer. */
function invalid(error: unknown): Failure {
  if (!(error instanceof InvalidAnswer)) throw error;
  return { code: 'upstream_invalid_response', reason: error.message };
}

/** The number of characters of an event that a writer may keep. */
function contentLength(event: StreamEvent): number {
  if (event.kind === 'opened') return partContent + (event.part.kind === 'whole' ? textLength(event.part.part) : 0);
  if (event.kind !== 'delta') return 0;
  return 'text' in event.delta ? event.delta.text.length : textLength(event.delta);
}

/** Of all texts in a value. Characters. */
function textLength(value: unknown): number {
  if (typeof value === 'string') return value.length;
  if (typeof value !== 'object' || value === null) return 0;
  return Object.values(value).reduce<number>((length, each) => length + textLength(each), 0);
}
