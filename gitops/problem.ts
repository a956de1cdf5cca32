// What is wrong with a configuration, as data: one place in a file and one sentence for a person.
import { escaped, type Path } from '../schemas/validation/path.ts';

export interface Problem {
  /** The file, or the directory when the whole of it is meant. */
  file: string;
  /** Counted from 1; 0 when the whole file is meant. */
  line: number;
  column: number;
  /** Place in the document, for example `aliases[0].target`; empty when the whole file is meant. */
  path: string;
  message: string;
  /** No older configuration may stand in for this one: a start is aborted. */
  fatal?: boolean;
  /** Told before all others, which may be its consequences. */
  first?: boolean;
}

/** A longer list helps nobody, takes time to make, and has to be carried between threads and into logs. */
export const mostProblems = 200;

/** `file:line:col  path  sentence`, on one line whatever the input held. */
export function formatProblem({ file, line, column, path, message }: Problem): string {
  const place = line === 0 ? file : `${file}:${line}:${column}`;
  return [place, path, message]
    .filter((part) => part !== '')
    .map(escaped)
    .join('  ');
}

/** A problem that concerns a whole file or the whole directory. */
export function problemOfFile(file: string, message: string): Problem {
  return { file, line: 0, column: 0, path: '', message };
}

/** Whether the value at a path may be a secret, so that no sentence may quote it. */
export function isSecret(path: Path): boolean {
  return path[0] === 'providers' && (path[2] === 'api_key' || path[2] === 'headers');
}

/** What is to be told first, then by file, line, column and path, so that the same mistakes always read the same. */
export function sortProblems(problems: readonly Problem[]): Problem[] {
  return [...problems].sort(
    (a, b) =>
      Number(b.first ?? false) - Number(a.first ?? false) ||
      compare(a.file, b.file) ||
      a.line - b.line ||
      a.column - b.column ||
      compare(a.path, b.path) ||
      compare(a.message, b.message),
  );
}

function compare(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
