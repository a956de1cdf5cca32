// The budgets of GET /v1/usage: from a listing of the control plane, and without one.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { test } from 'tap';
import { budgetListing } from '../../../control-plane/admin/budgets/listing.ts';
import { questionsOf } from '../../../control-plane/budgets/standing.ts';
import { placeOfBudget } from '../../../domain/budgets/budget.ts';
import { mergeBudgets } from '../../../domain/budgets/merge-budgets.ts';
import type { BudgetVerdict } from '../../../domain/budgets/verdicts.ts';
import { callerBudgets } from '../../../proxy/budgets/caller-budgets.ts';
import { declaredParts, memoryOfSpend } from '../../support/budget-parts.ts';

const nowMs = Date.UTC(2026, 2, 14, 12);
const covered = '/customers/alice/app';
const parts = declaredParts({
  user_paths: [
    { path: '/', per_child: false, limits: [{ period: 'monthly', amount: 10, mode: 'enforce' }] },
    { path: '/customers', per_child: true, limits: [{ period: 'daily', amount: 2, mode: 'shadow' }] },
  ],
});
const schema = JSON.parse(
  readFileSync(join(import.meta.dirname, '../../../schemas/model-api/usage.schema.json'), 'utf8'),
) as object;
const ajv = new Ajv2020({ strict: false, validateFormats: false });
ajv.addSchema({ ...schema, $id: 'usage' });
const isBudget = ajv.compile({ $ref: 'usage#/$defs/budget' });

const verdict: BudgetVerdict = {
  id: 'b',
  scope: 'label',
  subject: 'batch',
  effectiveSubject: 'batch',
  perChild: false,
  periodSeconds: 300,
  amount: 2_000_000_000,
  spent: 3_000_000_000,
  startMs: nowMs - 1_000,
  endMs: nowMs + 1_500,
  mode: 'enforce',
};

/** What the control plane answers; without figures its record store does not answer. */
async function listed(isKnown = true): Promise<unknown> {
  const records = memoryOfSpend();
  records.pay(nowMs, 2.5, { userPath: covered });
  const prerequisites = { enabled: true, hasTemplates: true, usageEnabled: true };
  const budgets = mergeBudgets({ config: parts.budgets, manual: [], resets: [], nowMs, prerequisites });
  const asked = questionsOf(budgets, parts.anchors, nowMs);
  const spends = await records.spend(asked.map(({ question }) => question));
  const standings = new Map(
    asked.map((each, index) => [placeOfBudget(each.budget), { ...each, spend: spends[index] ?? new Map() }]),
  );
  const figures = isKnown
    ? { computedAtMs: nowMs, of: (budget: (typeof budgets)[number]) => standings.get(placeOfBudget(budget)) }
    : undefined;
  const body = budgetListing({ ...parts, budgets, figures, covered, nowMs, isStale: false });
  return JSON.parse(JSON.stringify(body)) as unknown;
}

await test('a listing gives every budget that the path spends from, and labels that are used up', async (t) => {
  const items = callerBudgets(await listed(), [verdict, { ...verdict, scope: 'user_path' }], nowMs);
  t.match(items, [
    {
      subject: '/',
      user_path: '/',
      amount: 10,
      spent: 2.5,
      remaining: 7.5,
      exceeded: false,
      resets_in_seconds: 1_512_000,
    },
    {
      subject: '/customers',
      per_child: true,
      user_path: '/customers/alice',
      spent: 2.5,
      remaining: -0.5,
      mode: 'shadow',
    },
    { scope: 'label', subject: 'batch', spent: 3, remaining: -1, usage_ratio: 1.5, resets_in_seconds: 2 },
  ]);
  t.equal(items.length, 3);
  for (const item of items) t.ok(isBudget(item), ajv.errorsText(isBudget.errors));
});

await test('without a listing, or one without spend, budgets that are used up are told', async (t) => {
  const own = { ...verdict, scope: 'user_path', subject: '/', effectiveSubject: '/' } as const;
  for (const body of [undefined, null, {}, 'x', { budgets: 7 }, await listed(false)]) {
    const items = callerBudgets(body, [verdict, own], nowMs);
    t.match(items, [{ subject: 'batch' }, { subject: '/', user_path: '/', exceeded: true }], JSON.stringify(body));
    for (const item of items) t.ok(isBudget(item), ajv.errorsText(isBudget.errors));
  }
});
