// The tap that translates an answer on its way to the client, event by event, and knows what it cost.
import { errorTypeOf, errorTypes } from '../../schemas/error-type.ts';
import type { Answer, Failure, Sink, Tap } from '../answer.ts';
import type { ConversationAnswer } from '../dialects/conversation/conversation.ts';
import type { StreamEvent, StreamFailure } from '../dialects/conversation/stream-event.ts';
import { writeJson } from '../dialects/json.ts';
import { redactWords } from '../dialects/redact.ts';
import { saidStatus } from '../dialects/said-status.ts';
import { maxEventBytes, ServerEventSplitter } from '../dialects/server-events.ts';
import { type EventReader, type EventSplitter, type EventWriter, InvalidAnswer } from '../dialects/translation.ts';
import { refusal } from '../errors.ts';
import { atOnce } from '../slices.ts';
import type { Asked } from '../tokens/measure.ts';
import type { TokenUsage } from '../tokens/token-usage.ts';
import { eventWriter, readAnswer, type Translated, writeAnswer } from './translated.ts';
import { TranslatedUsage } from './translated-usage.ts';

/** A usage event and what may come in front of it. Bytes. */
const mostDrainedBytes = 64 * 1024;
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
const nothing: Buffer = Buffer.alloc(0);

/** An answer, how it is translated, and for whom its tokens are counted. */
export interface Translating {
  readonly answer: Pick<Answer, 'cancel' | 'stream'>;
  readonly translated: Translated;
  /** What a whole answer says; undefined: it streams. */
  readonly read: ConversationAnswer | undefined;
  /** The same as bytes; undefined: it is short, and was not written yet. */
  readonly written?: Buffer | undefined;
  readonly asked: Asked;
  /** What no error may tell, longest first. */
  readonly secrets: readonly string[];
  /** Tokens are counted. */
  readonly readsUsage: boolean;
  /** Unix milliseconds. */
  readonly nowMs: number;
}

export class TranslationTap implements Tap {
  readonly #translating: Translating;
  readonly #usage: TranslatedUsage;

  constructor(translating: Translating) {
    this.#translating = translating;
    this.#usage = new TranslatedUsage(translating.asked);
  }

  /** When the client left before it was read, nothing passes, and what has come is measured. */
  whole(body: Buffer): Buffer {
    const { read, written, translated, nowMs } = this.#translating;
    if (read === undefined) {
      this.#measure(body);
      return nothing;
    }
    this.#usage.noteAnswer(read);
    return written ?? Buffer.from(writeJson(writeAnswer(translated, read, nowMs)));
  }

  #measure(body: Buffer): void {
    const { answer, translated } = this.#translating;
    const { dialect } = translated;
    try {
      if (!answer.stream) {
        this.#usage.noteAnswer(atOnce(readAnswer(translated, body)));
        return;
      }
      const splitter = dialect.eventSplitter?.() ?? new ServerEventSplitter();
      const reader = dialect.eventReader();
      for (const event of splitter.push(body)) for (const told of reader.read(event)) this.#usage.note(told);
    } catch (error) {
      // Of a part of an answer no sense can be made; then what was asked is all that counts.
      if (!(error instanceof InvalidAnswer)) throw error;
    }
  }

  open(next: Sink): Sink {
    return new TranslatedStream(this.#translating, this.#usage, next);
  }

  awaitsMore(drainedBytes: number): boolean {
    return this.#usage.awaitsUsage && drainedBytes <= mostDrainedBytes;
  }

  usage(): TokenUsage | undefined {
    return this.#translating.readsUsage ? this.#usage.usage() : undefined;
  }
}

/** Reads events of the provider and writes those of the client. Nothing is held but an event that has not ended, and what readers hold of a part. */
class TranslatedStream implements Sink {
  readonly #translating: Translating;
  readonly #usage: TranslatedUsage;
  readonly #next: Sink;
  readonly #splitter: EventSplitter;
  readonly #reader: EventReader;
  readonly #writer: EventWriter;
  #isFinished = false;
  #contentLength = 0;
  #silentBytes = 0;
  #failed: StreamFailure | undefined;
  #broken: Failure | undefined;

  constructor(translating: Translating, usage: TranslatedUsage, next: Sink) {
    const { translated, nowMs } = translating;
    this.#translating = translating;
    this.#usage = usage;
    this.#next = next;
    this.#splitter = translated.dialect.eventSplitter?.() ?? new ServerEventSplitter();
    this.#reader = translated.dialect.eventReader();
    this.#writer = eventWriter(translated, nowMs);
  }

  write(chunk: Buffer): boolean {
    if (this.#isOver) return true;
    try {
      const events = this.#splitter.push(chunk).flatMap((event) => this.#reader.read(event));
      this.#bound(events, chunk.length);
      return this.#tell(events);
    } catch (error) {
      if (!(error instanceof InvalidAnswer)) throw error;
      this.#broken = { code: 'upstream_invalid_response', reason: error.message };
      this.#translating.answer.cancel(this.#broken);
      return true;
    }
  }

  end(failure: Failure | undefined): void {
    const broken = this.#broken ?? this.#finish() ?? (this.#isOver ? undefined : brokenOff(failure));
    if (broken === undefined) {
      this.#next.end(undefined);
      return;
    }
    // A fault of the gateway is told in words that name the request (connection/client-sink.ts); what the provider said is told already.
    const isToldBehind = this.#failed === undefined && broken.code === 'internal_error';
    if (this.#failed === undefined && !isToldBehind) this.#tell([{ kind: 'failed', failure: wordsOf(broken) }]);
    this.#next.end(isToldBehind ? broken : { ...broken, isTold: true });
  }

  get #isOver(): boolean {
    return this.#isFinished || this.#failed !== undefined || this.#broken !== undefined;
  }

  #bound(events: readonly StreamEvent[], bytes: number): void {
    this.#silentBytes = events.length === 0 ? this.#silentBytes + bytes : 0;
    for (const event of events) {
      if (event.kind === 'opened') this.#contentLength += partContent;
      if (event.kind === 'delta' && 'text' in event.delta) this.#contentLength += event.delta.text.length;
    }
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
      if (!(error instanceof InvalidAnswer)) throw error;
      return { code: 'upstream_invalid_response', reason: error.message };
    }
    return this.#failed === undefined ? undefined : { code: 'stream_incomplete', reason: '' };
  }

  #tell(events: readonly StreamEvent[]): boolean {
    let text = '';
    for (const event of events) {
      // What comes behind the end of an answer concerns the client no more, but for why it is broken.
      const isLate =
        this.#isFinished || this.#failed !== undefined || (this.#broken !== undefined && event.kind !== 'failed');
      if (isLate && event.kind !== 'usage') break;
      this.#usage.note(event);
      text += this.#writer.write(event.kind === 'failed' ? this.#withoutSecrets(event.failure) : event);
      if (event.kind === 'finished') this.#isFinished = true;
      else if (event.kind === 'failed') this.#failed = event.failure;
    }
    return text === '' || this.#next.write(Buffer.from(text));
  }

  #withoutSecrets(failure: StreamFailure): StreamEvent {
    const { secrets, translated } = this.#translating;
    const provider = failure.code === 'key_revoked' ? undefined : translated.target.upstream.name;
    const clean = (words: string): string => redactWords(words, secrets, mostWords);
    const message = clean(failure.message);
    const code = failure.code ?? failure.type;
    const status = failure.status ?? saidStatus(failure) ?? unsaidStatus;
    // Clients read the kinds of the error envelope from every provider (spec, Error envelope).
    const type = errorTypes.find((known) => known === failure.type) ?? errorTypeOf(status);
    return { kind: 'failed', failure: { message, code: code && clean(code), type, provider, status } };
  }
}

/** A stream that ended too early, for no reason or because the provider was lost. Other reasons stay what they are. */
function brokenOff(failure: Failure | undefined): Failure {
  if (failure === undefined || failure.code === 'upstream_disconnected') {
    return { code: 'stream_incomplete', reason: '' };
  }
  return failure;
}

function wordsOf({ code, reason }: Failure): StreamFailure {
  const { message, type, status } = refusal(code, { fill: { reason, request_id: '' } });
  return { message, code, type, status };
}
