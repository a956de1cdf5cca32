// Keeps the keys of clients equal to their files (`value_file`): a secret that was replaced is in force without a restart.
import { digestOf } from '../../domain/keys/secret.ts';
import { quote } from '../../schemas/validation/path.ts';
import type { AssembledConfig, ClientKeyFile } from '../assemble/assembled.ts';
import { load } from '../assemble/load-off-thread.ts';
import { type Problem, problemOfFile, sortProblems } from '../read/problem.ts';
import type { Follower } from './follow.ts';
import type { FollowOptions } from './follow-options.ts';
import { FollowedSecret } from './followed-secret.ts';
import { keepLooking } from './looking.ts';

/** A shorter one can be guessed, and its hash be reversed. Characters. */
const shortestSecret = 32;

/** As `follow` does; each key of the configurations that are applied has the hash of its file. One without a file that can be read has none. */
export async function followClientKeys(
  follow: (options: FollowOptions) => Promise<Follower>,
  options: FollowOptions,
): Promise<Follower> {
  const { directory, report, load: loadFrom = load } = options;
  const files = new Map<string, FollowedSecret>();
  let inForce: { readonly config: AssembledConfig; readonly revision: string } | undefined;
  const apply = (config: AssembledConfig, revision: string): void => {
    options.apply(withHashes(config, files), revision);
    inForce = { config, revision };
    // A secret is forgotten with its entry.
    const named = new Set(config.clientKeyFiles?.map(({ path }) => path));
    for (const path of files.keys()) if (!named.has(path)) files.delete(path);
  };
  const fileAt = (path: string): FollowedSecret => {
    const file = files.get(path) ?? new FollowedSecret(path, undefined, problemOf);
    files.set(path, file);
    return file;
  };
  const follower = await follow({
    ...options,
    apply,
    async load(...given) {
      const loaded = await loadFrom(...given);
      const named = loaded.config?.clientKeyFiles ?? [];
      for (const { path } of named) {
        const file = fileAt(path);
        if (file.key === undefined) await file.read();
      }
      const warnings = named.flatMap((each) => warningsOf(each, files.get(each.path)));
      return warnings.length === 0 ? loaded : { ...loaded, warnings: sortProblems([...loaded.warnings, ...warnings]) };
    },
  });
  const looking = keepLooking(look, (error) => {
    const problem = problemOfFile(directory, `reading the keys of clients failed: ${String(error)}`);
    report({ kind: 'warning', revision: follower.status().revision, problems: [problem] });
  });

  async function look(): Promise<void> {
    const named = inForce?.config.clientKeyFiles ?? [];
    const [renewed, lost]: [Problem[], Problem[]] = [[], []];
    for (const [path, file] of Map.groupBy(named, (each) => each.path)) {
      const followed = fileAt(path);
      const change = await followed.look();
      if (change === 'lost') lost.push(...file.flatMap((each) => warningsOf(each, followed)));
      if (change === 'renewed' || change === 'found')
        renewed.push(...file.map(({ place }) => ({ ...place, message: 'names a file with another secret now' })));
    }
    if (inForce === undefined || looking.isClosed) return;
    const { config, revision } = inForce;
    if (lost.length > 0) report({ kind: 'warning', revision, problems: lost });
    if (renewed.length === 0) return;
    apply(config, revision);
    report({ kind: 'client-key-renewed', revision, problems: renewed });
  }

  return {
    status: () => follower.status(),
    reload: () => follower.reload(),
    given: () => follower.given(),
    async close() {
      await looking.close();
      await follower.close();
    },
  };
}

function withHashes(config: AssembledConfig, files: ReadonlyMap<string, FollowedSecret>): AssembledConfig {
  if (config.clientKeyFiles === undefined) return config;
  const keys = config.keys.map((key) => {
    const secret = key.value_file === undefined ? undefined : files.get(key.value_file)?.key;
    return secret === undefined ? key : { ...key, hash: digestOf(secret) };
  });
  return { ...config, keys };
}

/** The path itself stays out of the sentence: it may be a secret, written there by mistake. */
function warningsOf({ name, place }: ClientKeyFile, file: FollowedSecret | undefined): Problem[] {
  if (file?.trouble === undefined) return [];
  const consequence =
    file.key === undefined
      ? `so the key ${quote(name)} is refused until it can be read`
      : `so the last secret of the key ${quote(name)} stays in force`;
  return [{ ...place, message: `names a file that ${file.trouble}, ${consequence}` }];
}

function problemOf(secret: string): string | undefined {
  return secret.length < shortestSecret
    ? `holds a secret of fewer than ${shortestSecret} characters, which can be guessed`
    : undefined;
}
