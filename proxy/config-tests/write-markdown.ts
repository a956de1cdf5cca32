// The results of tests, as a part of a comment on a pull request.
import { sayExplanation } from '../../gitops/cli/say-explanation.ts';
import { fenced, safe, table } from '../../gitops/gate/markdown.ts';
import type { TestResult } from './run-tests.ts';
import { failedOf, sayResults } from './write-results.ts';

/** Tests with an explanation of their own: a comment has an end, and the log has all. */
const mostTold = 10;

export function resultsMarkdown(results: readonly TestResult[]): string {
  const failed = failedOf(results);
  if (failed.length === 0) return `### Tests: ${safe(sayResults(results))}`;
  return [
    `### Tests: ${safe(sayResults(results))}`,
    ...failed.slice(0, mostTold).flatMap(({ file, line, name, failures, explanation }) => [
      '',
      `**${safe(name)}** (${safe(`${file}:${line}`)})`,
      ...table(
        ['Line', 'What'],
        failures.map((failure) => [String(failure.line), `${failure.path} ${failure.message}`]),
      ),
      ...(explanation === undefined
        ? []
        : [
            '',
            '<details><summary>What would become of the request</summary>',
            '',
            ...fenced(sayExplanation(explanation)),
            '',
            '</details>',
          ]),
    ]),
    ...(failed.length > mostTold ? ['', `and ${failed.length - mostTold} more, which the log has.`] : []),
  ].join('\n');
}
