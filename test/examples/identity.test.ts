// The README of examples/identity, as its reader does it: ask with a token, see which claim gave what, and go on after a change of keys.
import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'tap';
import { runPage } from '../support/pages.ts';
import { startProcess } from '../support/process.ts';
import { temporaryDirectory } from '../support/teardown.ts';
import { openTerminal, startLocal } from '../support/terminal.ts';

await test('tokens of the issuer are let in with the rights of their claims', async (t) => {
  const issuer = await startProcess({
    t,
    entry: 'examples/identity/issuer.ts',
    env: { IDENTITY_EXAMPLE_PORT: '0' },
    ready: { line: /^The issuer is played at/ },
  });
  t.teardown(() => issuer.stop());
  const [, url = ''] = /at (\S+)/.exec(issuer.stdout.join('\n')) ?? [];
  const home = temporaryDirectory(t, 'identity');
  const config = join(home, 'config');
  cpSync('examples/identity/config', config, { recursive: true });
  const file = join(config, 'identities.yaml');
  const { host } = new URL(url);
  writeFileSync(file, readFileSync(file, 'utf8').replace('127.0.0.1:8263', host));
  const { places } = await startLocal(t, home, { GATEWAY_CONFIG: config }, 'identity');
  const paste = openTerminal(t, {
    ...places,
    '127.0.0.1:8263': host,
    'check examples/identity/config': `check ${config}`,
    'data/ann.jwt': join(home, 'ann.jwt'),
  });
  await runPage(t, 'examples/identity/README.md', async (commands) =>
    (await paste(commands)).replaceAll(config, 'examples/identity/config'),
  );
});
