// Runs the tests of a configuration, each in a world of its own.
import type { PlacedTest } from '../../gitops/config-tests/placed-test.ts';
import type { Problem } from '../../gitops/read/problem.ts';
import type { Explanation } from '../explain/explanation.ts';
import type { Came } from './came.ts';
import { checkGuardrailName, compare, type Unmet } from './compare.ts';
import type { CompiledConfig } from './compiled.ts';
import { decide } from './decide.ts';
import { TestMistake } from './test-mistake.ts';

/** A test that was run. */
export interface TestResult {
  readonly file: string;
  /** Of the test. */
  readonly line: number;
  readonly column: number;
  readonly name: string;
  /** Those that do not hold, or the mistake in the test; none: it passes. */
  readonly failures: readonly Failure[];
  /** Of a failed one, as `model-gateway explain` has it; the first failures have one. */
  readonly explanation?: Explanation;
}

/** An expectation that does not hold, at its place; of a mistake in the test only the message. */
export interface Failure extends Problem {
  readonly expected?: string;
  readonly came?: string;
}

/** An explanation takes a page. */
const mostExplained = 50;

export async function runTests(tests: readonly PlacedTest[], compiled: CompiledConfig): Promise<readonly TestResult[]> {
  const guardrails = compiled.snapshot.guardrails.map(({ name }) => name);
  const results: TestResult[] = [];
  let explained = 0;
  for (const placed of tests) {
    const { failures, came } = await judge(placed, compiled, guardrails);
    const { file, line, column } = placed.problemAt([], '');
    const explanation = failures.length > 0 && explained < mostExplained ? came?.explain() : undefined;
    if (explanation !== undefined) explained += 1;
    const of = { file, line, column, name: placed.test.name, failures };
    results.push(explanation === undefined ? of : { ...of, explanation });
  }
  return results;
}

async function judge(
  { test, problemAt }: PlacedTest,
  compiled: CompiledConfig,
  guardrails: readonly string[],
): Promise<{ readonly failures: readonly Failure[]; readonly came?: Came }> {
  try {
    checkGuardrailName(test, guardrails);
    const came = await decide(test, compiled);
    return { failures: compare(test, came).map((unmet) => failureOf(unmet, problemAt)), came };
  } catch (error) {
    if (!(error instanceof TestMistake)) throw error;
    return { failures: [problemAt(error.path, error.message)] };
  }
}

function failureOf({ path, expected, came }: Unmet, problemAt: PlacedTest['problemAt']): Failure {
  return { ...problemAt(path, `expected ${expected}; came ${came}`), expected, came };
}
