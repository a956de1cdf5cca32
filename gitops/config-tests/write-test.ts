// Writes a test of a request as a file of tests.
import { Document } from 'yaml';
import type { Expected, Given } from '../../schemas/types.ts';

export interface WrittenTest {
  readonly name: string;
  readonly given: Partial<Given>;
  readonly expect: Expected;
  /** What the one who keeps it should know, a sentence each. */
  readonly notes: readonly string[];
}

const longestName = 300;

export function writeTest({ name, given, expect, notes }: WrittenTest): string {
  const document = new Document({ tests: [{ name: name.slice(0, longestName), given, expect }] });
  document.commentBefore = [
    'Made of a request. Keep it in the configuration directory, in a file *.test.yaml.',
    ...notes,
  ]
    .map((note) => ` ${note}`)
    .join('\n');
  return document.toString({ lineWidth: 140 });
}
