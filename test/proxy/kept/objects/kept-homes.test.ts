// Whose an object is, on a real store that takes nothing for a while.
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'tap';
import { KeptHomes } from '../../../../proxy/kept/objects/kept-homes.ts';
import { openStateStore } from '../../../../store/state/open.ts';
import { temporaryDirectory } from '../../../support/teardown.ts';
import { waitFor } from '../../../support/wait-for.ts';

await test('a home that the store does not take at once is known meanwhile, and is kept once it does', async (t) => {
  const directory = temporaryDirectory(t);
  const nowMs = (): number => Date.now();
  const store = openStateStore({ directory, nowMs, timeoutMs: 100 });
  t.teardown(() => store.close());
  const told: unknown[] = [];
  const log = { warn: (...said: unknown[]) => void told.push(said) };
  const homes = new KeptHomes({ kept: store.kept, nowMs, log, againMs: 20 });
  const home = { provider: 'openai', key: 'k1', isBatchInput: false };
  homes.remember('file', 'file-1', '/team', home);
  await homes.settled();

  const others = new KeptHomes({ kept: store.kept, nowMs, log, againMs: 20 });
  const intruder = new DatabaseSync(join(directory, 'kept.sqlite'));
  t.teardown(() => intruder.close());
  intruder.exec('BEGIN IMMEDIATE');
  others.remember('file', 'file-2', '/team', home);
  await waitFor('a write to fail', () => told.length > 0);
  t.match(await others.find('file', 'file-2', '/team'), { provider: 'openai' }, 'meanwhile');
  intruder.exec('COMMIT');
  const later = new KeptHomes({ kept: store.kept, nowMs, log });
  const found = await waitFor('another process to find it', () =>
    later.find('file', 'file-2', '/team').catch(() => undefined),
  );
  t.match(found, { provider: 'openai', key: 'k1' });
  t.equal(await later.ownerOf('file', 'file-2'), '/team');
});
