// Reads which user path a limit is about, from the members that may name it. Pure.
import { foldUserPath, normaliseUserPath } from '../../domain/user-path.ts';
import { invalid } from './read-body.ts';

/** A subject of the scope `user_path`. */
export interface PathSubject {
  readonly scope: 'user_path';
  /** To show, normalised. */
  readonly subject: string;
  /** To compare. */
  readonly matchSubject: string;
}

/** The path of `subject` or `user_path`; without both the root. Throws 400 naming the member, also where the two differ. */
export function readPathSubject({
  subject = '',
  user_path: userPath = '',
}: {
  readonly subject?: string;
  readonly user_path?: string;
}): PathSubject {
  if (isBlank(subject)) return pathSubject('user_path', isBlank(userPath) ? '/' : userPath);
  const path = pathSubject('subject', subject);
  if (!isBlank(userPath) && pathSubject('user_path', userPath).matchSubject !== path.matchSubject) {
    throw invalid('user_path', 'differs from subject; send one of them');
  }
  return path;
}

/** The paths of `user_paths`, normalised. Throws 400 naming the entry. */
export function readUserPaths(paths: readonly string[]): string[] {
  return paths.map((text, index) => {
    const { path, problem } = normaliseUserPath(text);
    if (problem !== undefined) throw invalid('user_paths', `in entry [${index}] ${problem}`);
    return path;
  });
}

function pathSubject(param: string, text: string): PathSubject {
  const { path, problem } = normaliseUserPath(text);
  if (problem !== undefined) throw invalid(param, problem);
  return { scope: 'user_path', subject: path, matchSubject: foldUserPath(path) };
}

function isBlank(text: string): boolean {
  return text.trim() === '';
}
