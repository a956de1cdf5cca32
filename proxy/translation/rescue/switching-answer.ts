// An answer whose bytes come from one target after the other. It ends when the last one does.
import { type Answer, type Failure, ReheadedAnswer, type Sink } from '../../answer.ts';

export class SwitchingAnswer extends ReheadedAnswer {
  /** Undefined: the target has broken off, and no other answers yet. */
  #current: Answer | undefined;
  #sink: Sink | undefined;
  readonly #whenCancelled: () => void;

  /** `whenCancelled` is called when it is ended between two targets. */
  constructor(first: Answer, whenCancelled: () => void) {
    super(first);
    this.#current = first;
    this.#whenCancelled = whenCancelled;
  }

  override attach(sink: Sink): void {
    this.#sink = sink;
    this.#pass();
  }

  /** Nothing more of what comes is wanted; the end is not told. */
  leave(): void {
    const left = this.#current;
    this.#current = undefined;
    left?.cancel();
  }

  /** The bytes of another answer follow. */
  goOn(next: Answer): void {
    this.#current = next;
    this.#pass();
  }

  #pass(): void {
    const [current, sink] = [this.#current, this.#sink];
    if (current === undefined || sink === undefined) return;
    current.attach({
      write: (chunk) => this.#current !== current || sink.write(chunk),
      end: (failure) => {
        if (this.#current === current) sink.end(failure);
      },
    });
  }

  override resume(): void {
    this.#current?.resume();
  }

  override finishSoon(): void {
    this.#current?.finishSoon();
  }

  override cancel(failure?: Failure): void {
    if (this.#current !== undefined) {
      this.#current.cancel(failure);
      return;
    }
    this.#whenCancelled();
    this.#sink?.end(failure);
  }
}
