// The tap that keeps a provider's secrets out of an error that stands in an answer of status 200, beside its choices. Errors of other
// answers are written anew (provider-error.ts), and those of streams are found by their dialect.
import type { Failure, Sink, Tap } from '../answer.ts';
import {
  bodyWithoutSecrets,
  errorMark,
  mayNameError,
  type PassingSecrets,
  passingSecrets,
} from '../dialects/stream-secrets.ts';

export class SecretsTap implements Tap {
  readonly #secrets: readonly string[];
  readonly #isWatched: boolean;

  /** `secrets`: what no error may tell, longest first. `isWatched`: a dialect reads its events. */
  constructor(secrets: readonly string[], isWatched: boolean) {
    this.#secrets = secrets;
    this.#isWatched = isWatched;
  }

  whole(body: Buffer): Buffer {
    return bodyWithoutSecrets(body, this.#secrets);
  }

  open(next: Sink): Sink {
    return this.#isWatched || this.#secrets.length === 0 ? next : new LongBody(this.#secrets, next);
  }

  awaitsMore(): boolean {
    return false;
  }
}

/**
 * A body too long to be held, or a stream in an encoding that is not known. Behind the first error that it may name, known secrets are
 * masked; its length stays the same.
 */
class LongBody implements Sink {
  readonly #secrets: readonly string[];
  readonly #next: Sink;
  #passing: PassingSecrets | undefined;
  /** The end of the chunk before: the mark of an error may be cut. */
  #end: Buffer = Buffer.alloc(0);

  constructor(secrets: readonly string[], next: Sink) {
    this.#secrets = secrets;
    this.#next = next;
  }

  write(chunk: Buffer): boolean {
    if (this.#passing === undefined && this.#namesError(chunk)) this.#passing = passingSecrets(this.#secrets, true);
    const bytes = this.#passing === undefined ? chunk : this.#passing.push(chunk);
    return bytes.length === 0 || this.#next.write(bytes);
  }

  end(failure: Failure | undefined): void {
    const rest = this.#passing?.flush();
    if (rest !== undefined && rest.length > 0) this.#next.write(rest);
    this.#next.end(failure);
  }

  #namesError(chunk: Buffer): boolean {
    const cut = errorMark.length - 1;
    const seam = Buffer.concat([this.#end, chunk.subarray(0, cut)]);
    this.#end = Buffer.from(chunk.length < cut ? seam.subarray(-cut) : chunk.subarray(-cut));
    return seam.includes(errorMark) || mayNameError(chunk);
  }
}
