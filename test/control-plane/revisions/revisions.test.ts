// The control plane keeps what it puts in force and what it rejects, with the commit and the verdicts of proxies, and shows no secret of it.
import { execFileSync } from 'node:child_process';
import { test } from 'tap';
import { waitFor } from '../../support/wait-for.ts';
import { begin, startRevisions } from './revisions-plane.ts';

const rules = (cap: string): string =>
  `rate_limits:\n  user_paths:\n    - path: /team\n      limits:\n        - { period: minute, max_requests: ${cap} }\n`;

function git(directory: string, ...args: string[]): string {
  const env = { PATH: process.env['PATH'], HOME: '/nonexistent', GIT_CONFIG_NOSYSTEM: '1' };
  const who = ['-c', 'user.name=Ann B', '-c', 'user.email=ann@example.com'];
  return execFileSync('git', ['-C', directory, ...who, ...args], { env, encoding: 'utf8' }).trim();
}

await test('each revision that is put in force or rejected is listed, with its commit, its changes and who has it', async (t) => {
  const plane = await startRevisions(t);
  const { directory, put, say, at } = plane;
  git(directory, 'init', '-q');
  const commit = (subject: string): string => {
    git(directory, 'add', '.');
    git(directory, 'commit', '-qm', subject);
    return git(directory, 'rev-parse', 'HEAD');
  };
  put({ 'limits.yaml': rules('60'), 'a/empty.yaml': '{}\n' });
  const first = commit('begin <script>alert(1)</script> known-secret');
  await plane.follow();
  const one = plane.current.follower?.status().revision ?? '';
  const [begun] = await plane.kept(1);
  t.match(begun, {
    revision: one,
    time: '2026-03-01T12:00:00.000Z',
    outcome: 'applied',
    in_force: true,
    pinned: false,
    commit: first,
    author: 'Ann B',
    subject: 'begin <script>alert(1)</script> [REDACTED]',
    changes: null,
    files: 2,
    proxies: [],
  });
  say({ p1: { config_revision: one }, p2: { config_revision: one } });
  await waitFor('verdicts', async () => (await plane.store.revisions())[0]?.verdicts.length === 2);

  at.nowMs += 60_000;
  put({ 'limits.yaml': rules('600') });
  const second = commit('raise the limits');
  const two = await plane.reload();
  const problems = ['limits.yaml:1:1 its variable is not set'];
  say({
    p1: { config_revision: two },
    p2: { config_revision: one, config_rejected: [two, at.nowMs], config_problems: problems },
  });
  const raised = await plane.kept(2);
  t.match(raised, [
    {
      revision: two,
      commit: second,
      changes: { loosened: 1 },
      in_force: true,
      proxies: [
        { instance: 'p1', live: true, verdict: 'in_force', since: '2026-03-01T12:01:00.000Z' },
        { instance: 'p2', live: true, verdict: 'rejected', since: '2026-03-01T12:01:00.000Z', problems },
      ],
    },
    { revision: one, in_force: false, proxies: [{ instance: 'p1' }, { instance: 'p2', verdict: 'in_force' }] },
  ]);
  await waitFor('what was left', async () =>
    (await plane.store.revisions())[1]?.verdicts.some(({ until_ms: until }) => until !== undefined),
  );
  t.match((await plane.list())[1]?.proxies[0], {
    verdict: 'left',
    since: '2026-03-01T12:00:00.000Z',
    until: '2026-03-01T12:01:00.000Z',
  });

  put({ 'limits.yaml': rules('sixty') });
  await plane.reload();
  await plane.reload();
  const [rejected] = await plane.kept(3);
  t.match(rejected, { outcome: 'rejected', in_force: false, changes: null, problem_count: 1, commit: second });
  t.match(rejected?.['problems'], [/limits\.yaml:5:\d+ .*max_requests/]);

  put({ 'limits.yaml': rules('60') });
  t.equal(await plane.reload(), one);
  say({ p1: { config_revision: one }, p2: { config_revision: one } });
  const back = await plane.kept(4);
  t.match(
    back.map(({ revision, in_force }) => [revision, in_force]),
    [
      [one, true],
      [rejected?.revision, false],
      [two, false],
      [one, false],
    ],
  );
  t.match(back[0], { changes: { tightened: 1 }, commit: second });
  t.match(back[3]?.proxies, [{ verdict: 'left', until: '2026-03-01T12:01:00.000Z' }, { verdict: 'left' }]);

  await plane.follow();
  put({ 'limits.yaml': rules('61') });
  await plane.follow();
  const started = await plane.kept(5);
  t.match(started[0], { changes: { loosened: 1 }, in_force: true }, 'a start with what was in force is no entry');
});

await test('the files of a revision and what differs between two, without what may be a secret', async (t) => {
  const plane = await startRevisions(t, { commit: 'v1.2.3' });
  const provider = (more: string): string =>
    `providers:\n  openai:\n    type: openai\n    api_key: $\{KEY}\n    models: [m]\n${more}`;
  plane.put({ 'p.yaml': `# known-secret\n${provider('')}`, 'b.yaml': rules('60'), 'gone.yaml': 'usage: {}\n' });
  await plane.follow();
  const one = plane.current.follower?.status().revision ?? '';
  const plain = 'sk-proj-0123456789abcdefghijklmnop';
  plane.put({
    'p.yaml': provider(`    headers: { x-key: hidden-all-the-same }\n`),
    'b.yaml': `${rules('600')}# known-secret\n`,
    'gone.yaml': null,
  });
  const two = await plane.reload();
  t.match(await plane.kept(2), [{ commit: 'v1.2.3', author: null }, { commit: 'v1.2.3' }]);

  const shown = await plane.ask(`/${one}?file=p.yaml`, 'one');
  t.match(shown, {
    revision: one,
    entries: [{ revision: one }],
    files: [{ file: 'b.yaml' }, { file: 'gone.yaml' }, {}],
  });
  t.equal(shown['text'], `\n${provider('')}`);
  const hidden = await plane.ask(`/${two}?file=p.yaml`, 'one');
  t.match(hidden['text'], /x-key: "\[hidden\]"/);
  const changes = await plane.ask(`/${two}/changes`, 'changes');
  t.match(changes, {
    revision: two,
    against: one,
    complete: true,
    files: [{ file: 'b.yaml', change: 'changed' }, { file: 'gone.yaml', change: 'removed' }, { file: 'p.yaml' }],
  });
  t.match(JSON.stringify(changes['changes']), /loosened: rule user_path \/team minute: max_requests 60 → 600/);
  const reverse = await plane.ask(`/${one}/changes?against=${two}`, 'changes');
  t.match(JSON.stringify(reverse['changes']), /tightened: rule/);
  for (const body of [shown, hidden, changes, reverse])
    t.notMatch(JSON.stringify(body), new RegExp(`known-secret|${plain}`));

  for (const [count, written] of [`{} # ${plain}`, 'usage: { x: a-known-secret-of-the-gateway }'].entries()) {
    plane.put({ 'c.yaml': `${written}\n` });
    await plane.reload();
    const [unkept] = await plane.kept(3 + count);
    t.match(unkept, { outcome: count === 0 ? 'applied' : 'rejected', files: null, without_files: 'may_hold_secret' });
    t.match(await plane.ask(`/${unkept?.revision}/changes`, 'changes', 404), { message: /^No files of a revision/ });
  }

  t.match(await plane.ask('/none', 'one', 404), { code: 'config_revision_not_found' });
  t.match(await plane.ask(`/${one}/changes`, 'changes', 404), { message: /in force before/ });
  t.match(await plane.ask(`/${two}/changes?against=none`, 'changes', 404), { code: 'config_revision_not_found' });
  t.match(await plane.ask(`/${one}?file=../p.yaml`, 'one', 400), { code: 'invalid_query', param: 'file' });
  await plane.store.close();
  t.match(await plane.ask('', 'list', 503), { code: 'store_unavailable', message: /record store/ });
  t.equal(plane.at.nowMs, begin);
});
