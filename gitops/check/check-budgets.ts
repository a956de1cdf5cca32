// Checks of budgets that the schema cannot express: valid paths, no duplicate budget.
import { budgetKey, declaredBudgets, normaliseBudgetSubject } from '../../domain/budgets/budget.ts';
import { budgetPeriodLabel } from '../../domain/budgets/period.ts';
import { sayUnpriced } from '../../domain/budgets/unpriced.ts';
import type { Budgets, Config } from '../../schemas/types.ts';
import type { Path } from '../../schemas/validation/path.ts';
import type { Sources } from '../assemble/sources.ts';
import type { Problem } from '../read/problem.ts';

/** The spend of each is asked for every second. */
const mostBudgets = 10_000;
const subjectKeys = { user_paths: 'path', labels: 'label' } as const;

/** Tells of models whose cost no budget counts. */
export function checkPrices(config: Pick<Config, 'providers' | 'usage' | 'budgets'>, sources: Sources): Problem[] {
  if (!config.budgets.enabled || declaredBudgets(config.budgets).length === 0) return [];
  const said = sayUnpriced(config);
  return said === undefined ? [] : [sources.problem(['budgets'], said, 'key')];
}

/** Checks every budget. One file has all budgets of a subject, as it has all its rate limits. */
export function checkBudgets(config: Budgets, sources: Sources): Problem[] {
  const declared = declaredBudgets(config);
  if (declared.length > mostBudgets) {
    return [
      sources.problem(['budgets'], `has ${declared.length} budgets; at most ${mostBudgets} are supported`, 'key'),
    ];
  }
  const problems: Problem[] = [];
  const seen = new Map<string, Path>();
  const firsts = new Map<string, Path>();
  for (const { scope, subject: written, periodSeconds, place } of declared) {
    const [section, entry, , index] = place;
    const path = ['budgets', section, entry, subjectKeys[section]];
    if (sources.isUnknown(path)) continue;
    const { subject, problem } = normaliseBudgetSubject(scope, written);
    if (problem !== undefined) {
      if (index === 0) problems.push(sources.problem(path, `${sources.quoted(path)} ${problem}`));
      continue;
    }
    const kind = scope.replace('_', ' ');
    const other = firsts.get(`${scope} ${subject}`) ?? path;
    firsts.set(`${scope} ${subject}`, other);
    if (sources.file(other) !== sources.file(path)) {
      const named = `the ${kind} ${sources.quoted(path)} has budgets in ${sources.place(other)} already`;
      if (index === 0) problems.push(sources.problem(path, `${named}; keep all budgets of one ${kind} in one file`));
      continue;
    }
    const key = budgetKey(scope, subject, periodSeconds);
    const first = seen.get(key);
    const at = ['budgets', ...place];
    if (first === undefined) seen.set(key, at);
    else {
      const budget = `${kind} ${sources.quoted(path)} (${budgetPeriodLabel(periodSeconds)})`;
      const twin = sources.quoted([...first.slice(0, 3), subjectKeys[section]]);
      const spelled = twin === sources.quoted(path) ? '' : ` as ${twin}`;
      const message = `the budget for ${budget} is already declared${spelled} in ${sources.place(first)}`;
      problems.push(sources.problem(at, message));
    }
  }
  return problems;
}
