// The commit of the configuration directory: that of the environment, else that of its git repository.
import type { ConfigCommit } from '../../domain/records/config-revision.ts';
import { commitOf } from '../../gitops/commit/commit-of.ts';

/** `said`: GATEWAY_CONFIG_COMMIT. Never rejects. */
export async function commitOfConfig(directory: string, said: string | undefined): Promise<ConfigCommit | undefined> {
  const found = await commitOf(directory);
  if (said === undefined) return found;
  // A short one is the same commit, of which git knows more.
  return found?.commit.startsWith(said.toLowerCase()) === true ? found : { commit: said };
}
