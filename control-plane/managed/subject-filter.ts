// The filter of a listing of limits: by user path, scope and subject, which must all hold; or all that count for a path. Pure.
import type { SubjectResult } from '../../domain/rules/scope.ts';
import { directChild, foldUserPath, isWithin, normaliseUserPath } from '../../domain/user-path.ts';
import { invalidQuery } from './read-query.ts';

/** The members that a filter reads. */
interface Filtered {
  readonly scope: string;
  readonly matchSubject: string;
  readonly perChild: boolean;
}

export interface SubjectFilter {
  readonly shows: (limit: Filtered) => boolean;
  /** The path that `covers` names, to compare. */
  readonly covered: string | undefined;
}

/** The parameters that name subjects. */
export const filterNames = ['user_path', 'covers', 'scope', 'subject'] as const;

/** The scopes of a kind, and how each normalises a subject. */
export interface Scopes<Scope extends string> {
  readonly names: readonly Scope[];
  readonly normalise: (scope: Scope, subject: string) => SubjectResult;
}

/**
 * The filter of a query: `user_path` and `subject` mean a subject exactly, in any form that a limit may be written in; `covers` means those
 * of user paths that count the requests of a path: its own, and those of the paths above it. Throws 400 `invalid_query` for an unknown
 * scope, and a text that is no subject of the scope.
 */
export function readSubjectFilter<Scope extends string>(
  given: Readonly<Partial<Record<(typeof filterNames)[number], string>>>,
  scopes: Scopes<Scope>,
): SubjectFilter {
  const { user_path: userPath, covers, scope, subject } = given;
  const wanted = scopes.names.find((each) => each === scope);
  if (scope !== undefined && wanted === undefined) {
    throw invalidQuery('scope', `must be one of ${scopes.names.join(', ')}`);
  }
  const path = userPath === undefined ? undefined : pathOf('user_path', userPath);
  const covered = covers === undefined ? undefined : pathOf('covers', covers);
  const subjects = subject === undefined ? undefined : subjectsOf(subject, wanted, scopes);
  return {
    covered,
    shows: (limit) =>
      (wanted === undefined || limit.scope === wanted) &&
      (path === undefined || (limit.scope === 'user_path' && limit.matchSubject === path)) &&
      (covered === undefined || (limit.scope === 'user_path' && isCovered(covered, limit))) &&
      (subjects === undefined || subjects.get(limit.scope) === limit.matchSubject),
  };
}

/** Whether the requests of a path count under a limit of a user path: those of a template's own path do not. */
function isCovered(path: string, { matchSubject, perChild }: Filtered): boolean {
  return perChild ? directChild(path, matchSubject) !== undefined : isWithin(path, matchSubject);
}

function pathOf(param: string, text: string): string {
  const { path, problem } = normaliseUserPath(text);
  if (problem !== undefined) throw invalidQuery(param, problem);
  return foldUserPath(path);
}

/** The subject as each scope compares it; a scope that cannot have it is left out. */
function subjectsOf<Scope extends string>(
  text: string,
  wanted: Scope | undefined,
  { names, normalise }: Scopes<Scope>,
): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (const scope of wanted === undefined ? names : [wanted]) {
    const { subject, problem } = normalise(scope, text);
    if (problem === undefined) found.set(scope, subject);
    else if (scope === wanted) throw invalidQuery('subject', problem);
  }
  return found;
}
