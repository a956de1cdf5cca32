// Replaces budgets of the files with those of environment variables, with a warning for each (design section 4, Environment versus YAML).
import { declaredBudgets, normaliseBudgetSubject } from '../../domain/budgets/budget.ts';
import type { Budgets } from '../../schemas/types.ts';
import { checkHyphens } from '../check/check-user-paths.ts';
import { type Problem, problemOfFile } from '../read/problem.ts';
import type { EnvironmentBudgets, GivenBudgets } from './environment-budgets.ts';
import { overruleSwitch } from './overrule.ts';
import type { Sources } from './sources.ts';

/** How the section is declared, and what holds for it. */
export interface BudgetContext {
  /** The files have a section `budgets`. */
  readonly isDeclared: boolean;
  /** USAGE_ENABLED. */
  readonly usageEnabled: boolean;
}

/** Changes `config`: a path that a variable names loses all entries of the files; those of the variable are appended. Gives the warnings. */
export function overruleBudgets(
  config: Budgets,
  variables: EnvironmentBudgets,
  sources: Sources,
  { isDeclared, usageEnabled }: BudgetContext,
): Problem[] {
  const warnings = checkNames(config, variables.given, sources);
  const owners = new Map(variables.given.map(({ subject, variable }) => [subject, variable]));
  const kept = config.user_paths.filter(({ path }, index) => {
    const variable = owners.get(normaliseBudgetSubject('user_path', path).subject ?? '');
    if (variable === undefined) return true;
    const message = `is replaced, with all its budgets, by the environment variable ${variable}`;
    warnings.push(sources.problem(['budgets', 'user_paths', index, 'path'], message));
    return false;
  });
  config.user_paths = [...kept, ...variables.given.flatMap(entriesOf)];
  if (isDeclared) warnings.push(...overruleSwitch('budgets', config.enabled, variables, sources));
  config.enabled = variables.enabled ?? config.enabled;
  if (!usageEnabled && config.enabled && declaredBudgets(config).length > 0) {
    warnings.push(
      problemOfFile('USAGE_ENABLED', 'is false, so nothing that is spent is recorded and no budget is enforced'),
    );
  }
  return warnings;
}

/** A variable may hold budgets with and without `per_child`, an entry only one kind: then the variable becomes two entries. */
function entriesOf({ subject, budgets }: GivenBudgets): Budgets['user_paths'] {
  return [false, true].flatMap((wanted) => {
    const limits = budgets.filter(({ perChild }) => perChild === wanted).map(({ limit }) => limit);
    return limits.length === 0 ? [] : [{ path: subject, per_child: wanted, limits }];
  });
}

function checkNames(config: Budgets, given: readonly GivenBudgets[], sources: Sources): Problem[] {
  const declared = config.user_paths.flatMap(({ path: written }, index) => {
    const { subject: path, shown = '' } = normaliseBudgetSubject('user_path', written);
    if (path === undefined) return [];
    return [{ path, shown, place: () => sources.place(['budgets', 'user_paths', index, 'path']) }];
  });
  return checkHyphens(declared, given);
}
