// The filter of the listing: by user path, scope and subject, which must all hold. Pure.
import type { Rule } from '../../../schemas/rules/rule.ts';
import { normaliseSubject, type Scope } from '../../../schemas/rules/scope.ts';
import { normaliseUserPath } from '../../../schemas/user-path.ts';
import { invalidQuery, readQuery } from '../read-query.ts';

/** Whether a rule is listed. */
export type RuleFilter = (rule: Pick<Rule, 'scope' | 'matchSubject'>) => boolean;

const scopes: readonly Scope[] = ['user_path', 'provider', 'model'];

/**
 * The filter of a query: `user_path` and `subject` mean a subject exactly, in any form that a rule may be written in. Throws 400
 * `invalid_query` for an unknown or repeated parameter, an unknown scope, and a text that is no subject of the scope.
 */
export function readFilter(query: unknown): RuleFilter {
  const { user_path: userPath, scope, subject } = readQuery(query, ['user_path', 'scope', 'subject']);
  const wanted = scopes.find((each) => each === scope);
  if (scope !== undefined && wanted === undefined) {
    throw invalidQuery('scope', `must be one of ${scopes.join(', ')}`);
  }
  const path = userPath === undefined ? undefined : pathOf(userPath);
  const subjects = subject === undefined ? undefined : subjectsOf(subject, wanted);
  return (rule) =>
    (wanted === undefined || rule.scope === wanted) &&
    (path === undefined || (rule.scope === 'user_path' && rule.matchSubject === path)) &&
    (subjects === undefined || subjects.get(rule.scope) === rule.matchSubject);
}

function pathOf(text: string): string {
  const { path, problem } = normaliseUserPath(text);
  if (problem !== undefined) throw invalidQuery('user_path', problem);
  return path;
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
