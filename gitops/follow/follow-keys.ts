// Keeps the configuration in force equal to the directory, and the keys and certificates of its providers equal to their files.
import type { AssembledConfig } from '../assemble/assembled.ts';
import { namesLeftOut } from '../assemble/leave-out.ts';
import { load } from '../assemble/load-off-thread.ts';
import { problemOfFile } from '../read/problem.ts';
import { type Follower, followConfig } from './follow.ts';
import type { FollowOptions } from './follow-options.ts';
import { KeyFiles } from './key-files.ts';
import { keepLooking } from './looking.ts';

const words = {
  key: ['names a file with another key now', 'names a file with a key now'],
  certificates: ['names a file with other certificates now', 'names a file with certificates now'],
} as const;

/** As `followConfig`, which tells when it rejects. The configurations that are applied hold the keys of `api_key_file`. */
export async function followConfigAndKeys(options: FollowOptions): Promise<Follower> {
  const keys = new KeyFiles();
  let inForce: { config: AssembledConfig; revision: string } | undefined;
  let leftOut: readonly string[] = [];
  const apply = (config: AssembledConfig, revision: string): void => {
    const filled = keys.fill(config);
    options.apply(filled, revision);
    leftOut = namesLeftOut(filled);
  };
  const follower = await followConfig({
    ...options,
    load: async (...given) => keys.complete(await (options.load ?? load)(...given)),
    apply(config, revision) {
      apply(config, revision);
      inForce = { config, revision };
    },
  });
  const looking = keepLooking(look, (error) => {
    const problem = problemOfFile(options.directory, `reading the keys of providers failed: ${String(error)}`);
    options.report({ kind: 'warning', revision: follower.status().revision, problems: [problem] });
  });

  async function look(): Promise<void> {
    const { renewed, found, lost } = await keys.look();
    if (inForce === undefined || looking.isClosed) return;
    const { config, revision } = inForce;
    if (lost.length > 0) options.report({ kind: 'warning', revision, problems: lost });
    if (renewed.length + found.length > 0) {
      apply(config, revision);
      for (const holds of ['key', 'certificates'] as const) {
        const [another, some] = words[holds];
        const problems = [
          ...renewed.filter((file) => file.holds === holds).map(({ place }) => ({ ...place, message: another })),
          ...found.filter((file) => file.holds === holds).map(({ place }) => ({ ...place, message: some })),
        ];
        if (problems.length > 0) options.report({ kind: `${holds}-renewed`, revision, problems });
      }
    }
    // A configuration may have been rejected because it had no key.
    if (found.length > 0) await follower.reload();
  }

  return {
    status: () => ({
      ...follower.status(),
      keyFileProblems: keys.problems(),
      keyProblems: inForce?.config.keyProblems ?? [],
      leftOut,
    }),
    reload: () => follower.reload(),
    async close() {
      await looking.close();
      await follower.close();
    },
  };
}
