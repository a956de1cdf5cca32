// Lines of a log that hold names of others: a runner takes none of them for a command.
import { test } from 'tap';
import { plainLine } from '../../gitops/cli/check-formats.ts';

/** As a GitHub runner finds commands: `::` behind blanks, `##[` anywhere. */
const isCommand = (line: string): boolean => line.trimStart().startsWith('::') || line.includes('##[');

await test('no name becomes a command of a GitHub runner', (t) => {
  for (const line of ['::error::x', '  ::stop-commands::x', 'by an operator: ##[add-mask]e ##[error]x']) {
    t.ok(isCommand(line));
    t.notOk(isCommand(plainLine(line)), line);
  }
  t.equal(plainLine('  5 % of /team::a'), '  5 % of /team::a');
  t.end();
});
