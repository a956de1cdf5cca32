// Bytes of the configuration files → one configuration, or everything that is wrong with them; pure, and the same for both planes and the checker.
import type { Config } from '../types.ts';
import { assemble } from './assemble.ts';
import { expand, type Variables } from './expand.ts';
import { parseFile } from './parse.ts';
import { formatPath, type Problem, problemOfFile, sortProblems } from './problem.ts';
import type { SourceFile } from './read.ts';
import type { Part } from './sources.ts';
import { validate } from './validate.ts';

export interface LoadContext {
  /** What `${VAR}` is looked up in, and where rules and switches are read from. */
  environment: Readonly<Record<string, string | undefined>>;
  variables: Variables;
  /** Paid features that are switched on, such as `quota_templates`. */
  entitlements: ReadonlySet<string>;
}

export interface Loaded {
  /** Present exactly when there are no problems. */
  config?: Config;
  problems: Problem[];
  warnings: Problem[];
}

/** A longer list helps nobody, and has to be carried between threads and into logs. */
const mostProblems = 200;

/** Parse, expand, validate and assemble: synchronous, without any input but its arguments. All problems at once, sorted. */
export function loadFiles(files: readonly SourceFile[], context: LoadContext): Loaded {
  const problems: Problem[] = [];
  const warnings: Problem[] = [];
  const parts: Part[] = [];
  for (const file of files) {
    const part = loadPart(file, context, problems, warnings);
    if (part !== undefined) parts.push(part);
  }
  const assembly = assemble(parts, parts.length === files.length, context);
  problems.push(...assembly.problems);
  warnings.push(...assembly.warnings);
  const loaded: Loaded = { problems: bound(problems), warnings: bound(warnings) };
  return problems.length === 0 && assembly.config !== undefined ? { ...loaded, config: assembly.config } : loaded;
}

function loadPart(file: SourceFile, context: LoadContext, problems: Problem[], warnings: Problem[]): Part | undefined {
  const { parsed, problems: unreadable } = parseFile(file);
  problems.push(...unreadable);
  if (parsed === undefined) return undefined;
  const expanded = expand(parsed.value, context.environment, context.variables);
  const place = ({ path, message }: { path: readonly (string | number)[]; message: string }): Problem => {
    return { file: parsed.file, ...parsed.locate(path), path: formatPath(path), message };
  };
  problems.push(...expanded.errors.map(place));
  warnings.push(...expanded.warnings.map(place));
  const validity = validate(parsed, expanded.value, expanded.unknown);
  problems.push(...validity.problems);
  return { parsed, value: expanded.value, unsound: validity.unsound, unknown: expanded.unknown };
}

function bound(problems: readonly Problem[]): Problem[] {
  const sorted = sortProblems(problems);
  if (sorted.length <= mostProblems) return sorted;
  const fatal = sorted.slice(mostProblems).find((problem) => problem.fatal === true);
  const rest = problemOfFile('…', `and ${sorted.length - mostProblems} more`);
  return [...sorted.slice(0, mostProblems), ...(fatal === undefined ? [] : [fatal]), rest];
}
