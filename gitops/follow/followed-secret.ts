// One file with a secret that is read again while the process runs: the keys of providers, and the gateway's own secrets; also certificates.
// Its content is compared, because Kubernetes replaces mounted secrets by moving symbolic links.
import { type KeyReading, readKeyFile } from '../read/key-file.ts';
import { HeldSecret, type Look } from './held-secret.ts';

/** Between two looks at a file; a change counts after two looks. Milliseconds. */
export const lookMs = 500;

export class FollowedSecret extends HeldSecret {
  readonly path: string;
  /** The result of the last look, when it differs from the known one: a file that is being written is read twice. */
  #seen: string | undefined;
  readonly #read: (path: string) => Promise<KeyReading>;

  /** `key` and `problemOf`: see `HeldSecret`. `read` never rejects. */
  constructor(
    path: string,
    key?: string,
    problemOf?: (key: string) => string | undefined,
    read: (path: string) => Promise<KeyReading> = readKeyFile,
  ) {
    super(key, problemOf);
    this.path = path;
    this.#read = read;
  }

  /** Reads the file and takes what it holds. Never rejects. */
  async read(): Promise<void> {
    const reading = this.judged(await this.#read(this.path));
    this.#seen = undefined;
    this.take(reading);
  }

  /** Reads the file; a change counts when two looks in a row have found it. Undefined: nothing has changed. Never rejects. */
  async look(): Promise<Look | undefined> {
    const reading = this.judged(await this.#read(this.path));
    if (!this.#isSteadyChange(reading)) return undefined;
    this.#seen = undefined;
    return this.take(reading);
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
