// Rules for user paths that do nothing are warnings.
import { test } from 'tap';
import { loadFiles } from '../../gitops/assemble/load.ts';
import { entitled, file, lines } from './load-fixtures.ts';

const warningsOf = (entries: readonly string[], variables: Record<string, string> = {}): string[] => {
  const rules = entries.map((entry) => `    - { ${entry} }\n`).join('');
  const text = `rate_limits:\n  user_paths:${rules === '' ? ' []' : ''}\n${rules}`;
  const { problems, warnings } = loadFiles([file('a.yaml', text)], { ...entitled, environment: variables });
  return lines([...problems, ...warnings]);
};
const limits = (...caps: string[]): string => `limits: [${caps.map((cap) => `{ ${cap} }`).join(', ')}]`;

await test("a cap above a parent's over the same period is never reached", async (t) => {
  t.same(
    warningsOf([
      `path: /team, ${limits('period: minute, max_requests: 60, max_tokens: 900', 'period: concurrent, max_requests: 5')}`,
      `path: /team/app, ${limits('period: minute, max_requests: 61, max_tokens: 900', 'period: hour, max_requests: 900')}`,
      `path: /team/app/x, ${limits('period_seconds: 60, max_tokens: 901', 'period: concurrent, max_requests: 6')}`,
    ]),
    [
      'a.yaml:4:67  rate_limits.user_paths[1].limits[0].max_requests  61 (minute) is above the 60 of "/team" (a.yaml:3:31), which holds here too, so it is never reached',
      'a.yaml:5:71  rate_limits.user_paths[2].limits[0].max_tokens  901 (minute) is above the 900 of "/team" (a.yaml:3:31), which holds here too, so it is never reached',
      'a.yaml:5:114  rate_limits.user_paths[2].limits[1].max_requests  6 (concurrent) is above the 5 of "/team" (a.yaml:3:86), which holds here too, so it is never reached',
    ],
  );
});

await test('the lowest cap of all parents counts, the root and templates too; shadow and siblings do not', async (t) => {
  const minute = (cap: number, more = ''): string => limits(`period: minute, max_requests: ${cap}${more}`);
  t.match(warningsOf([`path: /, ${minute(50)}`, `path: /a, ${minute(40)}`, `path: /a/b, ${minute(45)}`]), [
    /\[2\]\.limits\[0\]\.max_requests {2}45 \(minute\) is above the 40 of "\/a" /,
  ]);
  t.match(warningsOf([`path: /c, per_child: true, ${minute(5)}`, `path: /c/d, ${minute(6)}`]), [/the 5 of "\/c" /]);
  t.same(warningsOf([`path: /a, ${minute(5, ', mode: shadow')}`, `path: /a/b, ${minute(6)}`]), []);
  t.same(warningsOf([`path: /a, ${minute(5)}`, `path: /ab, ${minute(6)}`, `path: /b/a, ${minute(6)}`]), []);
});

await test('rules of variables are compared with those of the files that stay in force', async (t) => {
  const entries = ['path: /team', 'path: /team/app'].map(
    (path, index) => `${path}, ${limits(`period: minute, max_requests: ${index + 5}`)}`,
  );
  t.match(warningsOf(entries, { SET_RATE_LIMIT_TEAM: 'rpm=9' }), [/is replaced, with all its limits, by/]);
  t.match(warningsOf(entries, { SET_RATE_LIMIT_TEAM__APP: 'rpm=9' }), [
    /^SET_RATE_LIMIT_TEAM__APP {2}max_requests 9 \(minute\) is above the 5 of "\/team" \(a\.yaml:3:/,
    /is replaced, with all its limits, by/,
  ]);
});

await test('a variable replaces the rules of a path that the files write in other letter case', async (t) => {
  const entries = [`path: /Team/App, ${limits('period: minute, max_requests: 5')}`];
  t.match(warningsOf(entries, { SET_RATE_LIMIT_TEAM__APP: 'rpm=4' }), [/is replaced, with all its limits, by/]);
  t.same(warningsOf([], { SET_RATE_LIMIT_Team: 'rpm=4' }), []);
});

await test('a variable for a path with underscores is told from the path with hyphens that it may mean', async (t) => {
  const minute = limits('period: minute, max_requests: 5');
  const advice =
    'an underscore in the name of a variable stays an underscore; limit paths with hyphens in the YAML files';
  const team = { SET_RATE_LIMIT_TEAM_B: 'rpm=4' };
  t.same(warningsOf([`path: /team-b, ${minute}`], team), [
    `SET_RATE_LIMIT_TEAM_B  limits "/team_b", not "/team-b" of a.yaml:3:33: ${advice}`,
  ]);
  t.same(warningsOf([`path: /Team-B/app, ${minute}`], team), [
    `SET_RATE_LIMIT_TEAM_B  limits "/team_b", not "/Team-B" of a.yaml:3:37: ${advice}`,
  ]);
  t.same(warningsOf([`path: /a/team-b, ${minute}`, `path: /team-bc, ${minute}`, `path: /teamb, ${minute}`], team), []);
  const both = warningsOf([`path: /team-b, ${minute}`, `path: /team_b, ${minute}`], team);
  t.notMatch(both.join('\n'), /not "\/team-b"/, 'both paths are meant');
});
