// The service on the page of webhooks is asked as a guardrail asks, and the page has every reason of a failure.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'tap';
import { hookTroubles } from '../../proxy/upstream/hooks.ts';
import { hookStand } from '../proxy/guardrails/hook-stand.ts';
import { freePort, startProcess } from '../support/process.ts';
import { temporaryDirectory } from '../support/teardown.ts';

const page = readFileSync(join(import.meta.dirname, '../../deploy/WEBHOOKS.md'), 'utf8');

await test('the service blocks what it looks for, and refuses who does not sign', async (t) => {
  const [, code = ''] = /^```js\n(.*?)^```$/ms.exec(page) ?? [];
  const entry = join(temporaryDirectory(t, 'webhook'), 'service.mjs');
  writeFileSync(entry, code);
  const port = await freePort();
  await startProcess({ t, entry, env: { PORT: String(port), GUARD_SECRET: 's1' }, ready: { line: 'listening' } });
  const origin = `http://127.0.0.1:${port}`;
  const signed = await hookStand(t, { origin, secret: 's1', timeoutMs: 5_000 });
  t.same(await signed.check('hello', 'a word'), { outcome: 'pass' });
  t.same(await signed.check('hello', 'about BlueBird'), { outcome: 'block', reason: 'project names' });
  const foreign = await hookStand(t, { origin, secret: 's2', timeoutMs: 5_000 });
  t.match(await foreign.check('hello'), { outcome: 'failed', reason: 'status' });
});

await test('the page has every reason of a service that gives no verdict', (t) => {
  t.same(
    hookTroubles.filter((trouble) => !page.includes(`| \`${trouble}\` `)),
    [],
  );
  t.end();
});
