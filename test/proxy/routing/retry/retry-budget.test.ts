// Further calls stay within ten and a share of the requests, in any ten seconds.
import * as fc from 'fast-check';
import { test } from 'tap';
import { RetryBudget, usualShare } from '../../../../proxy/routing/retry/retry-budget.ts';
import { RetryBudgets } from '../../../../proxy/routing/retry/retry-budgets.ts';
import { compileHedge } from '../../../../proxy/snapshot/hedge.ts';
import { defaultRetryPolicy } from '../../../../proxy/snapshot/retry-policy.ts';
import { runs } from '../../../support/extent.ts';

const start = Date.UTC(2026, 0, 5, 12);

/** Makes a further call if it is allowed. */
function take(budget: RetryBudget, nowMs: number): boolean {
  const isAllowed = budget.allows(usualShare, nowMs);
  if (isAllowed) budget.spend(nowMs);
  return isAllowed;
}

await test('a lonely request can fail over, and a storm of failures gets a fifth', async (t) => {
  const budget = new RetryBudget();
  budget.note(start);
  t.equal(take(budget, start), true);
  let extras = 1;
  for (let request = 1; request < 1000; request += 1) {
    budget.note(start + request);
    if (take(budget, start + request)) extras += 1;
  }
  t.equal(extras, 210, 'ten, and a fifth of a thousand requests');
  t.equal(take(budget, start + 9_000), false, 'within ten seconds of them');
  t.equal(take(budget, start + 11_000), true, 'afterwards again');
});

await test('no ten seconds have more further calls than the budget allows', async () => {
  const steps = fc.array(fc.record({ afterMs: fc.integer({ min: 0, max: 4_000 }), isRetry: fc.boolean() }), {
    maxLength: 300,
  });
  fc.assert(
    fc.property(steps, (events) => {
      const budget = new RetryBudget();
      const requests: number[] = [];
      const extras: number[] = [];
      let now = start;
      for (const { afterMs, isRetry } of events) {
        now += afterMs;
        if (!isRetry) {
          requests.push(now);
          budget.note(now);
        } else if (take(budget, now)) extras.push(now);
        // Of the slice that ends the window, a part is older than nine seconds.
        const within = (moments: readonly number[], ms: number) => moments.filter((at) => at > now - ms).length;
        if (within(extras, 9_000) > 10 + usualShare * within(requests, 10_000)) return false;
      }
      return true;
    }),
    runs(300),
  );
});

await test('an alias with a budget of its own neither pays nor uses that of the process', async (t) => {
  const budgets = new RetryBudgets();
  const strict = { source: 'strict', hedge: undefined, policy: { ...defaultRetryPolicy, budget: 0 } };
  const other = { source: 'other', hedge: undefined, policy: defaultRetryPolicy };
  let taken = 0;
  for (let call = 0; call < 20; call += 1) {
    budgets.note(strict, start);
    if (budgets.take(strict, 'failover', start)) taken += 1;
  }
  t.equal(taken, 10, 'its ten');
  t.equal(budgets.take(other, 'retry', start), true);
  t.same(budgets.counts, { failover: 10, retry: 1, reconnect: 0, hedge: 0 });
  t.equal(budgets.refused, 10);
});

await test('hedges have two calls and a twentieth, leave the budget to failovers, and are not missed', async (t) => {
  const budgets = new RetryBudgets();
  const route = { source: 'hedged', hedge: compileHedge(true), policy: defaultRetryPolicy };
  let hedges = 0;
  for (let call = 0; call < 1000; call += 1) {
    budgets.note(route, start);
    if (budgets.take(route, 'hedge', start)) hedges += 1;
  }
  t.equal(hedges, 52);
  t.equal(budgets.refused, 0);
  let failovers = 0;
  while (budgets.take(route, 'failover', start)) failovers += 1;
  t.equal(failovers, 210 - 52, 'what is left of ten and a fifth');
  t.equal(budgets.take(route, 'hedge', start + 11_000), true, 'in the next ten seconds again');
});
