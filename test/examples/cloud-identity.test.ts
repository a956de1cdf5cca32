// The README of examples/cloud-identity, as its reader does it: ask without a key, see the tag of a team, and see STS go down and come back.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'tap';
import { runPage } from '../support/pages.ts';
import { startProcess } from '../support/process.ts';
import { temporaryDirectory } from '../support/teardown.ts';
import { openTerminal, startLocal } from '../support/terminal.ts';

await test('requests are signed without a key, with the tag of the team, and go elsewhere without a credential', async (t) => {
  const clouds = await startProcess({
    t,
    entry: 'examples/cloud-identity/clouds.ts',
    env: { CLOUDS_EXAMPLE_PORT: '0', CLOUDS_EXAMPLE_LIFE_SECONDS: '6' },
    ready: { line: /^AWS and Google are played at/ },
  });
  t.teardown(() => clouds.stop());
  const [, url = ''] = /at (\S+)/.exec(clouds.stdout.join('\n')) ?? [];
  const folder = temporaryDirectory(t, 'cloud-identity');
  const credentials = join(folder, 'google.json');
  const written = readFileSync('examples/cloud-identity/google.json', 'utf8');
  writeFileSync(
    credentials,
    written.replace('http://127.0.0.1:8243', url).replace('"examples/', `"${process.cwd()}/examples/`),
  );
  const own = {
    GOOGLE_APPLICATION_CREDENTIALS: credentials,
    CLOUDS_EXAMPLE_URL: url,
    AWS_ENDPOINT_URL_STS: url,
    AWS_ACCESS_KEY_ID: 'AKIAEXAMPLE000000000',
    AWS_SECRET_ACCESS_KEY: 'example',
  };
  const { places } = await startLocal(t, folder, own, 'cloud-identity');
  const paste = openTerminal(t, { ...places, '127.0.0.1:8243': new URL(url).host });
  await runPage(t, 'examples/cloud-identity/README.md', paste);
});
