// Keeps the configuration in force equal to the directory, and its secrets equal to the files and vaults that they are read from.
import type { AssembledConfig, SecretText } from '../assemble/assembled.ts';
import { namesLeftOut } from '../assemble/leave-out.ts';
import { load } from '../assemble/load-off-thread.ts';
import { problemOfFile } from '../read/problem.ts';
import type { Vaults } from './fetched-secret.ts';
import { type Follower, followConfig } from './follow.ts';
import type { FollowOptions } from './follow-options.ts';
import { keepLooking } from './looking.ts';
import { SecretTexts } from './secret-texts.ts';
import { sayRenewed } from './secret-words.ts';

const renewals = { key: 'key-renewed', certificates: 'certificates-renewed', text: 'secret-renewed' } as const;

/** As `followConfig`, which tells when it rejects. The configurations that are applied hold what their files and references refer to. */
export async function followConfigAndKeys(options: FollowOptions): Promise<Follower> {
  const secrets = new SecretTexts(options.nowMs, options.vaults ?? noVaults);
  let inForce: { config: AssembledConfig; revision: string } | undefined;
  let leftOut: readonly string[] = [];
  const apply = (config: AssembledConfig, revision: string): void => {
    const filled = secrets.fill(config);
    options.apply(filled, revision);
    leftOut = namesLeftOut(filled);
  };
  const follower = await followConfig({
    ...options,
    load: async (...given) => secrets.complete(await (options.load ?? load)(...given)),
    apply(config, revision) {
      apply(config, revision);
      inForce = { config, revision };
    },
  });
  const looking = keepLooking(look, (error) => {
    const problem = problemOfFile(options.directory, `reading secrets failed: ${String(error)}`);
    options.report({ kind: 'warning', revision: follower.status().revision, problems: [problem] });
  });

  async function look(): Promise<void> {
    const { renewed, found, lost } = await secrets.look();
    if (inForce === undefined || looking.isClosed) return;
    const { config, revision } = inForce;
    if (lost.length > 0) options.report({ kind: 'warning', revision, problems: lost });
    if (renewed.length + found.length > 0) {
      apply(config, revision);
      for (const holds of ['key', 'certificates', 'text'] as const) {
        const isMeant = (text: SecretText): boolean => text.holds === holds;
        const problems = [
          ...renewed.filter(isMeant).map((text) => sayRenewed(text, false)),
          ...found.filter(isMeant).map((text) => sayRenewed(text, true)),
        ];
        if (problems.length > 0) options.report({ kind: renewals[holds], revision, problems });
      }
    }
    // A configuration may have been rejected because it lacked them.
    if (found.length > 0) await follower.reload();
  }

  return {
    status: () => ({
      ...follower.status(),
      keyFileProblems: secrets.problems(({ holds }) => holds !== 'text'),
      referenceProblems: secrets.problems(({ holds }) => holds === 'text'),
      secretAges: secrets.ages(),
      keyProblems: inForce?.config.keyProblems ?? [],
      leftOut,
    }),
    reload: () => follower.reload(),
    given: () => follower.given(),
    async close() {
      await looking.close();
      await follower.close();
    },
  };
}

/** Where nothing is fetched. */
const noVaults: Vaults = { refreshMs: 60_000, fetch: async () => ({ trouble: 'is not read here' }) };
