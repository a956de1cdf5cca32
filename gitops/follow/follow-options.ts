// The options of a follower of a configuration directory.
import type { AssembledConfig } from '../assemble/assembled.ts';
import type { load } from '../assemble/load-off-thread.ts';
import type { ConfigEvent } from './config-status.ts';
import type { Vaults } from './fetched-secret.ts';
import type { Asked, Given } from './given-config.ts';
import type { SteadinessSettings } from './steadiness.ts';
import type { WatchSettings } from './watch.ts';

export interface FollowOptions {
  directory: string;
  environment: Readonly<Record<string, string | undefined>>;
  /** `keep` leaves `${VAR}` as written: the control plane expands no provider secret. */
  variables: 'expand' | 'keep';
  entitlements: ReadonlySet<string>;
  /** Folder for the copy of the last good configuration; absent: no copy is kept. */
  lastGoodFolder?: string;
  nowMs: () => number;
  /** Puts a configuration in force; when it throws, the configuration counts as rejected. */
  apply: (config: AssembledConfig, revision: string) => void;
  report: (event: ConfigEvent) => void;
  settings?: Partial<FollowSettings>;
  /** Where the secrets of references are fetched; absent: none is. */
  vaults?: Vaults;
  /** What stands in place of the directory now; asked at the start, at each refresh, and when the follower is told by `given`. */
  given?: (asked: Asked) => Given | Promise<Given>;
  /** In place of `load`. */
  load?: typeof load;
}

/** The times of watching and waiting. */
export type FollowSettings = WatchSettings & SteadinessSettings;

export const defaultSettings: FollowSettings = { debounceMs: 100, recheckMs: 400, steadyMs: 200, patienceMs: 600 };

/** The most rules that are compared after a change: in this thread, which serves requests. */
export const mostCompared = 1_000;
