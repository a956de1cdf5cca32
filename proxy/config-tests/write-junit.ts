// The results of tests as JUnit XML, as GitHub actions, GitLab and Jenkins read it: a suite for each file, a case for each test.
import type { Problem } from '../../gitops/read/problem.ts';
import { formatProblem } from '../../gitops/read/problem.ts';
import type { TestResult } from './run-tests.ts';
import { sayFailed } from './write-results.ts';

export interface JunitRun {
  readonly results: readonly TestResult[];
  /** Of the configuration itself, or of files of tests: each is a failed case. */
  readonly problems: readonly Problem[];
  /** How long the tests took. Seconds. */
  readonly seconds: number;
}

/** What XML 1.0 cannot hold, even as an entity. */
const unwritable = /(?![\t\n\r])[\p{Cc}\p{Cs}\ufffe\uffff]/gu;
const entities: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };

export function junitXml({ results, problems, seconds }: JunitRun): string {
  const failed = results.filter(({ failures }) => failures.length > 0).length + problems.length;
  const counts = `tests="${results.length + problems.length}" failures="${failed}" errors="0" time="${seconds.toFixed(3)}"`;
  const suites = [...Map.groupBy(results, ({ file }) => file)].map(([file, cases]) =>
    suite(file, cases.map(caseOf), cases.filter(({ failures }) => failures.length > 0).length),
  );
  const ofCheck = problems.length === 0 ? [] : [suite('check', problems.map(caseOfProblem), problems.length)];
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuites name="model-gateway check" ${counts}>`,
    ...ofCheck,
    ...suites,
    '</testsuites>',
  ].join('\n');
}

function suite(name: string, cases: readonly string[], failed: number): string {
  const counts = `tests="${cases.length}" failures="${failed}" errors="0" skipped="0" time="0"`;
  return [`<testsuite name="${attribute(name)}" ${counts}>`, ...cases, '</testsuite>'].join('\n');
}

function caseOf(result: TestResult): string {
  const { file, line, name, failures } = result;
  const place = `classname="${attribute(file)}" name="${attribute(name)}" file="${attribute(file)}" line="${line}" time="0"`;
  if (failures.length === 0) return `<testcase ${place}/>`;
  const message = failures.map((each) => `${each.path}: ${each.message}`).join('; ');
  return `<testcase ${place}><failure message="${attribute(message)}" type="expectation">${text(sayFailed(result))}</failure></testcase>`;
}

function caseOfProblem(problem: Problem): string {
  const { file, line, message } = problem;
  const said = formatProblem(problem);
  return `<testcase classname="${attribute(file)}" name="${attribute(said)}" file="${attribute(file)}" line="${line}" time="0"><failure message="${attribute(message)}" type="configuration">${text(said)}</failure></testcase>`;
}

function text(value: string): string {
  return value.replace(unwritable, '\ufffd').replace(/[&<>"]/g, (each) => entities[each] ?? each);
}

function attribute(value: string): string {
  return text(value).replace(/[\t\n\r]/g, (each) => `&#${each.charCodeAt(0)};`);
}
