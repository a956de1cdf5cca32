// The README of examples/cloud-identity, as its reader does it: ask without a key, see the tag of a team, and see STS go down and come back.
import { test } from 'tap';
import { runPage } from '../support/pages.ts';
import { startProcess } from '../support/process.ts';
import { temporaryDirectory } from '../support/teardown.ts';
import { openTerminal, startLocal } from '../support/terminal.ts';

await test('requests are signed without a key, with the tag of the team, and go elsewhere without a credential', async (t) => {
  const aws = await startProcess({
    t,
    entry: 'examples/cloud-identity/aws.ts',
    env: { AWS_EXAMPLE_PORT: '0', AWS_EXAMPLE_LIFE_SECONDS: '6' },
    ready: { line: /^AWS is played at/ },
  });
  t.teardown(() => aws.stop());
  const [, url = ''] = /at (\S+)/.exec(aws.stdout.join('\n')) ?? [];
  const own = {
    AWS_EXAMPLE_URL: url,
    AWS_ENDPOINT_URL_STS: url,
    AWS_ACCESS_KEY_ID: 'AKIAEXAMPLE000000000',
    AWS_SECRET_ACCESS_KEY: 'example',
  };
  const { places } = await startLocal(t, temporaryDirectory(t, 'cloud-identity'), own, 'cloud-identity');
  const paste = openTerminal(t, { ...places, '127.0.0.1:8243': new URL(url).host });
  await runPage(t, 'examples/cloud-identity/README.md', paste);
});
