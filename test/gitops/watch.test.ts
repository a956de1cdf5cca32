// Watching a directory, and ending it: what is watched of the system is given back.
import { rmSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import { test } from 'tap';
import { watchDirectory } from '../../gitops/follow/watch.ts';
import { waitFor } from '../support/wait-for.ts';
import { folder } from './following.ts';

const names = ['a.yaml', 'b.yaml', 'c.yaml', 'd.yaml'];
/** Whether a watch is left open depends on which answer of the system comes first: about every third round of a broken one leaves it. */
const rounds = 24;

/** How many files and directories this process watches. */
function watched(): number {
  return process.getActiveResourcesInfo().filter((name) => name === 'FSEventWrap').length;
}

await test('a watch that is closed while its files disappear stays closed', async (t) => {
  const before = watched();
  for (let round = 0; round < rounds; round += 1) {
    const directory = folder(t, Object.fromEntries(names.map((name) => [name, 'server: {}\n'])));
    const watch = watchDirectory(directory, { debounceMs: 5, recheckMs: 1_000 }, () => undefined);
    await waitFor('all files to be watched', () => watched() >= before + names.length);
    for (const name of names) rmSync(join(directory, name));
    for (let turns = round % 4; turns > 0; turns -= 1) await turn();
    await watch.close();
    // Until what the watch had asked the system is answered, and what would follow from that.
    for (let asked = 0; asked < 40; asked += 1) await stat(directory);
  }
  t.equal(watched(), before);
});
