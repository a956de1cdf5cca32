// `model-gateway revisions` as docs/revisions.md shows it, against a control plane of this process.
import { test } from 'tap';
import { revisions } from '../../../deploy/cli/revisions.ts';
import { startRevisions } from './revisions-plane.ts';

const rules = (cap: string): string =>
  `rate_limits:\n  user_paths:\n    - path: /team\n      limits:\n        - { period: minute, max_requests: ${cap} }\n`;

await test('it lists revisions, shows one with its files, and says what differs', async (t) => {
  process.env['GATEWAY_MASTER_KEY'] = 'master';
  t.teardown(() => {
    delete process.env['GATEWAY_MASTER_KEY'];
  });
  const plane = await startRevisions(t, { commit: '1f0c6d2a9b7e' });
  const run = async (...args: string[]) => revisions([...args, '--url', plane.address]);
  t.same(await run(), { output: 'no revision is kept yet', code: 0 });
  plane.put({ 'limits.yaml': rules('60'), 'usage.yaml': 'usage: {}\n' });
  await plane.follow();
  const one = plane.current.follower?.status().revision ?? '';
  plane.put({ 'limits.yaml': rules('600') });
  const two = await plane.reload();
  plane.put({ 'limits.yaml': rules('sixty') });
  await plane.reload();
  const [bad] = await plane.kept(3);
  plane.say({
    p1: { config_revision: two },
    p2: { config_revision: one, config_rejected: [two, plane.at.nowMs], config_problems: ['limits.yaml:1:1 no'] },
  });

  t.equal(
    (await run()).output,
    [
      `  ${bad?.revision}  2026-03-01 12:00:00  rejected  -             -            1f0c6d2a9b`,
      `* ${two}  2026-03-01 12:00:00  applied   1 in force, 1 rejected  1 loosened   1f0c6d2a9b`,
      `  ${one}  2026-03-01 12:00:00  applied   1 in force    -            1f0c6d2a9b`,
    ].join('\n'),
  );
  t.match(JSON.parse((await run('list', '--json')).output), { revisions: [{}, { revision: two }, {}] });
  const { output: shown } = await run('show', two.slice(0, 8));
  t.match(shown, /p2: rejected since 2026-03-01T12:00:00\.000Z\n {6}limits\.yaml:1:1 no/);
  t.match(shown, /\nfiles:\n {2}limits\.yaml {2}\d+ bytes\n {2}usage\.yaml {2}10 bytes$/);
  t.match((await run('show', bad?.revision ?? '')).output, /limits\.yaml:5:\d+ .*max_requests/);
  t.equal((await run('show', two, 'limits.yaml')).output, rules('600'));
  const told = `from ${one} to ${two}\nloosened: rule user_path /team minute: max_requests 60 → 600\n`;
  const path = 'rate_limits.user_paths[/team].limits[minute].max_requests';
  t.equal((await run('diff', two)).output, `${told}\nchanged: limits.yaml\n  ${path}: 60 → 600 (line 5)`);
  t.match((await run('diff', two, one)).output, new RegExp(`^from ${two} to ${one}\ntightened: rule`));
  t.equal((await run('diff', one, one)).output, `${one} and ${one} have the same files`);
  t.match((await run('diff', two, bad?.revision ?? '')).output, /600 → "sixty"/);

  await t.rejects(run('show', 'zzz'), /^no revision "zzz" is kept: model-gateway revisions lists them/);
  await t.rejects(run('show', ''), /begins several revisions/);
  await t.rejects(run('diff', one), /in force before/);
  for (const wrong of [['show'], ['nonsense'], ['list', one], ['diff', one, two, one]])
    t.match(await run(...wrong), { code: 2, output: /^usage: model-gateway revisions \[list\]/ });
});
