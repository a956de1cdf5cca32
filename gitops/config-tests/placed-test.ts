// A test of a configuration, and where it stands.
import type { ConfigTest } from '../../schemas/types.ts';
import type { Path } from '../../schemas/validation/path.ts';
import type { Problem } from '../read/problem.ts';

export interface PlacedTest {
  /** The path of its file for messages. */
  readonly file: string;
  readonly test: ConfigTest;
  /** The problem of a member of the test; `path` within it, empty for the test itself. */
  readonly problemAt: (path: Path, message: string) => Problem;
}
