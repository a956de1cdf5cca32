// Which callers spend from a budget that is enforced, whether or not it is used up.
import type { MergedBudget } from '../../domain/budgets/merge-budgets.ts';
import { foldUserPath } from '../../domain/user-path.ts';

export class BudgetCover {
  readonly #paths = new Set<string>();
  /** Of templates: their direct children have the budgets. */
  readonly #templates = new Set<string>();
  readonly #labels = new Set<string>();

  /** Takes those of `budgets` that are enforced, and not in shadow. */
  constructor(budgets: readonly MergedBudget[]) {
    for (const { enforced, mode, scope, matchSubject, perChild } of budgets) {
      if (!enforced || mode === 'shadow') continue;
      const subjects = scope === 'label' ? this.#labels : perChild ? this.#templates : this.#paths;
      subjects.add(matchSubject);
    }
  }

  /** The subject of the budget that counts a caller, as a message names it; undefined: none does. */
  subjectFor(userPath: string, labels: readonly string[] = []): string | undefined {
    const label = labels.find((each) => this.#labels.has(each));
    if (label !== undefined) return `the label ${label}`;
    const path = foldUserPath(userPath);
    if (this.#paths.has('/')) return '/';
    // The template itself is no child of it.
    for (let end = path === '/' ? -1 : 0; end !== -1; ) {
      const above = end === 0 ? '/' : path.slice(0, end);
      if (this.#templates.has(above)) return path.slice(0, nextEnd(path, end));
      end = path.indexOf('/', end + 1);
      const below = end === -1 ? path : path.slice(0, end);
      if (this.#paths.has(below)) return below;
    }
    return undefined;
  }
}

/** Where the segment behind the slash at `at` ends. */
function nextEnd(path: string, at: number): number {
  const end = path.indexOf('/', at + 1);
  return end === -1 ? path.length : end;
}
