// The filter of the listing: by user path, scope and subject, which must all hold; or all budgets that a path spends from. Pure.
import { type Budget, type BudgetScope, budgetScopes, normaliseBudgetSubject } from '../../../domain/budgets/budget.ts';
import { directChild, foldUserPath, isWithin, normaliseUserPath } from '../../../domain/user-path.ts';
import { invalidQuery, readQuery } from '../../managed/read-query.ts';

/** Which budgets are listed, and whose spend of templates. */
export interface BudgetFilter {
  shows(budget: Pick<Budget, 'scope' | 'matchSubject' | 'perChild'>): boolean;
  /** The path that `covers` names, to compare. */
  readonly covered: string | undefined;
}

/**
 * The filter of a query: `user_path` and `subject` mean a subject exactly; `covers` means the budgets of user paths that requests of a path
 * spend from. Throws 400 `invalid_query` for an unknown or repeated parameter, an unknown scope, and a text that is no subject of the scope.
 */
export function readBudgetFilter(query: unknown): BudgetFilter {
  const { user_path: userPath, covers, scope, subject } = readQuery(query, ['user_path', 'covers', 'scope', 'subject']);
  const wanted = budgetScopes.find((each) => each === scope);
  if (scope !== undefined && wanted === undefined) {
    throw invalidQuery('scope', `must be one of ${budgetScopes.join(', ')}`);
  }
  const path = userPath === undefined ? undefined : pathOf('user_path', userPath);
  const covered = covers === undefined ? undefined : pathOf('covers', covers);
  const subjects = subject === undefined ? undefined : subjectsOf(subject, wanted);
  return {
    covered,
    shows: (budget) =>
      (wanted === undefined || budget.scope === wanted) &&
      (path === undefined || (budget.scope === 'user_path' && budget.matchSubject === path)) &&
      (covered === undefined || (budget.scope === 'user_path' && isCovered(covered, budget))) &&
      (subjects === undefined || subjects.get(budget.scope) === budget.matchSubject),
  };
}

/** Whether the requests of a path spend from a budget: those of a template's own path do not. */
function isCovered(path: string, { matchSubject, perChild }: Pick<Budget, 'matchSubject' | 'perChild'>): boolean {
  return perChild ? directChild(path, matchSubject) !== undefined : isWithin(path, matchSubject);
}

function pathOf(param: string, text: string): string {
  const { path, problem } = normaliseUserPath(text);
  if (problem !== undefined) throw invalidQuery(param, problem);
  return foldUserPath(path);
}

/** The subject as each scope compares it; a scope that cannot have it is left out. */
function subjectsOf(text: string, wanted: BudgetScope | undefined): ReadonlyMap<BudgetScope, string> {
  const found = new Map<BudgetScope, string>();
  for (const scope of wanted === undefined ? budgetScopes : [wanted]) {
    const { subject, problem } = normaliseBudgetSubject(scope, text);
    if (problem === undefined) found.set(scope, subject);
    else if (scope === wanted) throw invalidQuery('subject', problem);
  }
  return found;
}
