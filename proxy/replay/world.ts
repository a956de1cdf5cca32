// One configuration in force on a clock that the traffic moves: its rules and budgets with counters of their own, its aliases and its keys.

import type { AuthKey } from '../../domain/keys/auth-key.ts';
import { configKeys } from '../../domain/keys/config-key.ts';
import type { AssembledConfig } from '../../gitops/assemble/assembled.ts';
import { Budgets } from '../budgets/budgets.ts';
import { Ledgers } from '../budgets/ledgers.ts';
import { createLimiter, type Limiter } from '../limits/limiter.ts';
import { type Balance, createBalance } from '../routing/balance/balance.ts';
import { createPublisher } from '../snapshot/publish.ts';
import type { Snapshot } from '../snapshot/snapshot.ts';
import { TargetStates } from '../targets/target-states.ts';

export interface World {
  readonly limiter: Limiter;
  readonly budgets: Budgets;
  readonly snapshot: Snapshot;
  readonly balance: Balance;
  /** The declared keys, by id. */
  readonly keys: ReadonlyMap<string, AuthKey>;
  /** Some cap counts tokens or money. */
  readonly countsAnswers: boolean;
}

/** Caps hold as in one proxy, which is as exact as a fleet. `usageEnabled`: tokens are counted. Throws for a configuration that cannot be compiled. */
export function createWorld(config: AssembledConfig, revision: string, usageEnabled: boolean): World {
  const limiter = createLimiter({ tokensEnforced: usageEnabled, isExported: false });
  const ledgers = new Ledgers();
  const budgets = new Budgets(ledgers);
  const states = new TargetStates();
  let snapshot: Snapshot | undefined;
  createPublisher({
    masterKey: undefined,
    hasTemplates: true,
    usageEnabled,
    put(next) {
      const enforcement = { ...next.enforcement, isShared: false };
      limiter.reconcile(next.rules, enforcement);
      ledgers.keep(next.budgets, enforcement, 0);
      states.keep(next.snapshot.routes.targets);
      snapshot = next.snapshot;
    },
    warn: () => undefined,
    tellExpired: () => undefined,
    nowMs: () => 0,
  }).config(config, revision);
  if (snapshot === undefined) throw new Error('nothing was put in force');
  return {
    limiter,
    budgets,
    snapshot,
    balance: createBalance(states),
    keys: new Map(configKeys(config.keys.map(withHash)).map((key) => [key.id, key])),
    countsAnswers: !ledgers.isEmpty || limiter.rules().some(({ maxTokens }) => maxTokens !== undefined),
  };
}

/** Nothing here compares secrets, so a key whose secret lies in a file needs none. */
function withHash(key: AssembledConfig['keys'][number]): AssembledConfig['keys'][number] {
  return { ...key, hash: key.hash ?? '0'.repeat(64) };
}
