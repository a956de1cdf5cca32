// Verified tokens by their digest. What is used stays; memory is bounded.
import type { AuthKey } from '../../domain/keys/auth-key.ts';

/** Of one of two generations. */
const mostTokens = 10_000;
const mostBytes = 16 * 1024 * 1024;

/** Two generations: a token that is used moves to the younger one, and the older one is dropped when the younger one is full. */
export class TokenMemory {
  #young = new Map<string, AuthKey>();
  #old = new Map<string, AuthKey>();
  #bytes = 0;

  get size(): number {
    return this.#young.size + this.#old.size;
  }

  get(digest: string): AuthKey | undefined {
    const young = this.#young.get(digest);
    if (young !== undefined) return young;
    const old = this.#old.get(digest);
    if (old === undefined) return undefined;
    this.#old.delete(digest);
    this.keep(old);
    return old;
  }

  /** `key.digest` is that of the token. */
  keep(key: AuthKey): void {
    const bytes = key.token?.bytes ?? 0;
    if (this.#young.size >= mostTokens || this.#bytes + bytes > mostBytes) {
      this.#old = this.#young;
      this.#young = new Map();
      this.#bytes = 0;
    }
    this.#old.delete(key.digest);
    this.#young.set(key.digest, key);
    this.#bytes += bytes;
  }

  find(isWanted: (key: AuthKey) => boolean): AuthKey | undefined {
    for (const generation of [this.#young, this.#old])
      for (const key of generation.values()) if (isWanted(key)) return key;
    return undefined;
  }

  drop(digest: string): void {
    this.#young.delete(digest);
    this.#old.delete(digest);
  }
}
