// What `tap` is to the files of one process (test/together.ts): the tests of a file are subtests of that file.
import { t as root, type Test } from 'tap';

export let t: Test = root;
export let test: Test['test'] = root.test.bind(root);

/** Ends with the process; without test/together.ts it is the file itself. */
export const wholeProcess: Test = root;

/** From now on what a file imports of `tap` belongs to this test. */
export function enter(file: Test): void {
  t = file;
  test = file.test.bind(file);
}
