// `model-gateway import litellm config.yaml`: makes a configuration of that of another gateway, and says what it could not take over.
import { mkdir, writeFile } from 'node:fs/promises';
import { basename, dirname, extname, join, resolve } from 'node:path';
import { withoutKeys } from '../../schemas/formats/key-shapes.ts';
import type { Variables } from '../../schemas/variables.ts';
import type { LoadContext } from '../assemble/load-context.ts';
import { firstLoadBytes, load } from '../assemble/load-off-thread.ts';
import type { Draft, Translation } from '../import/draft.ts';
import { translateEnvironment } from '../import/environment-keys.ts';
import { translateLitellm } from '../import/litellm/litellm.ts';
import { addVirtualKeys } from '../import/litellm/virtual-keys.ts';
import { translatePortkey } from '../import/portkey/portkey.ts';
import { report, summarize, variablesOf } from '../import/report.ts';
import { sayable, writeYaml } from '../import/write-yaml.ts';
import { parseFile } from '../read/parse.ts';
import { formatProblem, type Problem, problemOfFile, sortProblems } from '../read/problem.ts';
import { readRegular } from '../read/read.ts';
import { calledFrom, showPath } from './called-from.ts';
import { type ImportCommand, readImportCommand } from './import-command.ts';

const usage =
  'usage: model-gateway import litellm|portkey|env [FILE] [--out DIR] [--force] [--keys FILE] [--name NAME] [--help]';
const help = `${usage}

Makes a configuration of this gateway, with a comment for each thing that has no counterpart, and a report.

  litellm FILE     config.yaml of a LiteLLM proxy
  portkey FILE     a gateway config of Portkey, as JSON
  env              the keys of providers that are in the environment, such as OPENAI_API_KEY: by reference, never by value

  --out DIR        write DIR/litellm.yaml, DIR/portkey.yaml or DIR/env.yaml, and print a report; without it the YAML is printed
  --force          overwrite that file
  --keys FILE      litellm: the answer of GET /key/list?return_full_object=true, whose limits and budgets become rules of user paths
  --name NAME      portkey: the alias that stands for the config; without it the name of the file
  --help           this text

Secrets that are written out in FILE become \${VARIABLES}; the report says which ones to set.

exit code: 0 done, 1 FILE cannot be used, or what came of it has to be corrected, 2 the command itself is wrong`;

/** Longer files are not configurations of a gateway, and parsing takes seconds for each MiB. */
const mostBytes = 1_048_576;

/** Gives the text to print and the exit code: 0 done, 1 the file or the result is not usable, 2 the command itself is wrong. */
export async function importConfig(
  args: readonly string[],
  environment: Variables,
): Promise<{ output: string; code: 0 | 1 | 2 }> {
  const command = readImportCommand(args);
  if (command === 'help') return { output: help, code: 0 };
  if ('problem' in command) return { output: `${command.problem}\n${usage}`, code: 2 };
  const from = calledFrom(environment, 'import');
  const { draft, problems } = await translate(command, from, environment);
  if (problems.length > 0 || draft === undefined)
    return { output: sortProblems(problems).map(formatProblem).join('\n'), code: 1 };
  const title = `From ${command.source === 'env' ? 'the environment' : basename(command.file)}: ${summarize(draft)}`;
  const yaml = writeYaml(draft, [title, ...variablesOf(draft)].map(sayable));
  if (withoutKeys(yaml) !== yaml)
    return {
      output: `${command.file}  has what looks like a key in the place of a name or a model; nothing was written`,
      code: 1,
    };
  const faults = await faultsOf(yaml, `${command.source}.yaml`);
  const said = faults.length === 0 ? [] : ['To correct before it loads', ...faults.map((fault) => `  ${fault}`), ''];
  if (command.out === undefined)
    return { output: [yaml.trimEnd(), ...said].join('\n'), code: faults.length === 0 ? 0 : 1 };
  const written = await write(resolve(from, command.out), yaml, command);
  if (written !== undefined) return { output: written, code: 1 };
  const shown = showPath(from, command.out);
  const next = `Written to ${join(shown, `${command.source}.yaml`)}. Next: model-gateway check ${shown}`;
  return {
    output: [sayable(title), '', ...report(draft), ...said, next].join('\n'),
    code: faults.length === 0 ? 0 : 1,
  };
}

async function translate(
  { source, file, keys, name }: ImportCommand,
  from: string,
  environment: Variables,
): Promise<{ draft?: Draft; problems: readonly Problem[] }> {
  if (source === 'env') {
    const draft = translateEnvironment(environment);
    const none = 'has no key of a provider: none of the variables such as OPENAI_API_KEY is set';
    return draft.providers.length > 0
      ? { draft, problems: [] }
      : { problems: [problemOfFile('the environment', none)] };
  }
  const { parsed, problems } = await readSource(from, file);
  if (parsed === undefined) return { problems };
  const alias = name ?? (basename(file, extname(file)) || 'chat');
  const translation: Translation = source === 'litellm' ? translateLitellm(parsed) : translatePortkey(parsed, alias);
  if (keys === undefined) return translation;
  const read = await readSource(from, keys);
  const ofKeys = read.parsed === undefined ? read.problems : addVirtualKeys(translation.draft, read.parsed);
  return { draft: translation.draft, problems: [...translation.problems, ...ofKeys] };
}

async function readSource(from: string, file: string): Promise<ReturnType<typeof parseFile>> {
  const shown = showPath(from, file);
  const bytes = (await readRegular(resolve(from, file))) ?? 'does not exist';
  if (typeof bytes === 'string') return { problems: [problemOfFile(shown, bytes)] };
  return bytes.length > mostBytes
    ? { problems: [problemOfFile(shown, 'is larger than 1 MiB, the limit for a file to import')] }
    : parseFile({ name: shown, path: shown, bytes }, { mergesKeys: true, hidesValues: true });
}

/** What check-config would say of the result; variables are not needed for it. */
async function faultsOf(yaml: string, name: string): Promise<string[]> {
  const context: LoadContext = { environment: {}, variables: 'warning', entitlements: new Set() };
  const file = { name, path: name, bytes: Buffer.from(yaml) };
  const { problems } = await load([file], context, firstLoadBytes);
  return problems.map((problem) => sayable(formatProblem(problem)));
}

/** Undefined: it is written. Else why not. */
async function write(
  directory: string,
  yaml: string,
  { source, force, out = '' }: ImportCommand,
): Promise<string | undefined> {
  const path = join(directory, `${source}.yaml`);
  try {
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, yaml, { flag: force ? 'w' : 'wx' });
    return undefined;
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown error';
    const shown = join(out, `${source}.yaml`);
    return code === 'EEXIST' ? `${shown} exists; --force overwrites it` : `${shown} cannot be written (${code})`;
  }
}

// This file is the entry of a process, so it reads the environment variables itself.
if (import.meta.main) {
  const { output, code } = await importConfig(process.argv.slice(2), process.env);
  process.stdout.write(`${output}\n`);
  process.exitCode = code;
}
