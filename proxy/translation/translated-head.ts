// A provider's answer as the client sees it when its body is translated: the type of the client's dialect, plain, of unknown length.
import { type Answer, ReheadedAnswer } from '../answer.ts';

export class TranslatedHead extends ReheadedAnswer {
  readonly #isStream: boolean;

  /** `isStream`: a stream was asked for, and is what becomes of the answer. */
  constructor(answer: Answer, isStream: boolean) {
    super(answer);
    this.#isStream = isStream;
  }

  override get stream(): boolean {
    return this.#isStream;
  }

  override get status(): number {
    return 200;
  }

  override get contentType(): string {
    return this.stream ? 'text/event-stream; charset=utf-8' : 'application/json; charset=utf-8';
  }
}
