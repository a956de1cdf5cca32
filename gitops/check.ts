// `npm run check-config -- DIR`: reports the problems of a directory in a terminal, an editor or a pull request, as the gateway would.

import { existsSync } from 'node:fs';
import { dirname, isAbsolute, join, relative, resolve, sep } from 'node:path';
import { parseArgs } from 'node:util';
import { parseList } from '../schemas/variables.ts';
import type { AssembledConfig } from './assembled.ts';
import { listRules } from './list-rules.ts';
import { firstLoadBytes, load } from './load-off-thread.ts';
import { formatProblem, type Problem, sortProblems } from './problem.ts';
import { readDirectory, revisionOf } from './read.ts';

const usage = 'usage: npm run check-config -- DIR [--format text|json|github] [--rules] [--help]';
const help = `${usage}

Says what the gateway would say about the configuration in DIR. Variables that are not set are warnings.

  --format text    one line for each problem: file:line:column, the place in the document, a sentence (the default)
  --format json    one object: ok, files, revision, problems[], warnings[], rules[]
  --format github  annotations for a pull request, with paths from the top of the git repository
  --rules          list the rate-limit rules by the ids that metrics use
  --help           this text

exit code: 0 the gateway can use it (warnings do not count), 1 it cannot, 2 the command itself is wrong`;

interface CheckResult {
  directory: string;
  ok: boolean;
  files: number;
  revision: string;
  problems: Problem[];
  warnings: Problem[];
  /** The rate-limit rules by id; present with `--rules`. */
  rules: string[];
}

const formats: Record<string, (result: CheckResult) => string> = { text, json, github };

/**
 * Checks one directory and gives the text to print and the exit code: 0 usable, 1 not, 2 the command itself is wrong. Variables that
 * are not set are warnings here: a machine that checks a directory does not need the secrets.
 */
export async function checkConfig(
  args: readonly string[],
  environment: Readonly<Record<string, string | undefined>>,
): Promise<{ output: string; code: 0 | 1 | 2 }> {
  let parsed: { positionals: string[]; values: { format?: string; rules?: boolean; help?: boolean } };
  try {
    const options = {
      format: { type: 'string' },
      rules: { type: 'boolean' },
      help: { type: 'boolean', short: 'h' },
    } as const;
    parsed = parseArgs({ args: [...args], allowPositionals: true, options });
  } catch (error) {
    return { output: `${error instanceof Error ? error.message : 'unknown option'}\n${usage}`, code: 2 };
  }
  if (parsed.values.help) return { output: help, code: 0 };
  const [directory, ...rest] = parsed.positionals;
  const format = formats[parsed.values.format ?? 'text'];
  if (directory === undefined || rest.length > 0 || format === undefined) return { output: usage, code: 2 };

  const { files, problems: unreadable, hash } = await readDirectory(directory);
  const entitlements = new Set(parseList(environment['GATEWAY_ENTITLEMENTS'] ?? ''));
  const loaded = await load(files, { environment, variables: 'warning', entitlements }, firstLoadBytes);
  const problems = sortProblems([...unreadable, ...loaded.problems]);
  const ok = problems.length === 0;
  const result = {
    directory,
    ok,
    files: files.length,
    revision: revisionOf(hash),
    problems,
    warnings: sortProblems([...loaded.warnings, ...absentKeyFiles(loaded.config)]),
    rules: parsed.values.rules && loaded.config ? listRules(loaded.config.rate_limits) : [],
  };
  return { output: format(result), code: ok ? 0 : 1 };
}

/** A machine that checks a directory does not need the secrets: the files are not read. */
function absentKeyFiles(config: AssembledConfig | undefined): Problem[] {
  const absent = (config?.keyFiles ?? []).filter(({ path }) => !existsSync(path));
  return absent.map(({ place }) => ({ ...place, message: 'names a file that does not exist here; a proxy needs it' }));
}

function text({ directory, ok, files, revision, problems, warnings, rules }: CheckResult): string {
  const lines = [
    ...problems.map((problem) => formatProblem(problem)),
    ...warnings.map((problem) => `warning: ${formatProblem(problem)}`),
    ...rules,
  ];
  const counted = `${files} ${files === 1 ? 'file' : 'files'}`;
  lines.push(
    ok
      ? `${directory}: ok, ${counted}, revision ${revision}`
      : `${directory}: ${problems.length} to correct in ${counted}`,
  );
  return lines.join('\n');
}

function json(result: CheckResult): string {
  return JSON.stringify(result, null, 2);
}

/** Workflow commands that a GitHub runner shows beside the lines of a pull request. */
function github({ directory, problems, warnings }: CheckResult): string {
  const top = topOf(directory);
  const fromTop = (problem: Problem): Problem => ({ ...problem, file: pathFrom(top, problem.file) });
  return [
    ...problems.map((problem) => annotation('error', fromTop(problem))),
    ...warnings.map((problem) => annotation('warning', fromTop(problem))),
  ].join('\n');
}

/** The top of the git repository that holds a directory, or the working directory. Paths of annotations are relative to it. */
function topOf(directory: string): string {
  for (let at = resolve(directory); at !== dirname(at); at = dirname(at)) if (existsSync(join(at, '.git'))) return at;
  return process.cwd();
}

/** The path relative to `top`. A path outside `top` and the name of a variable stay unchanged. */
function pathFrom(top: string, file: string): string {
  const path = relative(top, resolve(file));
  return path.startsWith('..') || isAbsolute(path) ? file : path.replaceAll(sep, '/') || '.';
}

function annotation(level: string, { file, line, column, path, message }: Problem): string {
  const place = line === 0 ? '' : `,line=${line},col=${column}`;
  return `::${level} file=${property(file)}${place}::${data(path === '' ? message : `${path}  ${message}`)}`;
}

function data(value: string): string {
  return value.replaceAll('%', '%25').replaceAll('\r', '%0D').replaceAll('\n', '%0A');
}

function property(value: string): string {
  return data(value).replaceAll(':', '%3A').replaceAll(',', '%2C');
}

// This file is the entry of a process, so it reads the environment variables itself.
if (import.meta.main) {
  const { output, code } = await checkConfig(process.argv.slice(2), process.env);
  if (output !== '') process.stdout.write(`${output}\n`);
  process.exitCode = code;
}
