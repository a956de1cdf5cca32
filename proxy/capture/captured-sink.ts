// A sink that also passes the bytes of an answer to a second reader.
import type { Failure, Sink } from '../answer.ts';

/** The client has its bytes first. */
export class CapturedSink implements Sink {
  readonly #next: Sink;
  readonly #take: (chunk: Buffer) => void;

  constructor(next: Sink, take: (chunk: Buffer) => void) {
    this.#next = next;
    this.#take = take;
  }

  write(chunk: Buffer): boolean {
    const isFlowing = this.#next.write(chunk);
    this.#take(chunk);
    return isFlowing;
  }

  end(failure: Failure | undefined): void {
    this.#next.end(failure);
  }
}
