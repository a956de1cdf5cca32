// The budgets of this plane: the declared budgets of the configuration and of operators, the spend, and what the admin API needs of both.
import { join } from 'node:path';
import { anchorsInForce } from '../domain/budgets/budget-settings.ts';
import type { MergedBudget } from '../domain/budgets/merge-budgets.ts';
import { budgetSettings, manualBudgets } from '../domain/documents/kinds.ts';
import type { Log } from '../plane/log-events.ts';
import type { RecordStore } from '../store/records/record-store.ts';
import type { StateStore } from '../store/state/state-store.ts';
import { type BudgetParts, budgetsOfState, tidyBudgets } from './admin/budgets/parts.ts';
import { removeExpiredBudgets } from './budgets/expiry.ts';
import { type AskedBudget, questionsOf } from './budgets/standing.ts';
import { createBudgetWarnings } from './budgets/warnings.ts';
import { type BudgetWatch, watchBudgets } from './budgets/watch.ts';
import type { ConfigInForce } from './config-in-force.ts';
import type { DocumentsInForce } from './documents-in-force.ts';
import { keepDeclaredDates } from './managed/declared-dates.ts';
import { storedKind } from './managed/stored-kind.ts';

export interface BudgetsParts {
  readonly config: ConfigInForce;
  readonly managed: Pick<DocumentsInForce, 'documents' | 'credentials'>;
  /** Not called before there is a configuration. */
  readonly records: () => Pick<RecordStore, 'spend'>;
  readonly store: Pick<StateStore, 'writeHeartbeat'>;
  /** Where the dates of declared budgets are kept. */
  readonly ownFolder: string;
  readonly nowMs: () => number;
  /** The time by which budgets of operators end (`authorityClock`). */
  readonly authorityMs: () => number;
  readonly log: Log;
}

export interface OpenBudgets {
  readonly watch: BudgetWatch;
  /** Records have come into the store: what was spent is asked for again. */
  readonly ask: () => void;
  /** From when on usage counts for a budget; 0: that is not known yet; Infinity: there is none. Unix milliseconds. */
  readonly countedSinceMs: () => number;
  /** Those in force, in the windows of a moment that is past; resets since then do not count. Unix milliseconds. */
  readonly askedAt: (atMs: number) => readonly AskedBudget[];
  /** A configuration is in force, or other documents are. */
  changed(): void;
  /** From now on expired budgets are removed. Gives the parts of the admin API. */
  serve(admin: Pick<BudgetParts, 'store' | 'quotas' | 'nowMs'>): BudgetParts;
  close(): void;
}

export async function openBudgets(parts: BudgetsParts): Promise<OpenBudgets> {
  const { config, managed, records, store, ownFolder, nowMs, authorityMs, log } = parts;
  const datesPath = join(ownFolder, 'declared-budgets.json');
  const dates = await keepDeclaredDates(datesPath, (problem) => log.warn(problem), 'budgets');
  const warn = createBudgetWarnings(log);
  let expiry: { close(): void } | undefined;

  const prerequisites = () => config.budgetPrerequisites();
  const budgetsAt = (now: number): MergedBudget[] =>
    budgetsOfState(managed, {
      config: config.budgets,
      nowMs: Math.max(now, Math.floor(authorityMs())),
      prerequisites: prerequisites(),
    });
  const anchors = () => anchorsInForce(config.anchors, storedKind(budgetSettings, managed).values());
  const recordStore: Pick<RecordStore, 'spend'> = { spend: (questions) => records().spend(questions) };
  const watch = watchBudgets({ records: recordStore, store, budgets: budgetsAt, anchors, nowMs, log });

  return {
    watch,
    ask: () => watch.recordsArrived(),
    askedAt(atMs) {
      if (!config.isLoaded) return [];
      const present = budgetsAt(Math.floor(nowMs()));
      const then = present.map((each) => ((each.lastResetMs ?? 0) > atMs ? { ...each, lastResetMs: undefined } : each));
      return questionsOf(then, anchors(), atMs);
    },
    countedSinceMs: () => (config.isLoaded && managed.credentials.isComplete ? watch.countedSinceMs() : 0),
    changed() {
      if (!config.isLoaded) return;
      const now = Math.floor(nowMs());
      dates.update(
        config.budgets.map(({ key, amount, mode, perChild }) => ({
          key,
          says: JSON.stringify([amount, mode, perChild]),
        })),
        now,
      );
      warn(budgetsAt(now), prerequisites().enabled);
      watch.changed();
    },
    serve(admin) {
      expiry = removeExpiredBudgets({
        manual: () => storedKind(manualBudgets, managed).values(),
        config: () => config.budgets,
        tidy: (now) => tidyBudgets(admin.store, config, now),
        ended: () => watch.changed(),
        nowMs,
        log,
      });
      return {
        ...admin,
        configBudgets: () => ({
          budgets: config.budgets,
          declared: dates.current(),
          places: config.places.budgets,
          anchors: config.anchors,
          unpriced: config.unpriced,
        }),
        figures: () => watch.refresh(),
        prerequisites,
      };
    },
    close() {
      watch.close();
      expiry?.close();
    },
  };
}
