// The error of a start with an unusable configuration. It holds the problems, so that the caller can log each of them.
import { formatProblem, type Problem } from '../read/problem.ts';

/** The message holds every problem, one a line. */
export class ConfigRejected extends Error {
  override readonly name = 'ConfigRejected';
  readonly problems: readonly Problem[];

  constructor(problems: readonly Problem[]) {
    super(['the configuration cannot be used:', ...problems.map(formatProblem)].join('\n'));
    this.problems = problems;
  }
}
