// The tap of a streamed answer that guardrails look at. It may wait for a verdict; then what comes meanwhile is queued.
import type { Answer, Failure, Sink, Tap } from '../answer.ts';
import { Refusal } from '../errors.ts';
import { EventCutter, type StreamedEvent } from './event-bytes.ts';
import { type Flow, run } from './flow.ts';
import type { Guarding } from './guarding.ts';
import { type AnswerEdits, mostLength, StreamEditor } from './stream-editor.ts';

/** The work between two pauses: bytes, where each piece counts as `pieceLength` more. A few milliseconds. */
const stepLength = 32 * 1024;
const pieceLength = 64;
/** The most bytes that are passed on together; the next tap reads them without a pause. */
const longestPiece = 256 * 1024;

/** Cuts an answer into pieces, and turns each into the bytes that may pass. */
export interface Pieces<Piece extends { readonly bytes: Buffer }> {
  readonly cutter: {
    /** Bytes of a piece that has not ended. */
    readonly heldBytes: number;
    push(chunk: Buffer): readonly Piece[];
    /** The answer is over: what is left. */
    end(): readonly Piece[];
  };
  readonly editor: {
    /** Characters of all texts that are held. */
    readonly length: number;
    /** The bytes that stand for a piece. Throws 400 `guardrail_blocked`. */
    edit(piece: Piece): Flow<readonly Buffer[]>;
    /** The answer is over: what was held back. */
    end(): Flow<readonly Buffer[]>;
  };
}

/** The guard of an answer while it flows. */
export interface PiecesGuard<Piece extends { readonly bytes: Buffer }> {
  readonly open: () => Pieces<Piece>;
  /** The guardrail that refuses, and why. */
  readonly refused: () => Failure | undefined;
  readonly answer: Pick<Answer, 'cancel' | 'resume'>;
  /** Tells the operator of an unexpected failure. */
  readonly report: (error: unknown) => void;
}

/** The guard of a stream. */
export interface StreamGuard extends Pick<PiecesGuard<StreamedEvent>, 'answer' | 'report'> {
  readonly guarding: Pick<Guarding, 'refused' | 'texts'>;
  /** The edits of the answer. */
  readonly edits: AnswerEdits;
}

export class PiecesTap<Piece extends { readonly bytes: Buffer }> implements Tap {
  readonly #guard: PiecesGuard<Piece>;

  constructor(guard: PiecesGuard<Piece>) {
    this.#guard = guard;
  }

  /** The client has left: nothing is told. */
  whole(): Buffer {
    return Buffer.alloc(0);
  }

  open(next: Sink): Sink {
    return new GuardedStream(this.#guard, next);
  }

  awaitsMore(): boolean {
    return false;
  }
}

/** The tap of a stream of events. */
export class GuardTap extends PiecesTap<StreamedEvent> {
  constructor({ guarding, edits, answer, report }: StreamGuard) {
    const open = (): Pieces<StreamedEvent> => {
      const { events } = guarding.texts;
      if (events === undefined) throw new Error('an answer without words is not guarded');
      return { cutter: new EventCutter(), editor: new StreamEditor(edits, events) };
    };
    super({ open, refused: () => guarding.refused, answer, report });
  }
}

class GuardedStream<Piece extends { readonly bytes: Buffer }> implements Sink {
  readonly #guard: PiecesGuard<Piece>;
  readonly #next: Sink;
  readonly #cutter: Pieces<Piece>['cutter'];
  readonly #editor: Pieces<Piece>['editor'];
  readonly #queue: Piece[] = [];
  /** The number of pieces at its beginning that have passed. */
  #told = 0;
  #queuedBytes = 0;
  /** A verdict is waited for. */
  #isWaiting = false;
  /** Whether the sink took the last piece without asking for a pause. */
  #isFlowing = true;
  #broken: Failure | undefined;
  /** The end of the answer; undefined while it goes on. */
  #ended: { readonly failure: Failure | undefined } | undefined;
  /** Whether the held end has passed, or is on its way. */
  #hasRest = false;
  #isOver = false;

  constructor(guard: PiecesGuard<Piece>, next: Sink) {
    this.#guard = guard;
    this.#next = next;
    const { cutter, editor } = guard.open();
    this.#cutter = cutter;
    this.#editor = editor;
  }

  write(chunk: Buffer): boolean {
    if (this.#broken !== undefined || this.#isOver) return true;
    // There is room again, or the client will say so: where this chunk is held back, nothing else would let the next one come.
    this.#isFlowing = true;
    this.#enqueue(this.#cutter.push(chunk));
    if (this.#isTooLong()) return true;
    this.#work();
    return this.#isFlowing && !this.#isWaiting;
  }

  end(failure: Failure | undefined): void {
    if (this.#ended !== undefined) return;
    this.#ended = { failure };
    // Of an answer that broke off nothing more is told.
    if (failure === undefined && this.#broken === undefined) this.#enqueue(this.#cutter.end());
    this.#work();
  }

  #enqueue(events: readonly Piece[]): void {
    for (const event of events) {
      this.#queue.push(event);
      this.#queuedBytes += event.bytes.length;
    }
  }

  /** Breaks an answer that is too long. */
  #isTooLong(): boolean {
    if (this.#queuedBytes + this.#cutter.heldBytes + this.#editor.length <= mostLength) return false;
    this.#break({ code: 'upstream_invalid_response', reason: 'it is too long to be checked' });
    return true;
  }

  /** Does what can be done without waiting, some milliseconds at a time. */
  #work(): void {
    let length = 0;
    while (!this.#isWaiting && this.#broken === undefined && !this.#isTooLong()) {
      const event = this.#queue[this.#told];
      if (event === undefined) break;
      if (length > stepLength) {
        this.#pause(() => undefined);
        return;
      }
      this.#told += 1;
      this.#queuedBytes -= event.bytes.length;
      length += event.bytes.length + pieceLength;
      this.#tell(() => run(this.#editor.edit(event)));
    }
    if (this.#told === this.#queue.length) this.#clear();
    if (!this.#isWaiting && this.#ended !== undefined) this.#finish(this.#ended.failure);
  }

  /** Tells the events that some work gives; one that waits is followed by what was queued behind it. */
  #tell(work: () => readonly Buffer[] | Promise<readonly Buffer[]>): void {
    try {
      const events = work();
      if (!(events instanceof Promise)) {
        this.#write(events);
        return;
      }
      this.#isWaiting = true;
      events.then(
        (come) => this.#goOn(() => this.#write(come)),
        (error: unknown) => this.#goOn(() => this.#fail(error)),
      );
    } catch (error) {
      this.#fail(error);
    }
  }

  #goOn(first: () => void): void {
    this.#isWaiting = false;
    try {
      first();
      this.#work();
    } catch (error) {
      this.#guard.report(error);
      this.#break({ code: 'internal_error', reason: '' });
    }
    if (!this.#isWaiting && this.#isFlowing && !this.#isOver) this.#guard.answer.resume();
  }

  /** Writes long bytes in pieces, because the next tap reads them, too. */
  #write(events: readonly Buffer[]): void {
    const [first] = events;
    if (first === undefined || this.#broken !== undefined) return;
    const bytes = events.length === 1 ? first : Buffer.concat(events);
    this.#isFlowing = this.#next.write(bytes.subarray(0, longestPiece));
    if (bytes.length > longestPiece) this.#pause(() => this.#write([bytes.subarray(longestPiece)]));
  }

  /** Others have their turn first. */
  #pause(next: () => void): void {
    this.#isWaiting = true;
    setImmediate(() => this.#goOn(next));
  }

  #fail(error: unknown): void {
    const refused = this.#guard.refused();
    if (!(error instanceof Refusal) || refused === undefined || error.code !== refused.code) throw error;
    this.#break(refused);
  }

  #clear(): void {
    this.#queue.length = 0;
    this.#told = 0;
  }

  /** Nothing more is told, and the provider need not go on. */
  #break(failure: Failure): void {
    if (this.#broken !== undefined) return;
    this.#broken = failure;
    this.#clear();
    if (this.#ended === undefined) this.#guard.answer.cancel(failure);
    else this.#finish(failure);
  }

  #finish(failure: Failure | undefined): void {
    if (this.#isOver) return;
    const broken = this.#broken ?? failure;
    if (broken === undefined && !this.#hasRest) {
      this.#hasRest = true;
      this.#tell(() => run(this.#editor.end()));
      if (this.#isWaiting) return;
      this.#finish(undefined);
      return;
    }
    this.#isOver = true;
    this.#next.end(broken);
  }
}
