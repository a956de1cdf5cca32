// Following a directory: the event of an applied configuration says what changed with it.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'tap';
import { folder, limit, start } from './following.ts';

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
