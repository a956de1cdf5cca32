// `model-gateway check DIR --test`: what is wrong with a configuration, and which of its tests fail.

import { type Command, readCommand } from '../../gitops/cli/check-command.ts';
import { checkConfig } from '../../gitops/cli/check-directory.ts';
import type { Problem } from '../../gitops/read/problem.ts';
import { parseFlag, type Variables } from '../../schemas/variables.ts';
import { compileForTests } from './compiled.ts';
import { runTests, type TestResult } from './run-tests.ts';
import { junitXml } from './write-junit.ts';
import { resultsMarkdown } from './write-markdown.ts';
import { failedOf, resultsAnnotations, resultsObject, resultsText } from './write-results.ts';

export interface CheckedWithTests {
  readonly output: string;
  /** 0 usable and every test passes, 1 not, 2 the command itself is wrong. */
  readonly code: 0 | 1 | 2;
}

export interface CheckParts {
  readonly environment: Variables;
  /** YYYY-MM-DD. */
  readonly today: string;
  /** Milliseconds, from any moment on. */
  readonly nowMs: () => number;
}

const testFormats = ['text', 'json', 'github', 'markdown', 'junit'] as const;
type TestCommand = Command<(typeof testFormats)[number]>;

/** `args`: those of `check`, with `--test`. Never rejects for what a person can mend. */
export async function checkWithTests(args: readonly string[], parts: CheckParts): Promise<CheckedWithTests> {
  const command = readCommand(args, testFormats);
  if (typeof command === 'string' || command.help)
    return checkConfig(
      args.filter((each) => each !== '--test'),
      parts.environment,
      parts.today,
    );
  const { format } = command;
  const checked = await checkConfig(
    withFormat(args, format === 'junit' ? 'json' : format),
    parts.environment,
    parts.today,
  );
  const read = checked.code === 0 ? checked.read : undefined;
  if (read === undefined && (format !== 'junit' || checked.code === 2)) return checked;
  const beganMs = parts.nowMs();
  const usageEnabled = parseFlag(parts.environment['USAGE_ENABLED'] ?? '') ?? true;
  const results =
    read === undefined ? [] : await runTests(read.tests, compileForTests(read.config, read.revision, usageEnabled));
  const code = read !== undefined && failedOf(results).length === 0 ? 0 : 1;
  const seconds = (parts.nowMs() - beganMs) / 1_000;
  return { output: written(format, checked.output, { results, seconds }), code };
}

function written(
  format: TestCommand['format'],
  checked: string,
  { results, seconds }: { readonly results: readonly TestResult[]; readonly seconds: number },
): string {
  if (format === 'text') return `${checked}\n${resultsText(results)}`;
  if (format === 'markdown') return `${checked}\n\n${resultsMarkdown(results)}`;
  if (format === 'github') return [checked, resultsAnnotations(results)].filter((each) => each !== '').join('\n');
  const { problems, warnings, ok, ...said } = JSON.parse(checked) as {
    problems: Problem[];
    warnings: Problem[];
    ok: boolean;
  };
  if (format === 'json')
    return JSON.stringify({ ...said, ok, problems, warnings, tests: resultsObject(results) }, null, 2);
  const counted = warnings.filter(({ environmental }) => environmental !== true);
  return junitXml({ results, problems: ok ? [] : [...problems, ...(problems.length === 0 ? counted : [])], seconds });
}

function withFormat(args: readonly string[], format: string): string[] {
  const own = args.filter(
    (each, place) =>
      each !== '--test' && each !== '--format' && args[place - 1] !== '--format' && !each.startsWith('--format='),
  );
  return [...own, '--format', format];
}
