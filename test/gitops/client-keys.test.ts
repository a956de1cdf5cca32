// Keys of clients in the configuration: what is warned of, and what a change of them means. No hash is told.
import { test } from 'tap';
import { diffConfigs } from '../../gitops/diff/diff.ts';
import { bare, lines, one, provider } from './load-fixtures.ts';

const hash = `sha256:${'5e'.repeat(32)}`;
const withKey = (...members: string[]): string =>
  `${provider}keys:\n  - ${['name: ci', `hash: ${hash}`, ...members].join('\n    ')}\n`;

await test('an end that has passed and models that lead nowhere are warned of', async (t) => {
  const text = withKey('expires_at: 2030-01-31T12:00:00Z', 'allowed_models: [gpt-4o, openai/*, "*", gtp-4o, opnai/*]');
  t.same(lines(one(text, { ...bare, today: '2030-02-01' }).warnings), [
    'a.yaml:9:17  keys[0].expires_at  the key "ci" has ended, so it is refused; remove the entry, or write a later end',
    `a.yaml:10:45  keys[0].allowed_models[3]  no alias and no provider's model is called "gtp-4o", so the key may use nothing by it; did you mean "gpt-4o"?`,
    `a.yaml:10:53  keys[0].allowed_models[4]  no alias and no provider's model is called "opnai/*", so the key may use nothing by it`,
  ]);
  t.same(lines(one(withKey('expires_at: 2030-01-31T12:00:00Z'), { ...bare, today: '2030-01-31' }).warnings), []);
});

await test('a change says what a key may do more or less', async (t) => {
  const differences = (before: string, after: string): string[] => {
    const [from, to] = [one(before, bare).config, one(after, bare).config];
    if (from === undefined || to === undefined) throw new Error('no configuration');
    const changes = diffConfigs(from, to);
    t.notMatch(JSON.stringify(changes), /5e5e|7a7a/);
    return changes.map(({ words }) => words);
  };
  const plain = withKey('user_path: /ci', 'allowed_models: [gpt-4o]');
  t.same(differences(provider, plain), ['added (loosened): key ci: user path /ci, gpt-4o']);
  t.same(differences(plain, provider), ['removed (tightened): key ci']);
  t.same(differences(plain, withKey('user_path: /ci')), ['loosened: key ci: allowed_models [gpt-4o] → none']);
  const [admin, viewer] = ['', '    role: viewer\n'].map((role) => `${plain}    dashboard_access: true\n${role}`);
  t.same(differences(plain, viewer ?? ''), ['loosened: key ci: role none → viewer']);
  t.same(differences(viewer ?? '', admin ?? ''), ['loosened: key ci: role viewer → admin']);
  t.same(differences(admin ?? '', `${admin}    role: admin\n`), []);
  t.same(differences(plain, plain.replaceAll('5e', '7a')), ['changed: key ci: hash']);
  t.same(differences(plain, `${plain}    enabled: false\n`), ['tightened: key ci: enabled true → false']);
});
