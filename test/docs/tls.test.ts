// The commands of docs/tls.md, as their reader pastes them: an authority of one's own, a gateway that speaks TLS, and a client with a certificate.
import { join } from 'node:path';
import { test } from 'tap';
import { runPage } from '../support/pages.ts';
import { freePort } from '../support/ports.ts';
import { temporaryDirectory } from '../support/teardown.ts';
import { openTerminal } from '../support/terminal.ts';

const top = join(import.meta.dirname, '../..');

await test('the commands of docs/tls.md do what it says', async (t) => {
  const home = temporaryDirectory(t, 'tls-page');
  const places = {
    '8443': String(await freePort()),
    'node_modules/.bin/node': join(top, 'node_modules/.bin/node'),
    'proxy/main.ts': join(top, 'proxy/main.ts'),
  };
  const paste = openTerminal(t, places);
  await paste(`cd ${home}`);
  await runPage(t, 'docs/tls.md', paste);
});
