// A provider's answer as the client sees it when its body is translated: the type of the client's dialect, plain, of unknown length.
import type { Answer, Failure, Sink } from '../answer.ts';

export class TranslatedHead implements Answer {
  readonly #answer: Answer;
  readonly contentEncoding = undefined;
  readonly contentLength = undefined;
  readonly status = 200;

  constructor(answer: Answer) {
    this.#answer = answer;
  }

  get contentType(): string {
    return this.stream ? 'text/event-stream; charset=utf-8' : 'application/json; charset=utf-8';
  }

  get stream(): boolean {
    return this.#answer.stream;
  }

  get framed(): boolean {
    return this.#answer.framed;
  }

  get complete(): boolean {
    return this.#answer.complete;
  }

  body(): Buffer {
    return this.#answer.body();
  }

  attach(sink: Sink): void {
    this.#answer.attach(sink);
  }

  resume(): void {
    this.#answer.resume();
  }

  finishSoon(): void {
    this.#answer.finishSoon();
  }

  cancel(failure?: Failure): void {
    this.#answer.cancel(failure);
  }
}
