// The rollout of revisions in the control plane: what it may put in force itself, the log lines, and the keeper that decides.
import type { FollowStatus } from '../../gitops/follow/config-status.ts';
import type { Follower } from '../../gitops/follow/follow.ts';
import type { Asked, Given } from '../../gitops/follow/given-config.ts';
import { ConfigRollouts } from '../../plane/config-rollouts.ts';
import type { Document } from '../../store/state/state-store.ts';
import type { ConfigInForce } from '../config-in-force.ts';
import { filesInForce } from '../files-in-force.ts';
import { knownSecrets, type SecretSources } from '../known-secrets.ts';
import { RolloutKeeper, type RolloutKeeperParts } from './keep-rollout.ts';
import { createRolloutLines } from './rollout-lines.ts';

export interface RolloutParts extends Pick<RolloutKeeperParts, 'nowMs' | 'log'> {
  /** Where this process keeps its copy of the files in force. */
  readonly ownFolder: string;
  readonly environment: SecretSources['environment'] & { readonly configDirectory: string };
  readonly config: Pick<ConfigInForce, 'declared'>;
  readonly managed: SecretSources['managed'] & { readonly documents: readonly Document[] };
  /** Undefined before the configuration is followed. */
  readonly follower: () => Pick<Follower, 'given' | 'status'> | undefined;
}

export interface OpenRollout {
  /** The managed documents in force, sorted by kind and id. */
  documents(documents: readonly Document[]): void;
  /** What stands in place of the directory of this process. */
  given(asked: Asked): Promise<Given>;
  readonly tried: ConfigRollouts['tried'];
  /** Begins to decide. */
  keep(parts: Pick<RolloutKeeperParts, 'store' | 'fleet'>): RolloutKeeper;
}

export function openRollout(parts: RolloutParts): OpenRollout {
  const { config, managed, environment, ownFolder, follower, nowMs, log } = parts;
  const rollouts = new ConfigRollouts({ instance: undefined, follower });
  const tell = createRolloutLines(log);
  return {
    documents(documents) {
      rollouts.documents(documents);
      tell(rollouts.current());
    },
    given: (asked) => rollouts.given(asked),
    tried: () => rollouts.tried(),
    keep({ store, fleet }) {
      const keeper = new RolloutKeeper({
        store,
        fleet,
        documents: () => managed.documents,
        status: (): FollowStatus | undefined => follower()?.status(),
        rollout: () => config.declared.rollout,
        filesOf: (revision) => filesInForce(environment.configDirectory, ownFolder, revision),
        secrets: () => knownSecrets({ environment, managed, config: config.declared }),
        nowMs,
        log,
      });
      keeper.begin();
      return keeper;
    },
  };
}
