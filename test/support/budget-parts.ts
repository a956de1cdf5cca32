// Parts of the budget resource for tests: a configuration of budgets, and a record store in memory that adds up what it is told.
import type { BudgetParts } from '../../control-plane/admin/budgets/parts.ts';
import { compileBudgets } from '../../domain/budgets/budget.ts';
import { nanoDollarsOf } from '../../domain/budgets/money.ts';
import { defaultAnchors } from '../../domain/budgets/window.ts';
import { directChild, isWithin } from '../../domain/user-path.ts';
import type { Budgets } from '../../schemas/types.ts';
import type { RecordStore } from '../../store/records/record-store.ts';

/** Budgets of a configuration; everything else has its default. */
export function declaredParts(
  declared: Partial<Pick<Budgets, 'user_paths' | 'labels'>> = {},
): ReturnType<BudgetParts['configBudgets']> {
  const budgets = compileBudgets({ user_paths: [], labels: [], ...declared });
  const places = new Map(budgets.map(({ key }, index) => [key, `budgets.yaml:${index + 1}`]));
  return { budgets, declared: new Map(), places, anchors: defaultAnchors, unpriced: undefined };
}

/** Parts without any budget. */
export function budgetParts(admin: Pick<BudgetParts, 'store' | 'quotas' | 'nowMs'>): BudgetParts {
  return {
    ...admin,
    configBudgets: () => declaredParts(),
    prerequisites: () => ({ enabled: true, hasTemplates: true, usageEnabled: true }),
    figures: async () => ({ computedAtMs: 0, of: () => undefined }),
  };
}

/** What was spent: when, by whom, how much. */
interface Spent {
  readonly atMs: number;
  readonly userPath: string;
  readonly labels: readonly string[];
  readonly nano: number;
}

/** A record store in memory, with the one question that budgets ask. */
export function memoryOfSpend(): Pick<RecordStore, 'spend'> & {
  /** Dollars. */
  pay(atMs: number, dollars: number, by: { userPath?: string; labels?: readonly string[] }): void;
  /** Rejects from now on with this; undefined: answers again. */
  failWith(error: Error | undefined): void;
  readonly asked: () => number;
} {
  const all: Spent[] = [];
  let failure: Error | undefined;
  let asked = 0;
  return {
    asked: () => asked,
    failWith(error) {
      failure = error;
    },
    pay(atMs, dollars, { userPath = '/', labels = [] }) {
      all.push({ atMs, userPath, labels, nano: nanoDollarsOf(dollars) });
    },
    async spend(questions) {
      asked += 1;
      if (failure !== undefined) throw failure;
      return questions.map(({ scope, subject, perChild, fromMs }) => {
        const sums = new Map<string, number>();
        for (const { atMs, userPath, labels, nano } of all) {
          const isOwn = scope === 'label' ? labels.includes(subject) : isWithin(userPath, subject);
          const owner = perChild ? directChild(userPath, subject) : subject;
          if (atMs >= fromMs && isOwn && owner !== undefined) sums.set(owner, (sums.get(owner) ?? 0) + nano);
        }
        return sums;
      });
    },
  };
}
