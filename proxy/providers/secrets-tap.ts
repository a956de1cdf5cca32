// The tap that keeps a provider's secrets out of an error that stands in an answer of status 200, beside its choices. Errors of other
// answers are written anew (provider-error.ts), and those of streams are found by their dialect.
import type { Sink, Tap } from '../answer.ts';
import { bodyWithoutSecrets } from '../dialects/stream-secrets.ts';

export class SecretsTap implements Tap {
  readonly #secrets: readonly string[];

  /** `secrets`: what no error may tell, longest first. */
  constructor(secrets: readonly string[]) {
    this.#secrets = secrets;
  }

  whole(body: Buffer): Buffer {
    return bodyWithoutSecrets(body, this.#secrets);
  }

  open(next: Sink): Sink {
    return next;
  }

  awaitsMore(): boolean {
    return false;
  }
}
