// `model-gateway check DIR`: reports the problems of a directory in a terminal, an editor or a pull request, as the gateway would.

import { existsSync } from 'node:fs';
import { dirname, isAbsolute, join, resolve } from 'node:path';
import { parseList, type Variables } from '../../schemas/variables.ts';
import type { AssembledConfig } from '../assemble/assembled.ts';
import { listBudgets } from '../assemble/list-budgets.ts';
import { listRules } from '../assemble/list-rules.ts';
import type { LoadContext } from '../assemble/load-context.ts';
import { firstLoadBytes, load } from '../assemble/load-off-thread.ts';
import type { PlacedTest } from '../config-tests/placed-test.ts';
import { readConfigTests } from '../config-tests/read-tests.ts';
import { preparePolicies } from '../policies/prepare-policies.ts';
import { warnOfMisnamed } from '../read/beside.ts';
import { type Problem, sortProblems } from '../read/problem.ts';
import { readDirectory, revisionOf } from '../read/read.ts';
import { textOf } from '../read/secret-reference.ts';
import { calledFrom, isInside, showPath } from './called-from.ts';
import { readCommand } from './check-command.ts';
import { type CheckResult, countedWarnings, formats } from './check-formats.ts';
import { checkListeners } from './check-listeners.ts';
import { foreseeToken, readTokenFile } from './check-token.ts';
import { compare, readAgainst } from './compare.ts';
import { checkMarkdown } from './write-markdown.ts';

const usage =
  'usage: model-gateway check DIR [--strict] [--diff DIR|REF] [--rules] [--token FILE] [--test] [--format text|json|github|markdown|junit] [--help]';
const help = `${usage}

Says what the gateway would say about the configuration in DIR and in the directories in it, and which policies (*.cel.yaml) it breaks. Paths are
relative to where it was called.

  --strict         warnings fail too, except those about variables of this machine: one that is not set, a provider without its key
  --diff DIR|REF   what was added, removed, loosened, tightened or changed since another directory, or since a branch, tag or commit of
                   the git repository of DIR; it never fetches and never fails because of a change
  --rules          list the rate-limit rules and the budgets by the ids that metrics use
  --token FILE     what the token of an identity provider in FILE would get, and by which claims; its signature is not checked
  --test           run the tests of the configuration, *.test.yaml in DIR; without it they are only read
  --format text    one line for each problem: file:line:column, the place in the document, a sentence (the default)
  --format json    one object: ok, files, revision, problems[], warnings[], rules[], budgets[], token, and diff.changes[] with
                   kind, name, change, effect, before, after and words
  --format github  annotations for a pull request; paths are relative to GITHUB_WORKSPACE, else to the git repository of DIR
  --format markdown  a part of a comment on a pull request
  --format junit   with --test: the results for a pipeline, a case for each test
  --help           this text

exit code: 0 the gateway can use it, 1 it cannot, or would refuse the token, a policy is broken, a test fails, or there are warnings with
--strict, 2 the command itself is wrong`;

/** What is printed, and the exit code. */
export interface Checked {
  readonly output: string;
  readonly code: 0 | 1 | 2;
  /** Of a configuration that can be used: what was read. */
  readonly read?: {
    readonly config: AssembledConfig;
    readonly revision: string;
    readonly tests: readonly PlacedTest[];
  };
}

/**
 * Checks one directory and gives the text to print and the exit code: 0 usable, 1 not, 2 the command itself is wrong. Variables that
 * are not set are warnings here: a machine that checks a directory does not need the secrets. `today`: YYYY-MM-DD, for warnings about models
 * that end; undefined: none.
 */
export async function checkConfig(args: readonly string[], environment: Variables, today?: string): Promise<Checked> {
  const command = readCommand(args, ['text', 'json', 'github', 'markdown']);
  if (typeof command === 'string') return { output: `${command}\n${usage}`, code: 2 };
  if (command.help) return { output: help, code: 0 };
  if (command.test) return { output: `tests are run by: model-gateway check ${command.directory} --test`, code: 2 };
  const { format, strict } = command;
  const from = calledFrom(environment, 'check-config');
  const directory = resolve(from, command.directory);
  const top = format === 'github' ? annotationTop(directory, environment) : undefined;
  const shown = top === undefined ? showPath(from, command.directory) : showPath(top, directory);
  const { files, problems: unreadable, hash } = await readDirectory(directory, shown);
  const diff = files.length === 0 ? undefined : command.diff;
  const against = diff === undefined ? undefined : await readAgainst(diff, { from, directory }, environment);
  if (against?.problem !== undefined)
    return { output: `--diff: ${JSON.stringify(diff)} ${against.problem}\n${usage}`, code: 2 };
  const given = command.token === undefined ? undefined : readTokenFile(resolve(from, command.token));
  if (given !== undefined && 'problem' in given)
    return { output: `--token: the file ${JSON.stringify(command.token)} ${given.problem}\n${usage}`, code: 2 };
  const entitlements = new Set(parseList(environment['GATEWAY_ENTITLEMENTS'] ?? ''));
  const context: LoadContext = {
    environment,
    variables: 'warning',
    entitlements,
    ...(today === undefined ? {} : { today }),
  };
  const policies = await preparePolicies(directory, shown, today);
  const { examine, findings } = policies;
  const {
    config,
    warnings: said,
    problems: found,
  } = await load(
    files,
    examine === undefined ? context : { ...context, examine },
    // A thread cannot give the places of entries back; this process serves no requests.
    examine === undefined ? firstLoadBytes : Number.POSITIVE_INFINITY,
  );
  const tests = await readConfigTests(directory, shown);
  const mistakes = [...unreadable, ...found];
  const usable = mistakes.length === 0 ? config : undefined;
  const judged = usable === undefined ? [] : findings.warnings;
  const problems = sortProblems([
    ...mistakes,
    ...policies.problems,
    ...tests.problems,
    ...(usable === undefined ? [] : findings.problems),
  ]);
  const warnings = sortProblems([
    ...said,
    ...unreadSecrets(config),
    ...(await checkListeners(config, today)),
    ...(await warnOfMisnamed(directory, shown)),
    ...judged,
  ]);
  const listed = command.rules ? config : undefined;
  const token = given && usable && foreseeToken(given.token, usable.identities);
  const ok = problems.length === 0 && usable !== undefined && !(strict && countedWarnings(warnings).length > 0);
  const result: CheckResult = {
    directory: shown,
    ok,
    strict,
    files: files.length,
    test_files: tests.files,
    policies: policies.count,
    revision: revisionOf(hash),
    problems,
    warnings,
    rules: listed === undefined ? [] : listRules(listed.rate_limits),
    budgets: listed === undefined ? [] : listBudgets(listed.budgets),
  };
  if (diff !== undefined && against !== undefined)
    result.diff = await compare(diff, against.reading, { config: usable, context });
  if (token !== undefined) result.token = token;
  const read = usable && { config: usable, revision: result.revision, tests: tests.tests };
  return {
    output: written[format](result),
    code: ok && token?.refused === undefined ? 0 : 1,
    ...(read === undefined ? {} : { read }),
  };
}

const written = { ...formats, markdown: checkMarkdown };

/** A machine that checks a directory does not need the secrets: files are not read, and vaults not asked. */
function unreadSecrets(config: AssembledConfig | undefined): Problem[] {
  const ofClients = (config?.clientKeyFiles ?? []).map(({ path, place }) => ({ files: [path], others: [], place }));
  const texts = (config?.secretTexts ?? []).map(({ parts, place }) => {
    const references = parts.filter((part) => typeof part !== 'string');
    const [files = [], others = []] = [true, false].map((isFile) =>
      references.filter(({ scheme }) => (scheme === 'file') === isFile),
    );
    return { files: files.map(({ name }) => name), others: others.map(textOf), place };
  });
  return [...ofClients, ...texts].flatMap(({ files, others, place }) => [
    ...(files.every((path) => existsSync(path)) ? [] : [{ ...place, message: absent, environmental: true }]),
    ...others.map((name) => ({
      ...place,
      message: `refers to ${name}, which only a proxy reads`,
      environmental: true,
    })),
  ]);
}

const absent = 'names a file that does not exist here; a proxy needs it';

/** The directory that paths of annotations begin at; undefined when there is none around this one. */
function annotationTop(directory: string, environment: Variables): string | undefined {
  const workspace = environment['GITHUB_WORKSPACE'];
  if (workspace && isAbsolute(workspace) && isInside(directory, workspace)) return workspace;
  for (let top = directory; ; top = dirname(top)) {
    // In a work tree `.git` is a file.
    if (existsSync(join(top, '.git'))) return top;
    if (top === dirname(top)) return undefined;
  }
}
