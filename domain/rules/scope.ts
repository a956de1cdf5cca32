// The scopes of rules: one row per scope says how its subjects are normalised.
import { foldCase, parseSelector } from '../selector.ts';
import { foldUserPath, normaliseUserPath } from '../user-path.ts';

export type Scope = 'user_path' | 'provider' | 'model';

/** `subject`: to compare, in lower case. `shown`: to show, a name as written, a user path normalised, both in the letter case as written. */
export type SubjectResult =
  | { subject: string; shown: string; problem?: undefined }
  | { subject?: undefined; shown?: undefined; problem: string };

const normalise: Record<Scope, (subject: string) => SubjectResult> = {
  user_path: (subject) => {
    const { path, problem } = normaliseUserPath(subject);
    return problem === undefined ? { subject: foldUserPath(path), shown: path } : { problem };
  },
  provider: (subject) => ({ subject: foldCase(subject), shown: subject }),
  model: (subject) =>
    parseSelector(subject) === undefined || subject.endsWith('/')
      ? { problem: 'is neither <provider>/<model> nor a bare model id' }
      : { subject: foldCase(subject), shown: subject },
};

/** The forms of a subject, or the end of a sentence about one that is none. */
export function normaliseSubject(scope: Scope, subject: string): SubjectResult {
  return normalise[scope](subject);
}
