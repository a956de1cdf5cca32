// Where the bytes of an answer are read for its usage while they pass.
import type { Failure, Sink } from '../answer.ts';
import type { UsageReader } from './usage-reader.ts';

/** Passes all bytes on as they are, and has them read. */
export class ReadSink implements Sink {
  readonly #reader: UsageReader;
  readonly #next: Sink;

  constructor(reader: UsageReader, next: Sink) {
    this.#reader = reader;
    this.#next = next;
  }

  write(chunk: Buffer): boolean {
    this.#reader.push(chunk);
    return this.#next.write(chunk);
  }

  end(failure: Failure | undefined): void {
    this.#next.end(failure);
  }
}
