// Turns the bytes of the configuration files into one configuration or a list of all problems. Pure; both planes and the checker use it.

import { formatPath, quote } from '../../schemas/validation/path.ts';
import { expand } from '../read/expand.ts';
import { parseFile } from '../read/parse.ts';
import { mostProblems, type Problem, problemOfFile, sortProblems } from '../read/problem.ts';
import type { SourceFile } from '../read/read.ts';
import { validate } from '../read/validate.ts';
import { assemble } from './assemble.ts';
import type { AssembledConfig } from './assembled.ts';
import { type LoadContext, mayLeaveOut } from './load-context.ts';
import type { Part } from './sources.ts';

export interface Loaded {
  /** Present exactly when there are no problems. */
  config?: AssembledConfig;
  problems: Problem[];
  warnings: Problem[];
}

/** Parses, expands, validates and assembles, synchronously. Gives all problems at once, sorted. */
export function loadFiles(files: readonly SourceFile[], context: LoadContext): Loaded {
  const problems: Problem[] = [];
  const warnings: Problem[] = [];
  const parts: Part[] = [];
  let unlisted = 0;
  for (const file of files) {
    const part = loadPart(file, context, problems, warnings);
    if (part === undefined) continue;
    parts.push(part);
    unlisted += part.unlisted;
  }
  const assembly = assemble(parts, parts.length === files.length, context);
  problems.push(...assembly.problems);
  warnings.push(...assembly.warnings);
  const loaded: Loaded = { problems: bound(problems, unlisted), warnings: bound(warnings, 0) };
  if (problems.length > 0 || assembly.config === undefined) return loaded;
  const keyProblems = warnings.filter(({ leavesOut }) => leavesOut === true);
  return { ...loaded, config: { ...assembly.config, ...(keyProblems.length === 0 ? {} : { keyProblems }) } };
}

function loadPart(
  file: SourceFile,
  context: LoadContext,
  problems: Problem[],
  warnings: Problem[],
): (Part & { unlisted: number }) | undefined {
  const { parsed, problems: unreadable } = parseFile(file);
  problems.push(...unreadable);
  if (parsed === undefined) return undefined;
  const expanded = expand(parsed.value, context.environment, context.variables);
  warnings.push(...parsed.doubts);
  const place = ({ path, message }: { path: readonly (string | number)[]; message: string }): Problem => {
    return { file: parsed.file, ...parsed.locate(path), path: formatPath(path), message };
  };
  problems.push(...expanded.errors.map(place));
  const lacking = new Set<string>();
  for (const unset of expanded.unset) {
    const [section, name = ''] = unset.path;
    if (context.variables !== 'warning' && section === 'providers' && mayLeaveOut(context, String(name))) {
      lacking.add(String(name));
      const message = `${unset.message}; until then the provider ${quote(String(name))} is left out`;
      warnings.push({ ...place({ ...unset, message }), environmental: true, leavesOut: true });
    } else if (context.variables === 'warning') warnings.push({ ...place(unset), environmental: true });
    else problems.push(place(unset));
  }
  const validity = validate(parsed, expanded.value, expanded.unknown);
  problems.push(...validity.problems);
  const { unsound, unlisted } = validity;
  const { value, unknown, secrets } = expanded;
  return { parsed, value, unsound, unknown, secrets, lacking, unlisted };
}

function bound(problems: readonly Problem[], unlisted: number): Problem[] {
  const sorted = sortProblems(problems);
  const more = sorted.length + unlisted - mostProblems;
  if (more <= 0) return sorted;
  const fatal = sorted.slice(mostProblems).find((problem) => problem.fatal === true);
  const rest = problemOfFile('…', `and ${more} more`);
  return [...sorted.slice(0, mostProblems), ...(fatal === undefined ? [] : [fatal]), rest];
}
