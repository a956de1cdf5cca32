// A secret that is read again while the process runs: what is in force, what was before, and why it cannot be read now.
import type { KeyReading } from '../read/key-file.ts';

/** Secrets before the one in force that are remembered: a request under way may have been sent with one. */
const mostFormer = 2;

/**
 * The change that a look found. `renewed`: there is another secret. `found`: there is one for the first time. `lost`: it cannot be used any
 * more. `back`: it is the last secret again.
 */
export type Look = 'renewed' | 'found' | 'lost' | 'back';

export class HeldSecret {
  /** The last secret that could be used; undefined: none yet. */
  key: string | undefined;
  /** The secrets before, the latest first. */
  former: readonly string[] = [];
  /** Why it cannot be used now, as the end of a sentence: "is empty". */
  trouble: string | undefined;
  /** When `key` was last found to be in force; whoever reads it keeps it. Unix milliseconds. */
  readAtMs: number | undefined;
  readonly #problemOf: (key: string) => string | undefined;

  /** `problemOf` says what is wrong with a secret that was read, as the end of a sentence. `key`: what was read before. */
  constructor(key?: string, problemOf: (key: string) => string | undefined = () => undefined) {
    this.key = key;
    this.#problemOf = problemOf;
  }

  /** The reading, or what is wrong with the secret. */
  protected judged(reading: KeyReading): KeyReading {
    const problem = 'key' in reading ? this.#problemOf(reading.key) : undefined;
    return problem === undefined ? reading : { trouble: problem };
  }

  /** Takes what was judged. Undefined: nothing has changed, or there is another trouble. */
  protected take(judged: KeyReading): Look | undefined {
    const { key, trouble } = this;
    this.trouble = 'trouble' in judged ? judged.trouble : undefined;
    if ('trouble' in judged) return trouble === undefined ? 'lost' : undefined;
    this.key = judged.key;
    if (key === undefined) return 'found';
    if (key === judged.key) return trouble === undefined ? undefined : 'back';
    this.former = [key, ...this.former].slice(0, mostFormer);
    return 'renewed';
  }
}
