// The results of tests as text, JSON, and annotations of a runner.
import { annotation } from '../../gitops/cli/check-formats.ts';
import { sayExplanation } from '../../gitops/cli/say-explanation.ts';
import { formatProblem } from '../../gitops/read/problem.ts';
import { escaped } from '../../schemas/validation/path.ts';
import type { Failure, TestResult } from './run-tests.ts';

/** Annotations that a runner shows of one step; the log has all. */
const mostAnnotations = 1_000;

export function failedOf(results: readonly TestResult[]): readonly TestResult[] {
  return results.filter(({ failures }) => failures.length > 0);
}

/** `2 tests passed`, or how many failed. */
export function sayResults(results: readonly TestResult[]): string {
  const failed = failedOf(results).length;
  if (results.length === 0) return 'no tests: no file is called *.test.yaml';
  const all = `${results.length} ${results.length === 1 ? 'test' : 'tests'}`;
  return failed === 0 ? `${all} passed` : `${failed} of ${all} failed`;
}

export function resultsText(results: readonly TestResult[]): string {
  return [...failedOf(results).map(sayFailed), sayResults(results)].join('\n');
}

/** What failed, and what would become of the request. */
export function sayFailed({ file, line, column, name, failures, explanation }: TestResult): string {
  const told = explanation === undefined ? [] : sayExplanation(explanation).split('\n');
  return [
    `${escaped(`${file}:${line}:${column}`)}  failed: ${escaped(name)}`,
    ...failures.map((failure) => `  ${formatProblem(failure)}`),
    ...told.map((each) => (each === '' ? '' : `    ${escaped(each)}`)),
  ].join('\n');
}

/** Of a test that failed, every member; of the others only how many there are. */
export function resultsObject(results: readonly TestResult[]): object {
  const failed = failedOf(results);
  return {
    total: results.length,
    failed: failed.map(({ file, line, column, name, failures, explanation }) => ({
      file,
      line,
      column,
      name,
      failures: failures.map(failureObject),
      ...(explanation === undefined ? {} : { explanation }),
    })),
    count_failed: failed.length,
  };
}

function failureObject({ line, column, path, message, expected, came }: Failure): object {
  return { path, line, column, message, ...(expected === undefined ? {} : { expected, came }) };
}

export function resultsAnnotations(results: readonly TestResult[]): string {
  const failed = failedOf(results).flatMap(({ name, failures, explanation }) =>
    failures.map((failure, index) => {
      const told = explanation === undefined || index > 0 ? '' : `\n\n${sayExplanation(explanation)}`;
      return annotation('error', {
        ...failure,
        path: '',
        message: `${name}: ${failure.path}  ${failure.message}${told}`,
      });
    }),
  );
  return [...failed.slice(0, mostAnnotations), sayResults(results)].join('\n');
}
