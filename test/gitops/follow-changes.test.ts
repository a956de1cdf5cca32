// Following a directory: the event of an applied configuration says what changed with it; a copy keeps nested paths.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'tap';
import { broken, folder, limit, start } from './following.ts';

await test('an applied configuration says what changed', async (t) => {
  const directory = folder(t, { 'a.yaml': limit(10) });
  const { follower, events } = await start(t, directory);
  t.notOk(events[0]?.changes, 'the first one has nothing before it');
  writeFileSync(join(directory, 'a.yaml'), limit(11));
  await follower.reload();
  writeFileSync(join(directory, 'a.yaml'), limit(11, '/other'));
  await follower.reload();
  t.match(
    events.map(({ changes }) => changes?.map(({ words }) => words)),
    [
      undefined,
      ['loosened: rule user_path /team minute: max_requests 10 → 11'],
      [
        'added (tightened): rule user_path /other minute: max_requests 11',
        'removed (loosened): rule user_path /team minute: max_requests 11',
      ],
    ],
  );
  const many = (cap: number): string =>
    `rate_limits:\n  user_paths:\n${Array.from({ length: 1_001 }, (_, index) => `    - { path: /${index}, limits: [{ period: day, max_requests: ${cap} }] }\n`).join('')}`;
  for (const cap of [1, 2]) {
    writeFileSync(join(directory, 'a.yaml'), many(cap));
    await follower.reload();
  }
  t.same(
    events.at(-1)?.changes?.map(({ words }) => words),
    ['changed: rule among 1001 rules: too many to compare'],
    'so many changes at once would keep requests waiting',
  );
});

await test('a restart with a broken nested file uses the copy of all files', async (t) => {
  const directory = folder(t, { 'a.yaml': 'aliases: []\n' });
  const lastGoodFolder = folder(t);
  mkdirSync(join(directory, 'teams/a'), { recursive: true });
  writeFileSync(join(directory, 'teams/a/limits.yaml'), limit(10));
  const first = await start(t, directory, { lastGoodFolder });
  const { revision } = first.follower.status();
  await first.follower.close();
  writeFileSync(join(directory, 'teams/a/limits.yaml'), broken);
  const second = await start(t, directory, { lastGoodFolder });
  t.equal(second.cap(), 10);
  t.match(second.follower.status(), { revision, source: 'last-good' });
  t.match(second.events[0]?.problems, [{ file: join(directory, 'teams/a/limits.yaml'), line: 2 }]);
});
