// What Prometheus sees of budgets at this proxy: what they refused, and how many are used up.
import { Counter, Gauge, type Registry } from '../../plane/prometheus.ts';
import { proxyMetrics } from '../../schemas/metrics/proxy-metrics.ts';
import { type BudgetsInForce, budgetOutcomes } from '../budgets/budgets-in-force.ts';

/** Registers the metrics. */
export function observeBudgets(registers: Registry[], budgets: Pick<BudgetsInForce, 'decisions' | 'size'>): void {
  new Counter({
    ...proxyMetrics.budgetDecisions,
    registers,
    collect() {
      this.reset();
      for (const { budget, counts } of budgets.decisions()) {
        for (const outcome of budgetOutcomes) this.inc({ budget, outcome }, counts[outcome]);
      }
    },
  });
  new Gauge({
    ...proxyMetrics.budgetVerdicts,
    registers,
    collect() {
      this.set(budgets.size);
    },
  });
}
