// The scopes of rules: one row per scope says how its subjects are normalised.
import { foldCase, parseSelector } from '../selector.ts';
import { normaliseUserPath } from '../user-path.ts';

export type Scope = 'user_path' | 'provider' | 'model';

export type SubjectResult = { subject: string; problem?: undefined } | { subject?: undefined; problem: string };

const normalise: Record<Scope, (subject: string) => SubjectResult> = {
  user_path: (subject) => {
    const { path, problem } = normaliseUserPath(subject);
    return problem === undefined ? { subject: path } : { problem };
  },
  provider: (subject) => ({ subject: foldCase(subject) }),
  model: (subject) =>
    parseSelector(subject) === undefined || subject.endsWith('/')
      ? { problem: 'is neither <provider>/<model> nor a bare model id' }
      : { subject: foldCase(subject) },
};

/** The form of a subject for comparing: user paths keep their letter case, providers and models are in lower case. */
export function normaliseSubject(scope: Scope, subject: string): SubjectResult {
  return normalise[scope](subject);
}

/** The form of a subject to show: names as written, user paths normalised. */
export function shownSubject(scope: Scope, subject: string, normalised: string): string {
  return scope === 'user_path' ? normalised : subject;
}
