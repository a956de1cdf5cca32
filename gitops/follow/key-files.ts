// Follows the files of providers (`api_key_file`, `api_key_files`, `ca_file`): they are read with the configuration, and again every half
// second, so that a rotated key needs no restart.
import { quote } from '../../schemas/validation/path.ts';
import type { AssembledConfig, KeyFile } from '../assemble/assembled.ts';
import { leaveOut } from '../assemble/leave-out.ts';
import type { Loaded } from '../assemble/load.ts';
import { certificateReader } from '../read/certificate-file.ts';
import { type Problem, sortProblems } from '../read/problem.ts';
import { FollowedSecret } from './followed-secret.ts';

/** The changes that one look at all files found. */
export interface KeyChanges {
  readonly renewed: readonly KeyFile[];
  /** They became unreadable: the last key stays. */
  readonly lost: readonly Problem[];
  /** They became readable for the first time. */
  readonly found: readonly KeyFile[];
}

export class KeyFiles {
  /** By `idOf`. */
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
      const { trouble, key } = this.#of(file) ?? {};
      if (trouble === undefined) return [];
      return [
        key === undefined ? this.#warningOf(file) : problemOf(file, `${trouble}; the last ${wordOf(file)} in force`),
      ];
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
      const followed = this.#of(file) ?? follow(file);
      this.#followed.set(idOf(file), followed);
      if (followed.key === undefined) await followed.read();
      if (followed.key === undefined) lacking.push(file);
    }
    const isStart = this.#inForce === undefined;
    const accepted = new Set((isStart ? lacking : this.#lackingInForce()).map(idOf));
    this.#wanting = lacking.filter((file) => !accepted.has(idOf(file)));
    const warnings = lacking.filter((file) => accepted.has(idOf(file))).map((file) => this.#warningOf(file));
    const problems = this.#wanting.map((file) => problemOf(file, this.#of(file)?.trouble));
    if (lacking.length === 0) return loaded;
    const said = { warnings: sortProblems([...loaded.warnings, ...warnings]) };
    if (problems.length === 0) return { ...loaded, ...said };
    return { problems: sortProblems([...loaded.problems, ...problems]), ...said };
  }

  /** The configuration with its keys and without the providers that have none, which is in force from now on. */
  fill(config: AssembledConfig): AssembledConfig {
    this.#inForce = config.keyFiles ?? [];
    const wanted = new Set([...this.#inForce, ...this.#loaded, ...this.#wanting].map(idOf));
    for (const id of this.#followed.keys()) if (!wanted.has(id)) this.#followed.delete(id);
    if (this.#inForce.length === 0) return config;
    const providers = { ...config.providers };
    const formerKeys: Record<string, readonly string[]> = {};
    const authorities: Record<string, string> = {};
    const incomplete = new Set<string>();
    for (const [name, files] of Map.groupBy(this.#inForce, ({ provider }) => provider)) {
      const of = (held: KeyFile['holds']) => files.filter(({ holds }) => holds === held).map((file) => this.#of(file));
      const [certificates] = of('certificates');
      if (certificates?.key !== undefined) authorities[name] = certificates.key;
      const followed = of('key');
      // A key that is not there keeps its place, so that the others keep theirs.
      const keys = followed.map((file) => file?.key ?? '');
      const provider = providers[name];
      const lacksKey = keys.length > 0 && keys.every((key) => key === '');
      const lacksCertificates = provider?.ca_file !== undefined && certificates?.key === undefined;
      if (provider === undefined || lacksKey || lacksCertificates) incomplete.add(name);
      else if (provider.api_key_files !== undefined) providers[name] = { ...provider, api_keys: keys };
      else if (keys[0] !== undefined) providers[name] = { ...provider, api_key: keys[0] };
      formerKeys[name] = followed.flatMap((file) => file?.former ?? []);
    }
    return leaveOut({ ...config, providers, formerKeys, authorities }, incomplete);
  }

  /** Looks at all files. */
  async look(): Promise<KeyChanges> {
    const renewed: KeyFile[] = [];
    const found: KeyFile[] = [];
    const lost: Problem[] = [];
    // An entry of a rejected configuration may be at another place than that in force.
    const byProvider = new Map<string, KeyFile>();
    for (const file of [...this.#wanting, ...this.#loaded, ...(this.#inForce ?? [])])
      byProvider.set(JSON.stringify([idOf(file), file.provider]), file);
    for (const [id, followed] of this.#followed) {
      const files = [...byProvider.values()].filter((file) => idOf(file) === id);
      if (files.length === 0) continue;
      const change = await followed.look();
      if (change === 'lost')
        lost.push(...files.map((file) => problemOf(file, `${followed.trouble}; the last ${wordOf(file)} in force`)));
      else if (change === 'found') found.push(...files);
      else if (change === 'renewed') renewed.push(...files);
    }
    return { renewed, found, lost };
  }

  #of(file: KeyFile): FollowedSecret | undefined {
    return this.#followed.get(idOf(file));
  }

  /** Of the configuration in force. */
  #lackingInForce(): KeyFile[] {
    return (this.#inForce ?? []).filter((file) => this.#of(file)?.key === undefined);
  }

  #warningOf(file: KeyFile): Problem {
    const trouble = this.#of(file)?.trouble ?? unread;
    const others = this.#loaded.filter(({ provider, holds }) => provider === file.provider && holds === file.holds);
    const what = others.some((other) => this.#of(other)?.key !== undefined) ? 'goes without this key' : 'is left out';
    return problemOf(file, `${trouble}, so the provider ${quote(file.provider)} ${what} until it can be read`);
  }
}

/** A file that is named twice is read once. */
function idOf({ holds, path }: KeyFile): string {
  return `${holds} ${path}`;
}

function follow({ holds, path }: KeyFile): FollowedSecret {
  if (holds === 'key') return new FollowedSecret(path);
  return new FollowedSecret(path, undefined, undefined, certificateReader());
}

/** The content of a file, as the start of the end of a sentence. */
function wordOf({ holds }: KeyFile): string {
  return holds === 'key' ? 'key stays' : 'certificates stay';
}

const unread = 'cannot be read';

/** The path itself stays out of the sentence: it may be a key, written there by mistake. */
function problemOf({ place }: KeyFile, trouble: string = unread): Problem {
  return { ...place, message: `names a file that ${trouble}` };
}
