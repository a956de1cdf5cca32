// What check says, as a part of a comment on a pull request.

import { safe, table } from '../gate/markdown.ts';
import type { Problem } from '../read/problem.ts';
import { type CheckResult, countedWarnings } from './check-formats.ts';

/** Rows of one table: a comment has an end, and the log has all. */
const mostRows = 25;

export function checkMarkdown({
  ok,
  strict,
  problems,
  warnings,
  files,
  policies,
  revision,
  diff,
}: CheckResult): string {
  const counted = countedWarnings(warnings);
  const wrong = [...problems, ...(strict ? counted : [])];
  const asked = policies === 0 ? '' : `, ${policies} ${policies === 1 ? 'policy' : 'policies'}`;
  const size = `${files} ${files === 1 ? 'file' : 'files'}${asked}`;
  return [
    ok ? '### Configuration: nothing to correct' : `### Configuration: ${wrong.length} to correct`,
    ...rows(wrong),
    ...(strict || counted.length === 0 ? [] : ['', '**Warnings**', ...rows(counted)]),
    ...(diff === undefined ? [] : sayDiff(diff)),
    ...(ok ? ['', `${size}, revision \`${safe(revision)}\`.`] : []),
  ].join('\n');
}

function rows(problems: readonly Problem[]): string[] {
  const more = problems.length - mostRows;
  return [
    ...table(
      ['Where', 'What'],
      problems
        .slice(0, mostRows)
        .map(({ file, line, path, message }) => [line === 0 ? file : `${file}:${line}`, `${path} ${message}`.trim()]),
    ),
    ...(more > 0 ? ['', `and ${more} more, which the log has.`] : []),
  ];
}

function sayDiff({ against, changes, problem }: NonNullable<CheckResult['diff']>): string[] {
  const title = `**Changed since ${safe(against)}**`;
  if (problem !== undefined) return ['', `${title}: ${safe(problem)}`];
  if (changes.length === 0) return ['', `${title}: nothing`];
  const more = changes.length - mostRows;
  return [
    '',
    title,
    '',
    ...changes.slice(0, mostRows).map(({ words }) => `- ${safe(words)}`),
    ...(more > 0 ? [`- and ${more} more`] : []),
  ];
}
