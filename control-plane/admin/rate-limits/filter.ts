// The filter of the listing: by user path, scope and subject, which must all hold; or all rules that hold for a path. Pure.
import type { Rule } from '../../../domain/rules/rule.ts';
import { normaliseSubject, type Scope } from '../../../domain/rules/scope.ts';
import { directChild, foldUserPath, isWithin, normaliseUserPath } from '../../../domain/user-path.ts';
import { invalidQuery } from '../../managed/read-query.ts';
import type { Given } from '../records/read-query.ts';

/** Whether a rule is listed. */
export type RuleFilter = (rule: Pick<Rule, 'scope' | 'matchSubject' | 'perChild'>) => boolean;

const scopes: readonly Scope[] = ['user_path', 'provider', 'model'];

/** The parameters that name subjects. */
export const filterNames = ['user_path', 'covers', 'scope', 'subject'] as const;

/**
 * The filter of a query: `user_path` and `subject` mean a subject exactly, in any form that a rule may be written in; `covers` means the
 * rules of user paths that count the requests of a path: its own, and those of the paths above it. Throws 400 `invalid_query` for an unknown scope, and a text that is no subject of the scope.
 */
export function readFilter(given: Given<(typeof filterNames)[number]>): RuleFilter {
  const { user_path: userPath, covers, scope, subject } = given;
  const wanted = scopes.find((each) => each === scope);
  if (scope !== undefined && wanted === undefined) {
    throw invalidQuery('scope', `must be one of ${scopes.join(', ')}`);
  }
  const path = userPath === undefined ? undefined : pathOf('user_path', userPath);
  const covered = covers === undefined ? undefined : pathOf('covers', covers);
  const subjects = subject === undefined ? undefined : subjectsOf(subject, wanted);
  return (rule) =>
    (wanted === undefined || rule.scope === wanted) &&
    (path === undefined || (rule.scope === 'user_path' && rule.matchSubject === path)) &&
    (covered === undefined || (rule.scope === 'user_path' && isCovered(covered, rule))) &&
    (subjects === undefined || subjects.get(rule.scope) === rule.matchSubject);
}

/** Whether the requests of a path count under a rule of a user path: those of a template's own path do not. */
function isCovered(path: string, { matchSubject, perChild }: Pick<Rule, 'matchSubject' | 'perChild'>): boolean {
  return perChild ? directChild(path, matchSubject) !== undefined : isWithin(path, matchSubject);
}

function pathOf(param: string, text: string): string {
  const { path, problem } = normaliseUserPath(text);
  if (problem !== undefined) throw invalidQuery(param, problem);
  return foldUserPath(path);
}

/** The subject as each scope compares it; a scope that cannot have it is left out. */
function subjectsOf(text: string, wanted: Scope | undefined): ReadonlyMap<Scope, string> {
  const found = new Map<Scope, string>();
  for (const scope of wanted === undefined ? scopes : [wanted]) {
    const { subject, problem } = normaliseSubject(scope, text);
    if (problem === undefined) found.set(scope, subject);
    else if (scope === wanted) throw invalidQuery('subject', problem);
  }
  return found;
}
