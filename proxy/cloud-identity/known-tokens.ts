// What no error of a provider may tell of credentials that come and go: those in force and those before them.
import type { Credential } from './token-source.ts';

/** How long an ended credential is still taken out of what a provider says, which may come late. Milliseconds. */
const keptMs = 600_000;

/** As for keys: shorter words are none that could be looked for. */
const shortest = 8;

/** One list for as long as its provider is configured; who reads it sees what is known at that moment. */
export class KnownTokens {
  readonly #fixed = new Set<string>();
  /** What each credential holds, and until when it is known. */
  #known: { readonly words: readonly string[]; readonly untilMs: number }[] = [];
  readonly #words: string[] = [];

  /** Longest first. */
  get words(): readonly string[] {
    return this.#words;
  }

  /** `endsAtMs`: of the credential. */
  add(credential: Credential, endsAtMs: number, nowMs: number): void {
    const words = wordsOf(credential).filter((word) => word.length >= shortest);
    const known = this.#known.filter((one) => one.untilMs > nowMs && one.words[0] !== words[0]);
    this.#known = [...known, { words, untilMs: Math.max(endsAtMs, nowMs) + keptMs }];
    this.#write();
  }

  /** Other secrets of the provider. */
  also(secrets: readonly string[]): void {
    for (const secret of secrets) this.#fixed.add(secret);
    this.#write();
  }

  #write(): void {
    const words = new Set([...this.#fixed, ...this.#known.flatMap((one) => one.words)]);
    this.#words.splice(0, this.#words.length, ...[...words].sort((one, other) => other.length - one.length));
  }
}

/** The secret key of a pair with a session token is never sent, so no provider can say it. */
function wordsOf(credential: Credential): string[] {
  if (credential.kind === 'bearer') return [credential.token];
  const { accessKeyId, secretAccessKey, sessionToken } = credential.credentials;
  return sessionToken === undefined ? [secretAccessKey, accessKeyId] : [sessionToken];
}
