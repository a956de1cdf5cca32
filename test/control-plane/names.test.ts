// Names to fill in a field with: those that an operator may see, and those that match what was typed.
import { test } from 'tap';
import { foundIn, knownNames, type NameKind, type NameSources } from '../../control-plane/admin/names/known-names.ts';
import type { Operator } from '../../control-plane/authenticate.ts';
import type { AuthKey } from '../../domain/keys/auth-key.ts';
import type { MergedRule } from '../../domain/rules/merge.ts';

const key = (id: string, userPath: string | undefined, labels: readonly string[]) =>
  ({ id, name: `key ${id}`, userPath, labels, allowedModels: [] }) as unknown as AuthKey;
const rule = (scope: string, subject: string, name?: string) =>
  ({ id: `r-${subject}`, name, scope, subject, matchSubject: subject, periodSeconds: 60 }) as unknown as MergedRule;

const sources: NameSources = {
  offered: new Map([['openai', ['gpt-4o', 'o3']]]),
  aliases: ['chat'],
  rules: [rule('user_path', '/a', 'small'), rule('user_path', '/b/x'), rule('provider', 'openai')],
  budgets: [
    { scope: 'user_path', subject: '/b' },
    { scope: 'label', subject: 'batch' },
  ],
  keys: [key('1', '/a/app', ['editors']), key('2', '/b', ['apps']), key('3', undefined, [])],
  seenPaths: ['/b/seen', '/c'],
};
const whole = { kind: 'master_key', userPath: '/' } as Operator;
const ofB = {
  kind: 'managed_key',
  userPath: '/b',
  key: { allowedModels: ['openai/o3', 'openai/*'] },
} as unknown as Operator;
const namesFor = (kind: NameKind, operator: Operator): string[] =>
  [...knownNames(kind, sources, operator)].map(({ name }) => name);

await test('an operator is told of what it may see', async (t) => {
  t.same(namesFor('models', whole), ['chat', 'openai/gpt-4o', 'openai/o3']);
  t.same(namesFor('models', ofB), ['openai/o3'], 'those that its key may use');
  t.same([namesFor('providers', whole), namesFor('providers', ofB)], [['openai'], []]);
  t.same(namesFor('user_paths', whole), ['/a/app', '/b', '/a', '/b/x', '/b', '/b/seen', '/c']);
  t.same(namesFor('user_paths', ofB), ['/b', '/b/x', '/b', '/b/seen']);
  t.same([namesFor('labels', whole), namesFor('labels', ofB)], [['editors', 'apps', 'batch'], ['apps']]);
  t.same([namesFor('keys', whole), namesFor('keys', ofB)], [['1', '2', '3'], ['2']]);
  t.same([namesFor('rules', whole), namesFor('rules', ofB)], [['small', 'r-/b/x', 'r-openai'], ['r-/b/x']]);
});

await test('each name comes once, those that begin with the text first, and no more than wanted', async (t) => {
  const found = (search: string, most: number) =>
    foundIn(knownNames('user_paths', sources, whole), search, most).map(({ name }) => name);
  t.same(found('/B', 10), ['/b', '/b/x', '/b/seen']);
  t.same(found('seen', 10), ['/b/seen']);
  t.same(found('', 2), ['/a/app', '/b']);
  t.same(
    foundIn(knownNames('keys', sources, whole), 'key 2', 5).map(({ name }) => name),
    ['2'],
    'a title is looked at, too',
  );
});
