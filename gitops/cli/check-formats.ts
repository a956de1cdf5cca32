// The formats of `check-config`: text for a terminal, JSON, and annotations for a pull request.

import type { ListedBudget } from '../assemble/list-budgets.ts';
import type { ListedRule } from '../assemble/list-rules.ts';
import type { ConfigChange } from '../diff/config-change.ts';
import { formatProblem, type Problem } from '../read/problem.ts';
import { type ForeseenToken, sayToken } from './check-token.ts';
import type { Comparison } from './compare.ts';

export interface CheckResult {
  directory: string;
  /** Whether the exit code is 0. */
  ok: boolean;
  strict: boolean;
  files: number;
  /** Beside the configuration: tests of it. */
  test_files: number;
  /** How many policies there are. */
  policies: number;
  revision: string;
  problems: Problem[];
  warnings: Problem[];
  /** The rate-limit rules by id; empty without `--rules`. */
  rules: ListedRule[];
  /** The budgets by id; empty without `--rules`. */
  budgets: ListedBudget[];
  /** Present with `--diff`. */
  diff?: Comparison;
  /** Present with `--token`, for a configuration that can be used. */
  token?: ForeseenToken;
}

export const formats: Readonly<Record<'text' | 'json' | 'github', (result: CheckResult) => string>> = {
  text,
  json,
  github,
};

/** The most lines about variables and keys of the machine that checks. */
const mostNotes = 5;

/** The warnings that `--strict` counts: notes, and what depends on the machine that checks, are not among them. */
export function countedWarnings(warnings: readonly Problem[]): Problem[] {
  return warnings.filter(({ environmental, isNote }) => environmental !== true && isNote !== true);
}

function text(result: CheckResult): string {
  const { problems, warnings, strict, rules, budgets, diff, token } = result;
  return [
    ...problems.map((problem) => formatProblem(problem)),
    ...countedWarnings(warnings).map((problem) => `warning: ${formatProblem(problem)}`),
    ...warnings.filter(({ isNote }) => isNote === true).map((problem) => `note: ${formatProblem(problem)}`),
    ...sayNotes(warnings, strict ? 'note' : 'warning'),
    ...tabulate(rules),
    ...tabulate(budgets),
    ...(diff === undefined ? [] : sayComparison(diff)),
    ...(token === undefined ? [] : sayToken(token)),
    sayResult(result),
  ].join('\n');
}

/** What depends on this machine, behind the warnings and not so much of it that it hides them. */
function sayNotes(warnings: readonly Problem[], title: string): string[] {
  const notes = warnings.filter(({ environmental }) => environmental === true);
  const more = notes.length - mostNotes;
  return [
    ...notes.slice(0, mostNotes).map((problem) => `${title}: ${formatProblem(problem)}`),
    ...(more > 0
      ? [`${title}: and ${more} more about variables and keys of this machine; --format json has them all`]
      : []),
  ];
}

function sayResult({ directory, ok, revision, problems, warnings, ...counts }: CheckResult): string {
  const counted = filesOf(counts.files, 'file', 'files');
  if (ok) {
    const beside = [
      filesOf(counts.test_files, 'file of tests', 'files of tests'),
      filesOf(counts.policies, 'policy', 'policies'),
    ].filter((each) => !each.startsWith('0 '));
    return `${directory}: ok, ${[counted, ...beside].join(', ')}, revision ${revision}`;
  }
  if (problems.length > 0) return `${directory}: ${problems.length} to correct in ${counted}`;
  return `${directory}: ${countedWarnings(warnings).length} to correct in ${counted}: --strict counts warnings`;
}

function filesOf(count: number, one: string, several: string): string {
  return `${count} ${count === 1 ? one : several}`;
}

/** One line each, with columns of equal width. */
function tabulate(rules: readonly Pick<ListedRule | ListedBudget, 'id' | 'scope' | 'subject' | 'words'>[]): string[] {
  const rows = rules.map(({ id, scope, subject, words }) => [id, scope, subject, words]);
  const widths = [0, 1, 2].map((column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return rows.map((row) => row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  '));
}

function sayComparison({ against, changes, problem }: Comparison): string[] {
  if (problem !== undefined) return [`compared with ${against}: ${problem}`];
  if (changes.length === 0) return [`compared with ${against}: nothing changed`];
  return [`compared with ${against}:`, ...changes.map(({ words }) => `  ${words}`)];
}

function json(result: CheckResult): string {
  return JSON.stringify(result, null, 2);
}

/** Workflow commands that a GitHub runner shows beside the lines of a pull request; then the changes, also in the log. */
function github({ problems, warnings, strict, diff }: CheckResult): string {
  const level = (problem: Problem): string => {
    if (problem.isNote === true) return 'notice';
    if (!strict) return 'warning';
    return problem.environmental === true ? 'notice' : 'error';
  };
  return [
    ...problems.map((problem) => annotation('error', problem)),
    ...warnings.map((problem) => annotation(level(problem), problem)),
    ...(diff === undefined ? [] : annotateComparison(diff)),
  ].join('\n');
}

/** A runner shows ten annotations of a step: all changes are two, what was loosened first. */
function annotateComparison(diff: Comparison): string[] {
  const isLooser = ({ effect }: ConfigChange): boolean => effect === 'loosened';
  const said = (title: string, changes: readonly ConfigChange[]): string[] => {
    if (changes.length === 0) return [];
    const lines = changes.map(({ words }) => words).join('\n');
    return [titled('notice', `${title} since ${diff.against}`, lines)];
  };
  return [
    ...said('Loosened', diff.changes.filter(isLooser)),
    ...said(
      'Changed',
      diff.changes.filter((change) => !isLooser(change)),
    ),
    ...sayComparison(diff).map((line) => plainLine(data(line))),
  ];
}

/**
 * A line of a log that a GitHub runner takes for no command. It looks for `::` behind blanks, and for `##[` anywhere; an invisible blank without
 * width keeps both apart.
 */
export function plainLine(line: string): string {
  return line.replace(/^\s*(?=::)/, '$&\u200B').replaceAll('##[', '##\u200B[');
}

/** An annotation of a whole change. */
export function titled(level: 'error' | 'warning' | 'notice', title: string, lines: string): string {
  return `::${level} title=${property(title)}::${data(lines)}`;
}

/** A problem at its line. */
export function annotation(level: string, { file, line, column, path, message }: Problem): string {
  const place = line === 0 ? '' : `,line=${line},col=${column}`;
  return `::${level} file=${property(file)}${place}::${data(path === '' ? message : `${path}  ${message}`)}`;
}

function data(value: string): string {
  return value.replaceAll('%', '%25').replaceAll('\r', '%0D').replaceAll('\n', '%0A');
}

function property(value: string): string {
  return data(value).replaceAll(':', '%3A').replaceAll(',', '%2C');
}
