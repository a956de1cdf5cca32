// Reads the user path in the name of a variable: SET_RATE_LIMIT_TEAM__APP is for /team/app.
import { normaliseUserPath } from '../../domain/user-path.ts';

export type SubjectReading = { subject: string; problem?: undefined } | { subject?: undefined; problem: string };

/** `TEAM__APP` → `/team/app`, an empty text → `/`. One underscore is part of a name; an ambiguous name is a problem. */
export function readPathSuffix(prefix: string, suffix: string): SubjectReading {
  if (/^_|___|_$/.test(suffix)) {
    return {
      problem:
        `has underscores that name no path: write two between segments (${prefix}TEAM__APP is /team/app) and none at the ends ` +
        `(${prefix} is /); declare any other path in the YAML files`,
    };
  }
  const { path, problem } = normaliseUserPath(suffix.toLowerCase().replaceAll('__', '/'));
  if (problem !== undefined) return { problem: `names a path that ${problem}` };
  if (path === '/' && suffix !== '') return { problem: `names no path; ${prefix} alone is the path /` };
  return { subject: path };
}
