// Reads the files of policies that stand beside a configuration.
import { type CompiledPolicy, compilePolicy } from '../../domain/policies/policy.ts';
import type { Policy } from '../../schemas/types.ts';
import { explain } from '../../schemas/validation/explain.ts';
import { policyFile } from '../../schemas/validation/generated/policies.js';
import { loadExpressionParser } from '../../schemas/validation/parse-expression.ts';
import { formatPath, type Path, quote } from '../../schemas/validation/path.ts';
import { complaintsOf } from '../../schemas/validation/validator.ts';
import { namesBeside, readBeside } from '../read/beside.ts';
import { type ParsedFile, parseFile } from '../read/parse.ts';
import { mostProblems, type Problem, problemOfFile, sortProblems } from '../read/problem.ts';
import type { SourceFile } from '../read/read.ts';
import { yamlWording } from '../read/yaml-wording.ts';

/** Of one directory. */
const mostPolicies = 500;
const mostFiles = 200;

/** A policy, and where it stands. */
export interface PlacedPolicy {
  readonly compiled: CompiledPolicy;
  /** A problem at one of its members. */
  readonly problem: (path: Path, message: string) => Problem;
  /** `file:line:column`. */
  readonly place: string;
}

export interface ReadPolicies {
  readonly policies: readonly PlacedPolicy[];
  /** Mistakes in the files. */
  readonly problems: readonly Problem[];
}

/** Reads and compiles every policy of a directory. `shown` stands for the directory in paths for messages. Never rejects. */
export async function readPolicies(directory: string, shown: string): Promise<ReadPolicies> {
  const names = await namesBeside(directory, 'policy');
  if (names.length === 0) return { policies: [], problems: [] };
  if (names.length > mostFiles)
    return { policies: [], problems: [problemOfFile(shown, `has more than ${mostFiles} files of policies`)] };
  const { files, problems: unreadable } = await readBeside(directory, names, shown);
  await loadExpressionParser();
  const problems = [...unreadable];
  const policies: PlacedPolicy[] = [];
  const first = new Map<string, string>();
  for (const file of files) {
    const { parsed, given } = readFile(file, problems);
    if (parsed === undefined) continue;
    for (const [index, policy] of given.entries()) {
      const placed = placePolicy(policy, index, parsed, problems);
      const place = placeIn(parsed, ['policies', index]);
      const twin = first.get(policy.name);
      if (twin !== undefined)
        problems.push(
          problemIn(parsed, ['policies', index, 'name'], `the policy ${quote(policy.name)} is already in ${twin}`),
        );
      first.set(policy.name, twin ?? place);
      if (placed !== undefined) policies.push(placed);
    }
  }
  if (policies.length > mostPolicies)
    problems.push(problemOfFile(shown, `has more than ${mostPolicies} policies; further ones are not asked`));
  return { policies: policies.slice(0, mostPolicies), problems: sortProblems(problems).slice(0, mostProblems) };
}

function readFile(file: SourceFile, problems: Problem[]): { parsed?: ParsedFile; given: readonly Policy[] } {
  const { parsed, problems: unreadable } = parseFile(file);
  problems.push(...unreadable);
  if (parsed === undefined) return { given: [] };
  // Defaults are filled in, and the parsed values stay as written.
  const value: unknown = structuredClone(parsed.value);
  if (policyFile(value)) return { parsed, given: value.policies };
  const sentences = explain(complaintsOf(policyFile.errors, value), { source: parsed.value, wording: yamlWording });
  for (const { path, part, message } of sentences.slice(0, mostProblems))
    problems.push(problemIn(parsed, path, message, part));
  return { given: [] };
}

function placePolicy(policy: Policy, index: number, parsed: ParsedFile, problems: Problem[]): PlacedPolicy | undefined {
  const compiled = compilePolicy(policy);
  if (!('policy' in compiled)) {
    for (const { key, problem } of compiled) problems.push(problemIn(parsed, ['policies', index, key], problem));
    return undefined;
  }
  return {
    compiled,
    problem: (path, message) => problemIn(parsed, ['policies', index, ...path], message),
    place: placeIn(parsed, ['policies', index]),
  };
}

function problemIn(parsed: ParsedFile, path: Path, message: string, part: 'key' | 'value' = 'value'): Problem {
  return { file: parsed.file, ...parsed.locate(path, part), path: formatPath(path), message };
}

function placeIn({ file, locate }: ParsedFile, path: Path): string {
  const { line, column } = locate(path);
  return `${file}:${line}:${column}`;
}
