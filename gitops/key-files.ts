// The keys of providers that lie in files (`api_key_file`): read with the configuration, and again every half second, so that a rotated
// key needs no restart. The content is compared: Kubernetes replaces mounted secrets by moving symbolic links.
import type { AssembledConfig, KeyFile } from './assembled.ts';
import { type KeyReading, readKeyFile } from './key-file.ts';
import type { Loaded } from './load.ts';
import { type Problem, sortProblems } from './problem.ts';

/** Keys before the one in force that answers must not tell either: a request under way may have been sent with one. */
const mostFormer = 2;

/** What is known of a file. */
interface Known {
  /** The last key that could be read; undefined: never. */
  key: string | undefined;
  /** The keys before, the latest first. */
  former: readonly string[];
  /** Why it cannot be read now. */
  trouble: string | undefined;
  /** What the last look found, when it differs from what is known: a file that is being written is read twice. */
  seen: string | undefined;
}

/** What one look at all files has changed. */
export interface KeyChanges {
  readonly renewed: readonly KeyFile[];
  /** They became unreadable: the last key stays. */
  readonly lost: readonly Problem[];
  /** They became readable for the first time. */
  readonly found: readonly KeyFile[];
}

export class KeyFiles {
  readonly #known = new Map<string, Known>();
  /** Of the configuration that was loaded last. */
  #loaded: readonly KeyFile[] = [];
  #inForce: readonly KeyFile[] = [];
  /** Without a key, so that a configuration was rejected. */
  #wanting: readonly KeyFile[] = [];

  /** Files in use that cannot be read now. */
  get unreadable(): number {
    return this.#inForce.filter(({ path }) => this.#known.get(path)?.trouble !== undefined).length;
  }

  /** Reads the files of a loaded configuration. Without a key of some provider, it has problems instead. */
  async complete(loaded: Loaded): Promise<Loaded> {
    this.#loaded = loaded.config?.keyFiles ?? [];
    const wanting: KeyFile[] = [];
    for (const file of this.#loaded) {
      if (this.#known.get(file.path)?.key !== undefined) continue;
      if (this.#note(file.path, await readKeyFile(file.path)).key === undefined) wanting.push(file);
    }
    this.#wanting = wanting;
    if (wanting.length === 0) return loaded;
    const problems = wanting.map((file) => problemOf(file, this.#known.get(file.path)?.trouble));
    return { problems: sortProblems([...loaded.problems, ...problems]), warnings: loaded.warnings };
  }

  /** The configuration with its keys, which is in force from now on. */
  fill(config: AssembledConfig): AssembledConfig {
    this.#inForce = config.keyFiles ?? [];
    const wanted = new Set([...this.#inForce, ...this.#loaded, ...this.#wanting].map(({ path }) => path));
    for (const path of this.#known.keys()) if (!wanted.has(path)) this.#known.delete(path);
    if (this.#inForce.length === 0) return config;
    const providers = { ...config.providers };
    const formerKeys: Record<string, readonly string[]> = {};
    for (const { provider: name, path } of this.#inForce) {
      const provider = providers[name];
      const { key, former = [] } = this.#known.get(path) ?? {};
      if (provider === undefined || key === undefined) continue;
      providers[name] = { ...provider, api_key: key };
      formerKeys[name] = former;
    }
    return { ...config, providers, formerKeys };
  }

  /** Looks at all files. A change counts when two looks in a row have found it. */
  async look(): Promise<KeyChanges> {
    const renewed: KeyFile[] = [];
    const found: KeyFile[] = [];
    const lost: Problem[] = [];
    const files = new Map([...this.#wanting, ...this.#loaded, ...this.#inForce].map((file) => [file.path, file]));
    for (const [path, file] of files) {
      const reading = await readKeyFile(path);
      const known = this.#known.get(path);
      if (known === undefined || !isSteady(known, reading)) continue;
      if ('trouble' in reading) {
        if (known.trouble === undefined) lost.push(problemOf(file, `${reading.trouble}; the last key stays in force`));
      } else if (known.key === undefined) found.push(file);
      else if (known.key !== reading.key) renewed.push(file);
      this.#note(path, reading);
    }
    return { renewed, found, lost };
  }

  #note(path: string, reading: KeyReading): Known {
    const { key, former = [] } = this.#known.get(path) ?? {};
    const known: Known = { key, former, trouble: undefined, seen: undefined };
    if ('trouble' in reading) known.trouble = reading.trouble;
    else {
      known.key = reading.key;
      if (key !== undefined && key !== reading.key) known.former = [key, ...former].slice(0, mostFormer);
    }
    this.#known.set(path, known);
    return known;
  }
}

/** Whether a reading differs from what is known, and the one before it was the same. */
function isSteady(known: Known, reading: KeyReading): boolean {
  const isSame =
    'trouble' in reading ? known.trouble === reading.trouble : known.trouble === undefined && known.key === reading.key;
  const seen = isSame ? undefined : JSON.stringify(reading);
  const isSteadyChange = seen !== undefined && known.seen === seen;
  known.seen = seen;
  return isSteadyChange;
}

/** The path itself stays out of the sentence: it may be a key, written there by mistake. */
function problemOf({ place }: KeyFile, trouble = 'cannot be read'): Problem {
  return { ...place, message: `names a file that ${trouble}` };
}
