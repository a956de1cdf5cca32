// What `check` says of certificates that are on this machine.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'tap';
import { stringify } from 'yaml';
import { checkConfig } from '../../gitops/cli/check-directory.ts';
import { mountListener } from '../support/listener-files.ts';
import { temporaryDirectory } from '../support/teardown.ts';

await test('check names files of certificates that are missing, do not fit, or have expired', async (t) => {
  const mount = mountListener(t);
  const directory = join(temporaryDirectory(t, 'check-tls'), 'config');
  mkdirSync(directory);
  const check = async (tls: object = mount.files, today = '2026-01-01') => {
    writeFileSync(join(directory, 'a.yaml'), stringify({ server: { tls } }));
    return (await checkConfig([directory, '--strict'], {}, today)).output;
  };
  t.match(await check(), /: ok, 1 file/);
  t.match(
    await check({ ...mount.files, key_file: '/nowhere/tls.key' }),
    /a\.yaml:4:15 {2}server\.tls\.key_file {2}names a file that does not exist here; a proxy needs it/,
  );
  const late =
    /a\.yaml:3:23 {2}server\.tls\.certificate_file {2}names a file that holds a certificate that has expired/;
  t.match(await check(mount.files, '2999-01-01'), late);
  mount.swap({ 'tls.key': mount.issue().key });
  t.match(
    await check(),
    /server\.tls\.key_file {2}names a file that holds a key that does not belong to the certificate/,
  );
});
