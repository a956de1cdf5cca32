// GET /admin/config/differences: what is on disk against what is in force, with a real directory that is followed.
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { test } from 'tap';
import { describeDifferences } from '../../control-plane/admin/config/differences.ts';
import { followConfig } from '../../gitops/follow/follow.ts';
import { lastGoodFolder } from '../../plane/start.ts';
import schema from '../../schemas/admin/config-differences.schema.json' with { type: 'json' };
import { temporaryDirectory } from '../support/teardown.ts';

const validate = new Ajv2020({ strict: false, formats: { 'date-time': true } }).compile(schema);
const rules = (cap: string): string =>
  `rate_limits:\n  user_paths:\n    - path: /team\n      limits:\n        - { period: minute, max_requests: ${cap} }\n`;

await test('it says what differs and why it is not in force, and nothing once it is', async (t) => {
  const [directory, ownFolder] = [temporaryDirectory(t), temporaryDirectory(t)];
  const put = (text: string): void => writeFileSync(join(directory, 'limits.yaml'), text);
  put(rules('60'));
  const follower = await followConfig({
    directory,
    environment: {},
    variables: 'keep',
    entitlements: new Set(),
    lastGoodFolder: lastGoodFolder(ownFolder),
    nowMs: () => Date.UTC(2026, 5, 1),
    apply: () => undefined,
    report: () => undefined,
  });
  t.teardown(() => follower.close());
  const settings = { configDirectory: directory, entitlements: new Set<string>(), variables: {} };
  const look = async (folder: string = ownFolder) => {
    const status = () => follower.status();
    const said = await describeDifferences({ settings, ownFolder: folder, status, nowMs: () => Date.UTC(2026, 5, 1) });
    t.ok(validate(said), JSON.stringify(validate.errors));
    return JSON.parse(JSON.stringify(said)) as Record<string, unknown>;
  };
  const inForce = follower.status().revision;
  t.match(await look(), { same: true, config_revision: inForce, disk_revision: inForce, problems: [], files: [] });

  put(rules('sixty'));
  await follower.reload();
  const rejected = await look();
  t.match(rejected, { same: false, config_revision: inForce, applied_at: '2026-06-01T00:00:00.000Z', complete: true });
  t.not(rejected['disk_revision'], inForce);
  t.match(rejected['problems'], [
    { file: join(directory, 'limits.yaml'), line: 5, path: 'rate_limits.user_paths[0].limits[0].max_requests' },
  ]);
  const path = 'rate_limits.user_paths[/team].limits[minute].max_requests';
  const values = [{ path, change: 'changed', line: 5, before: '60', after: '"sixty"' }];
  t.same(rejected['files'], [{ file: 'limits.yaml', change: 'changed', values }]);
  t.match(
    rejected,
    { changes: [], set_aside: ['limits.yaml: rate_limits'] },
    'what holds a mistake counts as it is in force',
  );
  put(`${rules('sixty')}audit: { enabled: false }\n`);
  writeFileSync(join(directory, 'cache.yaml'), 'cache: { enabled: true, scope: gateway }\n');
  writeFileSync(join(directory, 'new.yaml'), 'guardrails: [\n');
  t.match(await look(), {
    changes: [
      { name: 'audit.enabled', effect: 'loosened' },
      { kind: 'setting', name: 'cache.enabled', change: 'loosened', effect: 'loosened' },
      { name: 'cache.scope', words: 'loosened: setting cache.scope: user_path → gateway' },
    ],
    set_aside: ['limits.yaml: rate_limits', 'new.yaml'],
  });
  for (const name of ['cache.yaml', 'new.yaml']) rmSync(join(directory, name));
  t.notOk('files' in (await look(temporaryDirectory(t))), 'without the copy the files in force are not known');

  put(rules('61'));
  await follower.reload();
  t.match(await look(), { same: true, problems: [], files: [] });
});
