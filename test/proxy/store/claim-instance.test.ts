// The name of a replica at its start: what was stored by the name it had before is not left behind in silence.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'tap';
import { identityOf } from '../../../plane/identity.ts';
import { claimInstance } from '../../../proxy/store/claim-instance.ts';
import { temporaryDirectory } from '../../support/teardown.ts';

await test('a replica that is called otherwise now says once what stays behind, and how to go on with it', async (t) => {
  const directory = temporaryDirectory(t);
  const said: unknown[] = [];
  const log = { warn: (...words: unknown[]) => void said.push(words.join(' ')) };
  const start = (instance: string, former: string | undefined): void => {
    const identity = identityOf('proxy', '0', instance);
    claimInstance({ identity, directory, former, patienceMs: 0 }, log)?.release();
  };
  start('pod-1:8080', '0.0.0.0:8080');
  t.same(said, [], 'nothing was stored by the former name');
  mkdirSync(join(directory, '127.0.0.1:8080'));
  start('named', undefined);
  t.same(said, [], 'it was given its name');
  start('pod-2:8080', '127.0.0.1:8080');
  t.match(said, [/"pod-2:8080" now, .* of "127\.0\.0\.1:8080" stay behind; .* GATEWAY_INSTANCE=127\.0\.0\.1:8080/]);
  start('pod-2:8080', '127.0.0.1:8080');
  t.equal(said.length, 1);
});
