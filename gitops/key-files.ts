// The keys of providers that lie in files (`api_key_file`, `api_key_files`): read with the configuration, and again every half second, so
// that a rotated key needs no restart.
import { quote } from '../schemas/validation/path.ts';
import type { AssembledConfig, KeyFile } from './assembled.ts';
import { FollowedSecret } from './followed-secret.ts';
import { leaveOut } from './leave-out.ts';
import type { Loaded } from './load.ts';
import { type Problem, sortProblems } from './problem.ts';

/** What one look at all files has changed. */
export interface KeyChanges {
  readonly renewed: readonly KeyFile[];
  /** They became unreadable: the last key stays. */
  readonly lost: readonly Problem[];
  /** They became readable for the first time. */
  readonly found: readonly KeyFile[];
}

export class KeyFiles {
  readonly #followed = new Map<string, FollowedSecret>();
  /** Of the configuration that was loaded last. */
  #loaded: readonly KeyFile[] = [];
  /** Undefined before the first configuration is in force. */
  #inForce: readonly KeyFile[] | undefined;
  /** Without a key, so that a configuration was rejected. */
  #wanting: readonly KeyFile[] = [];

  /** A problem for each provider whose file cannot be read now. */
  problems(): Problem[] {
    return (this.#inForce ?? []).flatMap((file) => {
      const { trouble, key } = this.#followed.get(file.path) ?? {};
      if (trouble === undefined) return [];
      return [key === undefined ? this.#warningOf(file) : problemOf(file, `${trouble}; ${lastKeyStays}`)];
    });
  }

  /**
   * Reads the files of a loaded configuration. A provider without any key is left out, with a warning, at a start and for as long as it
   * is left out. Later a file without a key is a problem, because an edit must not end a provider that works.
   */
  async complete(loaded: Loaded): Promise<Loaded> {
    this.#loaded = loaded.config?.keyFiles ?? [];
    const lacking: KeyFile[] = [];
    for (const file of this.#loaded) {
      const followed = this.#followed.get(file.path) ?? new FollowedSecret(file.path);
      this.#followed.set(file.path, followed);
      if (followed.key === undefined) await followed.read();
      if (followed.key === undefined) lacking.push(file);
    }
    const isStart = this.#inForce === undefined;
    const accepted = new Set(isStart ? lacking.map(({ path }) => path) : this.#pathsWithoutKey());
    this.#wanting = lacking.filter(({ path }) => !accepted.has(path));
    const warnings = lacking.filter(({ path }) => accepted.has(path)).map((file) => this.#warningOf(file));
    const problems = this.#wanting.map((file) => problemOf(file, this.#followed.get(file.path)?.trouble));
    if (lacking.length === 0) return loaded;
    const said = { warnings: sortProblems([...loaded.warnings, ...warnings]) };
    if (problems.length === 0) return { ...loaded, ...said };
    return { problems: sortProblems([...loaded.problems, ...problems]), ...said };
  }

  /** The configuration with its keys and without the providers that have none, which is in force from now on. */
  fill(config: AssembledConfig): AssembledConfig {
    this.#inForce = config.keyFiles ?? [];
    const wanted = new Set([...this.#inForce, ...this.#loaded, ...this.#wanting].map(({ path }) => path));
    for (const path of this.#followed.keys()) if (!wanted.has(path)) this.#followed.delete(path);
    if (this.#inForce.length === 0) return config;
    const providers = { ...config.providers };
    const formerKeys: Record<string, readonly string[]> = {};
    const keyless = new Set<string>();
    for (const [name, files] of Map.groupBy(this.#inForce, ({ provider }) => provider)) {
      const provider = providers[name];
      const followed = files.map(({ path }) => this.#followed.get(path));
      // A key that is not there keeps its place, so that the others keep theirs.
      const keys = followed.map((file) => file?.key ?? '');
      const [single = ''] = keys;
      if (provider === undefined || keys.every((key) => key === '')) keyless.add(name);
      else {
        providers[name] = { ...provider, ...(provider.api_key_files ? { api_keys: keys } : { api_key: single }) };
        formerKeys[name] = followed.flatMap((file) => file?.former ?? []);
      }
    }
    return leaveOut({ ...config, providers, formerKeys }, keyless);
  }

  /** Looks at all files. */
  async look(): Promise<KeyChanges> {
    const renewed: KeyFile[] = [];
    const found: KeyFile[] = [];
    const lost: Problem[] = [];
    // An entry of a rejected configuration may be at another place than that in force.
    const byProvider = new Map<string, KeyFile>();
    for (const file of [...this.#wanting, ...this.#loaded, ...(this.#inForce ?? [])])
      byProvider.set(JSON.stringify([file.path, file.provider]), file);
    for (const [path, followed] of this.#followed) {
      const files = [...byProvider.values()].filter((file) => file.path === path);
      if (files.length === 0) continue;
      const change = await followed.look();
      if (change === 'lost') lost.push(...files.map((file) => problemOf(file, `${followed.trouble}; ${lastKeyStays}`)));
      else if (change === 'found') found.push(...files);
      else if (change === 'renewed') renewed.push(...files);
    }
    return { renewed, found, lost };
  }

  /** Of the configuration in force. */
  #pathsWithoutKey(): string[] {
    const paths = (this.#inForce ?? []).map(({ path }) => path);
    return paths.filter((path) => this.#followed.get(path)?.key === undefined);
  }

  #warningOf(file: KeyFile): Problem {
    const trouble = this.#followed.get(file.path)?.trouble ?? unread;
    const others = this.#loaded.filter(({ provider }) => provider === file.provider);
    const hasKey = others.some(({ path }) => this.#followed.get(path)?.key !== undefined);
    const what = hasKey ? 'goes without this key' : 'is left out';
    return problemOf(file, `${trouble}, so the provider ${quote(file.provider)} ${what} until it can be read`);
  }
}

const unread = 'cannot be read';
const lastKeyStays = 'the last key stays in force';

/** The path itself stays out of the sentence: it may be a key, written there by mistake. */
function problemOf({ place }: KeyFile, trouble: string = unread): Problem {
  return { ...place, message: `names a file that ${trouble}` };
}
