// A problem of a configuration: a place in a file and a sentence.
import { escaped, type Path } from '../../schemas/validation/path.ts';

export interface Problem {
  /** The file, or the directory when the whole of it is meant. */
  file: string;
  /** Counted from 1; 0 when the whole file is meant. */
  line: number;
  column: number;
  /** Place in the document, for example `aliases[0].target`; empty when the whole file is meant. */
  path: string;
  message: string;
  /** The last good configuration must not be used instead: the start is aborted. */
  fatal?: boolean;
  /** Listed before all other problems, because it may be their cause. */
  first?: boolean;
  /** A warning that depends on the variables of this machine: `check-config --strict` does not count it. */
  environmental?: boolean;
  /** Nothing has to be corrected: `--strict` does not count it. */
  isNote?: boolean;
  /** The policy that the entry breaks. */
  policy?: string;
  /** A mistake in the key or the variables of a provider, which is left out because of it. */
  leavesOut?: boolean;
}

/** Bounds the time to make the list, the messages between threads and the log. */
export const mostProblems = 200;

/** `file:line:col  path  sentence`, always on one line. */
export function formatProblem({ file, line, column, path, message }: Problem): string {
  const place = line === 0 ? file : `${file}:${line}:${column}`;
  return [place, path, message]
    .filter((part) => part !== '')
    .map(escaped)
    .join('  ');
}

/** The place as members of a log line, as far as it is known. */
export function problemFields({ file, line, column, path }: Problem): object {
  return { file, ...(line === 0 ? {} : { line, column }), ...(path === '' ? {} : { path }) };
}

/** A problem that concerns a whole file or the whole directory. */
export function problemOfFile(file: string, message: string): Problem {
  return { file, line: 0, column: 0, path: '', message };
}

const secretKeys: ReadonlySet<unknown> = new Set([
  'api_key',
  'api_key_file',
  'api_keys',
  'api_key_files',
  'proxy_url',
  'headers',
]);

/** Whether the value at a path may be a secret: then no sentence quotes it. */
export function isSecret(path: Path): boolean {
  // A key may stand in the place of its file by mistake.
  if (path[0] === 'guardrails') return isOfWebhook(path);
  // The secret of a key may stand in the place of its hash or file.
  if (path[0] === 'keys') return path[2] === 'hash' || path[2] === 'value_file';
  if (path[0] === 'identities') return path[2] === 'sign_in' && String(path[3]).startsWith('client_secret');
  return path[0] === 'providers' && secretKeys.has(path[2]);
}

/** The address of a webhook may hold a token. */
function isOfWebhook([, , kind, member]: Path): boolean {
  return kind === 'webhook' && (member === 'headers' || member === 'url' || member === 'secret');
}

/**
 * Sorted by `first`, file, line, column and path, so that the same mistakes always give the same list. What depends on this machine comes last:
 * it buries nothing.
 */
export function sortProblems(problems: readonly Problem[]): Problem[] {
  return [...problems].sort(
    (a, b) =>
      Number(b.first ?? false) - Number(a.first ?? false) ||
      Number(a.environmental ?? false) - Number(b.environmental ?? false) ||
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
