// The metrics of the control plane, and how each is read at a scrape. schemas/metrics/control-plane-metrics.ts declares name, labels and help under
// the same key; a key that is missing here, or not declared there, is an error of types.

import type { BudgetMode } from '../domain/budgets/mode.ts';
import { budgetPeriodLabel } from '../domain/budgets/period.ts';
import type { ConfigPin } from '../domain/config-pins/config-pin.ts';
import type { FollowStatus } from '../gitops/follow/config-status.ts';
import type { FailedLogins } from '../plane/access/failed-logins.ts';
import type { LineWriter } from '../plane/line-writer.ts';
import {
  byLabel,
  collectProcessMetrics,
  pinEnd,
  pinStates,
  Registry,
  registerReaders,
  rejectedSince,
  type Shown,
} from '../plane/prometheus.ts';
import { type TlsFacts, tlsReaders } from '../plane/tls/tls-metrics.ts';
import { controlPlaneMetrics } from '../schemas/metrics/control-plane-metrics.ts';
import { mostLabelledBudgets } from '../schemas/metrics/limit-metrics.ts';
import { isEmptied } from '../store/state/custody.ts';
import type { StateStatus } from '../store/state/state-status.ts';
import { highestSpend } from './budgets/standing.ts';
import type { BudgetWatch } from './budgets/watch.ts';
import type { Fleet } from './fleet.ts';
import type { DrainStatus } from './records/drain-journal.ts';
import type { RoomStatus } from './records/keep-within.ts';
import type { KeeperStatus } from './revisions/keep-revisions.ts';
import { type RolloutReading, rolloutReaders } from './rollout/rollout-metrics.ts';

export interface Metrics {
  readonly contentType: string;
  /** The exposition text of all metrics. */
  text(): Promise<string>;
}

/** The facts that are read at every scrape. */
export interface ObservedFacts {
  readonly version: string;
  readonly config: () => FollowStatus | undefined;
  /** The pin of an operator that is in force. */
  readonly pin: () => ConfigPin | undefined;
  /** The last rollout of a revision, and its figures while it is under way. */
  readonly rollout: RolloutReading;
  readonly state: () => StateStatus | undefined;
  /** Why files of secrets do not hold what is in force. */
  readonly secretProblems: () => readonly string[];
  readonly handshakes: TlsFacts['handshakes'];
  readonly fleet: Pick<Fleet, 'proxies' | 'lagSeconds'>;
  readonly failedLogins: Pick<FailedLogins, 'counts'>;
  readonly records: () => DrainStatus;
  readonly revisions: () => KeeperStatus;
  /** See `KeptRecords`. */
  readonly room: () => RoomStatus | undefined;
  /** See `warnOfNewFile`. */
  readonly areRecordsBegunAnew: boolean;
  /** Of the data directory, for what may wait or go; see `diskRoom`. Bytes. */
  readonly diskRoom: () => number;
  readonly output: Pick<LineWriter, 'droppedEvents'>;
  readonly budgets: Pick<BudgetWatch, 'standings'>;
}

type Readers = Readonly<Record<keyof typeof controlPlaneMetrics, () => Shown>>;

/** Creates a registry (no global state) with the metrics of the process and the fleet. */
export function createMetrics(facts: ObservedFacts): Metrics {
  const registry = new Registry();
  collectProcessMetrics(registry);
  const readers: Readers = {
    ...planeReaders(facts),
    ...tlsReaders(facts),
    ...recordReaders(facts),
    ...budgetReaders(facts.budgets),
  };
  registerReaders(registry, controlPlaneMetrics, readers);
  return { contentType: registry.contentType, text: () => registry.metrics() };
}

const flag = (isSo: boolean): number => (isSo ? 1 : 0);

function planeReaders(facts: ObservedFacts) {
  const { version, config, state, secretProblems, fleet, failedLogins, output } = facts;
  const live = () => fleet.proxies().filter(({ isLive }) => isLive);
  return {
    build: () => [[{ plane: 'control-plane', version, node: process.versions.node }, 1]],
    authFailures: () => byLabel('reason', failedLogins.counts()),
    logEventsDropped: () => output.droppedEvents,
    secretFilesUnusable: () => secretProblems().length,
    configIsGood: () => flag(config()?.lastReloadSuccessful === true),
    configRejected: () => rejectedSince(config()),
    configPinned: () => pinStates(config()),
    configPinEnd: () => pinEnd(facts.pin()),
    configWaiting: () => flag(config()?.waiting !== undefined),
    ...rolloutReaders(facts.rollout),
    stateRevision: () => state()?.revision ?? 0,
    stateStoreUp: () => flag(state()?.isUp === true),
    stateStoreEmptied: () => flag(isEmptied(state()?.standing)),
    stateStoreBehind: () => flag(state()?.standing === 'behind'),
    stateStoreEvicts: () => flag(state()?.evicts !== undefined),
    stateWriteBacks: () => state()?.writeBacks ?? 0,
    stateSkipped: () => byLabel('reason', { ...state()?.skipped }),
    proxiesLive: () => live().length,
    proxiesBehind: () => live().filter(({ isConverged }) => !isConverged).length,
    instancesShared: () => fleet.proxies().filter(({ isShared }) => isShared).length,
    convergenceLag: () => fleet.lagSeconds(),
  } satisfies Partial<Readers>;
}

/** The outcomes of records, and the room that they take and have. */
function recordReaders({ records, revisions, room, areRecordsBegunAnew, diskRoom }: ObservedFacts) {
  return {
    diskRoom,
    recordsBegunAnew: () => flag(areRecordsBegunAnew),
    recordStoreUp: () => flag(records().trouble?.of !== 'store'),
    recordsTaken() {
      const { storedRecords: stored, lostRecords: lost } = records();
      return byLabel('outcome', { stored, lost });
    },
    revisionsTaken() {
      const { kept, lost } = revisions();
      return byLabel('outcome', { kept, lost });
    },
    recordBytes() {
      const { usedBytes: used, mostBytes: most } = room() ?? {};
      return used === undefined || most === undefined ? [] : byLabel('bound', { used, most });
    },
    recordsRelieved() {
      const { bodiesRemoved: body = 0, entriesRemoved: entry = 0 } = room() ?? {};
      return byLabel('what', { body, entry });
    },
  } satisfies Partial<Readers>;
}

/**
 * The spend as of the last answer of the record store. Ids of budgets are bounded by the configuration, and the number
 * of series besides.
 */
function budgetReaders({ standings }: Pick<BudgetWatch, 'standings'>) {
  const enforced = () => standings().filter(({ budget }) => budget.enforced);
  return {
    budgetSpent: () =>
      enforced()
        .slice(0, mostLabelledBudgets)
        .map(({ budget: { id, scope, periodSeconds, mode, amount }, spend }) => {
          const labels = { budget: id, scope, period: budgetPeriodLabel(periodSeconds), mode };
          return [labels, highestSpend(spend) / amount];
        }),
    budgetsExceeded() {
      const counts: Record<BudgetMode, number> = { enforce: 0, hard: 0, shadow: 0 };
      for (const { budget, spend } of enforced())
        for (const spent of spend.values()) if (spent >= budget.amount) counts[budget.mode] += 1;
      return byLabel('mode', counts);
    },
  } satisfies Partial<Readers>;
}
