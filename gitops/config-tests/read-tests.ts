// Reads the tests of a configuration: the `*.test.yaml` files of its directory, checked by their schema.
import type { ConfigTests } from '../../schemas/types.ts';
import { explain } from '../../schemas/validation/explain.ts';
import { configTests as check } from '../../schemas/validation/generated/config-tests.js';
import { formatPath } from '../../schemas/validation/path.ts';
import { complaintsOf } from '../../schemas/validation/validator.ts';
import { namesBeside, readBeside } from '../read/beside.ts';
import { type ParsedFile, parseFile } from '../read/parse.ts';
import { mostProblems, type Problem, problemOfFile, sortProblems } from '../read/problem.ts';
import type { SourceFile } from '../read/read.ts';
import { yamlWording } from '../read/yaml-wording.ts';
import { problemsOfTest } from './check-test.ts';
import type { PlacedTest } from './placed-test.ts';

export interface ConfigTestsReading {
  /** How many files of tests there are. */
  readonly files: number;
  /** In the order of files and lines; those of files without a problem. */
  readonly tests: readonly PlacedTest[];
  readonly problems: readonly Problem[];
}

/** More files are not read. */
const mostFiles = 1_000;

/** `shown` stands for the directory in paths for messages. Never throws. */
export async function readConfigTests(directory: string, shown: string = directory): Promise<ConfigTestsReading> {
  const names = await namesBeside(directory, 'test');
  const problems: Problem[] = [];
  if (names.length > mostFiles) problems.push(problemOfFile(shown, `holds more than ${mostFiles} files of tests`));
  const read = await readBeside(directory, names.slice(0, mostFiles), shown);
  const files = read.files.map(testsOf);
  problems.push(...read.problems, ...files.flatMap((file) => file.problems));
  return {
    files: names.length,
    tests: files.flatMap(({ tests }) => tests),
    problems: sortProblems(problems).slice(0, mostProblems),
  };
}

function testsOf(source: SourceFile): Pick<ConfigTestsReading, 'tests' | 'problems'> {
  const { parsed, problems } = parseFile(source);
  if (parsed === undefined) return { tests: [], problems };
  // The validator writes defaults, and sentences quote what is written.
  const value: unknown = structuredClone(parsed.value);
  if (!check(value)) return { tests: [], problems: mistakesIn(parsed, value) };
  const tests = placed(parsed, value);
  const mistakes = [...repeated(tests), ...tests.flatMap(problemsOfTest)];
  return mistakes.length === 0 ? { tests, problems: [] } : { tests: [], problems: mistakes };
}

function placed(parsed: ParsedFile, { tests }: ConfigTests): readonly PlacedTest[] {
  return tests.map((test, index) => ({
    file: parsed.file,
    test,
    problemAt: (within, message) => {
      const path = ['tests', index, ...within];
      return { file: parsed.file, ...parsed.locate(path), path: formatPath(path), message };
    },
  }));
}

function mistakesIn(parsed: ParsedFile, value: unknown): readonly Problem[] {
  const complaints = complaintsOf(check.errors, value);
  return explain(complaints, { source: parsed.value, wording: yamlWording })
    .slice(0, mostProblems)
    .map(({ path, part, message }) => ({
      file: parsed.file,
      ...parsed.locate(path, part),
      path: formatPath(path),
      message,
    }));
}

/** Reports name a test by its file and name. */
function repeated(tests: readonly PlacedTest[]): readonly Problem[] {
  const seen = new Set<string>();
  return tests.flatMap(({ test: { name }, problemAt }) => {
    if (seen.has(name)) return [problemAt(['name'], 'is the name of a test before it; give each its own')];
    seen.add(name);
    return [];
  });
}
