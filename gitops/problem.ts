// What is wrong with a configuration, as data: one place in a file and one sentence for a person.

export type Path = readonly (string | number)[];

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
    .map(printable)
    .join('  ');
}

/** A problem that concerns a whole file or the whole directory. */
export function problemOfFile(file: string, message: string): Problem {
  return { file, line: 0, column: 0, path: '', message };
}

/** `["providers", "my.name", "models", 0]` → `providers["my.name"].models[0]`. */
export function formatPath(path: Path): string {
  let text = '';
  for (const part of path) {
    if (typeof part === 'number') text += `[${part}]`;
    else if (/^[\w-]+$/.test(part)) text += text === '' ? part : `.${part}`;
    else text += `[${quote(part)}]`;
  }
  return text;
}

/** Whether the value at a path may be a secret, so that no sentence may quote it. */
export function isSecret(path: Path): boolean {
  return path[0] === 'providers' && (path[2] === 'api_key' || path[2] === 'headers');
}

/** Text of the configuration within a sentence: quoted, on one line, of bounded length. */
export function quote(text: string): string {
  return printable(JSON.stringify(text.length > 60 ? `${text.slice(0, 57)}...` : text));
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

function printable(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu, (character) => {
    return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
  });
}
