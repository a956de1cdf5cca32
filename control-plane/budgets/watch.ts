// Watches what budgets have spent: asks the record store, tells the proxies the spend and what is used up, and the log when it becomes so.

import { placeOfBudget } from '../../domain/budgets/budget.ts';
import type { MergedBudget } from '../../domain/budgets/merge-budgets.ts';
import type { Anchors } from '../../domain/budgets/window.ts';
import type { Log } from '../../plane/log-events.ts';
import type { RecordStore } from '../../store/records/record-store.ts';
import { singleFlight } from '../../store/single-flight.ts';
import type { StateStore } from '../../store/state/state-store.ts';
import { type BudgetStanding, countedSinceMs, questionsOf } from './standing.ts';
import { createTeller, type Standings, tellingSpends, tellingVerdicts } from './tell.ts';
import { createThresholdLines } from './thresholds.ts';

/** How often it is looked whether there is something to ask; without a reason, budgets are asked for once a second. Milliseconds. */
const lookMs = 200;
const askMs = 1_000;

export interface BudgetWatchParts {
  readonly records: Pick<RecordStore, 'spend'>;
  readonly store: Pick<StateStore, 'writeHeartbeat'>;
  /** Those of this moment. */
  readonly budgets: (nowMs: number) => readonly MergedBudget[];
  /** Where windows begin. */
  readonly anchors: () => Anchors;
  readonly nowMs: () => number;
  readonly log: Pick<Log, 'info' | 'warn' | 'error'>;
}

/** The standings of one moment. */
export interface BudgetFigures {
  /** Unix milliseconds. */
  readonly computedAtMs: number;
  /** Undefined for a budget that was not there at that moment. */
  of(budget: Pick<MergedBudget, 'key' | 'perChild'>): BudgetStanding | undefined;
}

export interface BudgetWatch {
  /** Records were added to the store: spend may have grown. */
  recordsArrived(): void;
  /** Budgets or the beginnings of their windows have changed. */
  changed(): void;
  /** Reads the spend anew. Rejects when the record store does not answer. */
  refresh(): Promise<BudgetFigures>;
  /** From when on usage counts for a budget; Infinity: there is none. Unix milliseconds. */
  countedSinceMs(): number;
  /** As of the last answer; empty before. */
  standings(): readonly BudgetStanding[];
  /** Stops watching. */
  close(): void;
}

function asError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown));
}

/** Begins to watch. */
export function watchBudgets({ records, store, budgets, anchors, nowMs, log }: BudgetWatchParts): BudgetWatch {
  const tellThresholds = createThresholdLines(log);
  const tellVerdicts = createTeller(store, tellingVerdicts);
  const tellSpends = createTeller(store, tellingSpends);
  let standings: Standings = { all: [], askedAtMs: 0 };
  let isDue = true;
  let nextAtMs = 0;
  let lastUnlisted = 0;
  /** How often the records have answered, and how often they had when reading or telling failed; undefined: nothing fails. */
  let answers = 0;
  let failedAfter: number | undefined;

  async function ask(): Promise<BudgetFigures> {
    isDue = false;
    const now = Math.floor(nowMs());
    const asked = questionsOf(budgets(now), anchors(), now);
    const spends = asked.length === 0 ? [] : await records.spend(asked.map(({ question }) => question));
    const all = asked.map((each, index) => ({ ...each, spend: spends[index] ?? new Map() }));
    standings = { all, askedAtMs: now };
    answers += 1;
    // A store that takes long is left alone for as long.
    const doneMs = nowMs();
    nextAtMs = doneMs + Math.max(askMs, doneMs - now);
    tellThresholds(all);
    const byPlace = new Map(all.map((each) => [placeOfBudget(each.budget), each]));
    return { computedAtMs: now, of: (budget) => byPlace.get(placeOfBudget(budget)) };
  }

  async function tell(): Promise<void> {
    const now = Math.floor(nowMs());
    const verdicts = await tellVerdicts(standings, now);
    if (verdicts !== undefined) {
      if (verdicts.unlisted > lastUnlisted) {
        log.error(`${verdicts.unlisted} more budgets are used up than proxies can be told, so these are not enforced`);
      }
      lastUnlisted = verdicts.unlisted;
    }
    await tellSpends(standings, now);
  }

  const asking = singleFlight(ask);
  const checking = singleFlight(async () => {
    if (isDue || nowMs() >= nextAtMs) await asking.join();
    await tell();
  });

  async function look(): Promise<void> {
    const trouble = await checking.join().then(() => undefined, asError);
    if (trouble !== undefined && failedAfter === undefined) {
      log.error(
        { err: trouble },
        'what budgets have spent cannot be read or told: the last verdicts hold until their windows end',
      );
    }
    if (trouble !== undefined) {
      failedAfter = answers;
      nextAtMs = nowMs() + askMs;
      // Most looks ask nothing, so they prove nothing.
    } else if (failedAfter !== undefined && answers > failedAfter) {
      failedAfter = undefined;
      log.info('budgets are watched again');
    }
  }

  const timer = setInterval(() => void look(), lookMs);
  void look();
  return {
    recordsArrived() {
      isDue = true;
    },
    changed() {
      isDue = true;
    },
    refresh: () => asking.next(),
    countedSinceMs: () => countedSinceMs(budgets(nowMs()), anchors(), nowMs()),
    standings: () => standings.all,
    close: () => clearInterval(timer),
  };
}
