// Records the bodies of one request: takes them while they pass, and makes them into JSON when the request is over.

import { jsonWithoutSecrets } from '../../schemas/formats/key-shapes.ts';
import type { Answer, Sink, Tap } from '../answer.ts';
import type { Operation } from '../dialects/dialect.ts';
import { BoundedBytes } from './bounded-bytes.ts';
import type { CaptureBudget, CaptureRoom } from './capture-budget.ts';
import { CapturedSink } from './captured-sink.ts';
import { foldFor } from './folds.ts';
import { StreamCapture, type StreamFacts } from './stream-capture.ts';
import { isTextType } from './text-type.ts';
import { type WrittenBody, writeBody, writeText } from './written-body.ts';

/** Facts that are known when the request is over. */
export interface CaptureFacts extends Omit<StreamFacts, 'requestBody'> {
  /** Secrets to take out, besides everything that has the form of a key. */
  readonly secrets: readonly string[];
  /** The request's body was found to be one JSON object. */
  readonly isObject: boolean;
}

/** Bodies of which nothing is missing, in the form in which they came. */
export interface WholeBodies {
  readonly request: Buffer;
  readonly answer: Buffer;
  /** Longest JSON that stands for a body. Bytes. */
  readonly mostBytes: number;
}

const nothing: WrittenBody = { json: undefined, isTooBig: false };

export class BodyCapture implements Tap {
  readonly #mostBytes: number;
  readonly #requestRoom: CaptureRoom;
  readonly #answerRoom: CaptureRoom;
  #request: Buffer | undefined;
  #passing: BoundedBytes | undefined;
  /** The answer is text. */
  #isText = true;
  /** All of an answer that came at once. It is read before other code can change it. */
  #whole: Buffer | undefined;
  #body: BoundedBytes | undefined;
  #stream: StreamCapture | undefined;
  /** Guardrails may change or refuse the request: until they let it through, nothing of it is recorded. */
  readonly #awaitsGuardrails: boolean;
  readonly #revisionRoom: CaptureRoom;

  /** `mostBytes`: of each body. `awaitsGuardrails`: the request's body is recorded as `takeGuarded` gives it. */
  constructor(budget: CaptureBudget, mostBytes: number, awaitsGuardrails: boolean = false) {
    this.#mostBytes = mostBytes;
    this.#awaitsGuardrails = awaitsGuardrails;
    this.#revisionRoom = budget.open(mostBytes);
    this.#requestRoom = budget.open(mostBytes);
    this.#answerRoom = budget.open(mostBytes);
  }

  /** All of the request's body, which is held until the request is over. */
  takeRequest(body: Buffer): void {
    if (!this.#awaitsGuardrails) this.#request = body;
  }

  /** The body as guardrails have let it through, which is held until the request is over. */
  takeGuarded(body: Buffer): void {
    if (this.#awaitsGuardrails) this.#request = body;
  }

  /** Whether so many bytes in all can be held of what guardrails make of the request. */
  hasRoomForRevisions(bytes: number): boolean {
    return bytes <= this.#mostBytes && this.#revisionRoom.hasFor(bytes);
  }

  /** A piece of a request's body that passes. */
  readonly passRequest = (piece: Buffer): void => {
    if (this.#awaitsGuardrails) return;
    this.#passing ??= new BoundedBytes(this.#requestRoom, this.#mostBytes);
    this.#passing.add(piece);
  };

  /** The tap nearest to the client of this answer; `operation`: in whose words it is. */
  tapOf(
    { stream, contentType }: Pick<Answer, 'stream'> & Partial<Pick<Answer, 'contentType'>>,
    operation: Operation | undefined,
  ): Tap {
    this.#isText = isTextType(contentType);
    const fold = stream ? foldFor(operation) : undefined;
    if (fold !== undefined) this.#stream = new StreamCapture(fold, this.#mostBytes);
    return this;
  }

  whole(body: Buffer): Buffer {
    if (this.#stream !== undefined) this.#stream.push(body);
    else if (this.#isText) this.#whole = body;
    return body;
  }

  open(next: Sink): Sink {
    if (this.#stream !== undefined) return new CapturedSink(next, (chunk) => this.#passStream(chunk));
    if (!this.#isText) return next;
    const body = new BoundedBytes(this.#answerRoom, this.#mostBytes);
    this.#body = body;
    return new CapturedSink(next, (chunk) => body.add(chunk));
  }

  awaitsMore(): boolean {
    return false;
  }

  /** Of the answer, as far as it came. Bytes. */
  get answerLength(): number {
    return (this.#stream ?? this.#whole ?? this.#body?.bytes)?.length ?? 0;
  }

  /** Undefined: one of them is not there as it came, or too long. */
  wholeBodies(): WholeBodies | undefined {
    const request = this.#request ?? wholeOf(this.#passing);
    const answer = this.#stream === undefined ? (this.#whole ?? wholeOf(this.#body)) : undefined;
    if (request === undefined || answer === undefined) return undefined;
    return Math.max(request.length, answer.length) > this.#mostBytes
      ? undefined
      : { request: withoutMark(request), answer, mostBytes: this.#mostBytes };
  }

  /** Gives the body of the request as it is recorded. */
  request({ secrets, isObject }: CaptureFacts): WrittenBody {
    const bytes = this.#request ?? this.#passing?.bytes;
    if (bytes === undefined) return nothing;
    const isCut = this.#request === undefined && this.#passing?.isCut === true;
    // A long request is left out: its beginning tells little of what was asked last.
    if (isCut || bytes.length > this.#mostBytes) return { json: undefined, isTooBig: true };
    return writeBody({ bytes: withoutMark(bytes), isCut, mostBytes: this.#mostBytes, secrets, isObject });
  }

  /** Gives the body of the answer as it is recorded. Throws an unexpected failure of reading its stream. */
  answer(facts: CaptureFacts): WrittenBody {
    if (this.#stream !== undefined) return this.#folded(this.#stream, facts);
    const bytes = this.#whole ?? this.#body?.bytes;
    if (bytes === undefined) return nothing;
    const { secrets } = facts;
    return writeBody({ bytes, isCut: this.#body?.isCut === true, mostBytes: this.#mostBytes, secrets });
  }

  /** Gives the memory back. Again does nothing. */
  release(): void {
    this.#requestRoom.release();
    this.#answerRoom.release();
    this.#revisionRoom.release();
  }

  #passStream(chunk: Buffer): void {
    const stream = this.#stream;
    if (stream === undefined) return;
    if (this.#answerRoom.hasFor(Math.min(stream.length + chunk.length, this.#mostBytes))) stream.push(chunk);
    else stream.stop();
  }

  #folded(stream: StreamCapture, { secrets, model, nowMs }: CaptureFacts): WrittenBody {
    const requestBody = this.#request ?? this.#passing?.bytes;
    const json = stream.json({ requestBody, model, nowMs });
    if (json === undefined) return { json: undefined, isTooBig: stream.isCut };
    const clean = jsonWithoutSecrets(json, secrets);
    if (clean !== undefined && Buffer.byteLength(clean) <= this.#mostBytes)
      return { json: clean, isTooBig: stream.isCut };
    return writeText(json, { isCut: true, mostBytes: this.#mostBytes, secrets });
  }
}

function wholeOf(body: BoundedBytes | undefined): Buffer | undefined {
  return body?.isCut === false ? body.bytes : undefined;
}

/** A byte order mark is no part of a text. */
function withoutMark(bytes: Buffer): Buffer {
  return bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? bytes.subarray(3) : bytes;
}
