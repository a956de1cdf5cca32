// A test that cannot be decided, because what it names is not there.
import type { Path } from '../../schemas/validation/path.ts';
import { didYouMean } from '../../schemas/validation/suggest.ts';

export class TestMistake extends Error {
  /** Within the test. */
  readonly path: Path;

  constructor(path: Path, message: string) {
    super(message);
    this.path = path;
  }
}

/** `what`: of what kind the name is, such as `rule`. `known`: the names that could be meant. */
export function unknownName(path: Path, what: string, name: string, known: readonly string[]): TestMistake {
  const listed = known.length === 0 ? 'there is none' : `known are ${known.slice(0, 10).join(', ')}`;
  return new TestMistake(path, `no ${what} is called ${JSON.stringify(name)}${didYouMean(name, known)}; ${listed}`);
}
