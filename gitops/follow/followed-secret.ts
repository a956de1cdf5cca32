// One file with a secret that is read again while the process runs: the keys of providers, and the gateway's own secrets; also certificates.
// Its content is compared, because Kubernetes replaces mounted secrets by moving symbolic links.
import { type KeyReading, readKeyFile } from '../read/key-file.ts';

/** Between two looks at a file; a change counts after two looks. Milliseconds. */
export const lookMs = 500;

/** Secrets before the one in force that are remembered: a request under way may have been sent with one. */
const mostFormer = 2;

/**
 * The change that a look found. `renewed`: the file has another secret. `found`: it has one for the first time. `lost`:
 * it cannot be used any more. `back`: it has the last secret again.
 */
export type Look = 'renewed' | 'found' | 'lost' | 'back';

export class FollowedSecret {
  readonly path: string;
  /** The last secret that could be used; undefined: none yet. */
  key: string | undefined;
  /** The secrets before, the latest first. */
  former: readonly string[] = [];
  /** Why the file cannot be used now, as the end of a sentence: "is empty". */
  trouble: string | undefined;
  /** The result of the last look, when it differs from the known one: a file that is being written is read twice. */
  #seen: string | undefined;
  readonly #problemOf: (key: string) => string | undefined;
  readonly #read: (path: string) => Promise<KeyReading>;

  /**
   * `problemOf` says what is wrong with a secret that was read, as the end of a sentence. `key`: what was read before. `read` never
   * rejects.
   */
  constructor(
    path: string,
    key?: string,
    problemOf: (key: string) => string | undefined = () => undefined,
    read: (path: string) => Promise<KeyReading> = readKeyFile,
  ) {
    this.path = path;
    this.key = key;
    this.#problemOf = problemOf;
    this.#read = read;
  }

  /** Reads the file and takes what it holds. Never rejects. */
  async read(): Promise<void> {
    this.#take(await this.#reading());
  }

  /** Reads the file; a change counts when two looks in a row have found it. Undefined: nothing has changed. Never rejects. */
  async look(): Promise<Look | undefined> {
    const reading = await this.#reading();
    if (!this.#isSteadyChange(reading)) return undefined;
    const { key, trouble } = this;
    this.#take(reading);
    if ('trouble' in reading) return trouble === undefined ? 'lost' : undefined;
    if (key === undefined) return 'found';
    return key === reading.key ? 'back' : 'renewed';
  }

  async #reading(): Promise<KeyReading> {
    const reading = await this.#read(this.path);
    const problem = 'key' in reading ? this.#problemOf(reading.key) : undefined;
    return problem === undefined ? reading : { trouble: problem };
  }

  #take(reading: KeyReading): void {
    this.#seen = undefined;
    this.trouble = 'trouble' in reading ? reading.trouble : undefined;
    if ('trouble' in reading || reading.key === this.key) return;
    if (this.key !== undefined) this.former = [this.key, ...this.former].slice(0, mostFormer);
    this.key = reading.key;
  }

  #isSteadyChange(reading: KeyReading): boolean {
    const isSame =
      'trouble' in reading ? this.trouble === reading.trouble : this.trouble === undefined && this.key === reading.key;
    const seen = isSame ? undefined : JSON.stringify(reading);
    const isSteady = seen !== undefined && this.#seen === seen;
    this.#seen = seen;
    return isSteady;
  }
}
