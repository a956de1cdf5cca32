// What Prometheus sees of budgets: read at a scrape from what was spent as of the last answer of the record store.

import { budgetPeriodLabel } from '../domain/budgets/period.ts';
import { Gauge, type Registry } from '../plane/prometheus.ts';
import { controlPlaneMetrics as defined } from '../schemas/metrics/control-plane-metrics.ts';
import { mostLabelledBudgets } from '../schemas/metrics/limit-metrics.ts';
import { highestSpend } from './budgets/standing.ts';
import type { BudgetWatch } from './budgets/watch.ts';

/** Registers the metrics. Ids of budgets are bounded by the configuration, and the number of series besides. */
export function exposeBudgets(registers: Registry[], { standings }: Pick<BudgetWatch, 'standings'>): void {
  new Gauge({
    ...defined.budgetSpent,
    registers,
    collect() {
      this.reset();
      const enforced = standings().filter(({ budget }) => budget.enforced);
      for (const { budget, spend } of enforced.slice(0, mostLabelledBudgets)) {
        const { id, scope, periodSeconds, mode, amount } = budget;
        const labels = { budget: id, scope, period: budgetPeriodLabel(periodSeconds), mode };
        this.set(labels, highestSpend(spend) / amount);
      }
    },
  });
  new Gauge({
    ...defined.budgetsExceeded,
    registers,
    collect() {
      const counts = { enforce: 0, shadow: 0 };
      for (const { budget, spend } of standings()) {
        if (!budget.enforced) continue;
        for (const spent of spend.values()) if (spent >= budget.amount) counts[budget.mode] += 1;
      }
      for (const [mode, count] of Object.entries(counts)) this.set({ mode }, count);
    },
  });
}
