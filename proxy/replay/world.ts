// One configuration in force on a clock that the traffic moves, with what operators have set: its rules and budgets with counters of their own, its
// aliases and its keys.
import type { AuthKey } from '../../domain/keys/auth-key.ts';
import { configKeys } from '../../domain/keys/config-key.ts';
import { type ModelAccess, modelAccess } from '../../domain/keys/model-access.ts';
import type { LiveSettings } from '../../domain/replays/traffic-head.ts';
import type { AssembledConfig } from '../../gitops/assemble/assembled.ts';
import type { Document } from '../../store/state/state-store.ts';
import { Budgets } from '../budgets/budgets.ts';
import { type BudgetsToKeep, Ledgers } from '../budgets/ledgers.ts';
import { createLimiter, type Limiter } from '../limits/limiter.ts';
import { type Balance, createBalance } from '../routing/balance/balance.ts';
import type { InForce } from '../snapshot/in-force.ts';
import { createPublisher } from '../snapshot/publish.ts';
import type { Snapshot } from '../snapshot/snapshot.ts';
import { TargetStates } from '../targets/target-states.ts';

export interface World {
  readonly limiter: Limiter;
  readonly budgets: Budgets;
  readonly toKeep: BudgetsToKeep;
  readonly snapshot: Snapshot;
  readonly inForce: InForce;
  readonly balance: Balance;
  readonly states: Pick<TargetStates, 'drainOf'>;
  /** The declared keys, by id. */
  readonly keys: ReadonlyMap<string, AuthKey>;
  /** What issued keys may ask for, by id; those that are not there: every model, as far as is known. */
  readonly access: ReadonlyMap<string, ModelAccess | undefined>;
  /** Sentences about documents of operators that cannot be read. */
  readonly problems: readonly string[];
  /** Some cap counts tokens or money. */
  readonly countsAnswers: boolean;
}

export interface WorldSettings {
  /** Tokens are counted. */
  readonly usageEnabled: boolean;
  /** As it is in force at all times; undefined: nothing is known of it. */
  readonly live: LiveSettings | undefined;
}

/** Caps hold as in one proxy, which is as exact as a fleet. Throws for a configuration that cannot be compiled. */
export function createWorld(config: AssembledConfig, { usageEnabled, live }: WorldSettings): World {
  const limiter = createLimiter({ tokensEnforced: usageEnabled, isExported: false });
  const ledgers = new Ledgers();
  const states = new TargetStates();
  let put: { readonly snapshot: Snapshot; readonly toKeep: BudgetsToKeep } | undefined;
  let problems: readonly string[] = [];
  const publisher = createPublisher({
    masterKey: undefined,
    hasTemplates: true,
    usageEnabled,
    put(next) {
      const enforcement = { ...next.enforcement, isShared: false };
      limiter.reconcile(next.rules, enforcement);
      ledgers.keep(next.budgets, enforcement, 0);
      states.keep(next.snapshot.routes.targets, next.drains);
      put = { snapshot: next.snapshot, toKeep: next.budgets };
    },
    warn(found) {
      problems = found.filter(({ level }) => level === 'error').map(({ text }) => text);
    },
    tellExpired: () => undefined,
    // What operators have set does not end.
    nowMs: () => 0,
  });
  publisher.documents({ documents: (live?.documents ?? []).map(stored) }, { source: 'store' });
  publisher.config(config, 'planned');
  if (put === undefined) throw new Error('nothing was put in force');
  const keys = configKeys(config.keys.map(withHash));
  return {
    ...put,
    limiter,
    states,
    problems,
    budgets: new Budgets(ledgers),
    inForce: publisher.inForce(),
    balance: createBalance(states),
    keys: new Map(keys.map((key) => [key.id, key])),
    access: new Map(Object.entries(live?.keys ?? {}).map(([id, models]) => [id, modelAccess(models)])),
    countsAnswers: !ledgers.isEmpty || limiter.rules().some(({ maxTokens }) => maxTokens !== undefined),
  };
}

/** As a state store gives it. */
function stored(document: LiveSettings['documents'][number]): Document {
  return { ...document, revision: 0 };
}

/** Nothing here compares secrets, so a key whose secret lies in a file needs none. */
export function withHash(key: AssembledConfig['keys'][number]): AssembledConfig['keys'][number] {
  return { ...key, hash: key.hash ?? '0'.repeat(64) };
}
