// The differences between two states of the files, value by value; no secret is in them, wherever it stands.
import { test } from 'tap';
import { diffFiles } from '../../gitops/diff/diff-files.ts';

const fileOf = (text: string, name: string = 'a.yaml') => ({ name, path: `config/${name}`, bytes: Buffer.from(text) });
const diff = (before: string, after: string) => diffFiles([fileOf(before)], [fileOf(after)])[0]?.values;

await test('equal configurations have no differences', async (t) => {
  t.same(diffFiles([fileOf('a: 1')], [fileOf('a: 1')]), []);
  t.same(diffFiles([fileOf('a: 1')], [fileOf('a: 1 # why')]), [{ file: 'a.yaml', change: 'changed', values: [] }]);
});

await test('a value has its place in words, its line on disk, and both sides', async (t) => {
  const rules = (limits: string[], path = '/team'): string =>
    ['rate_limits:', '  user_paths:', `    - path: ${path}`, '      limits:', ...limits].join('\n');
  const at = 'rate_limits.user_paths[/team].limits';
  const minute = '        - { period: minute, max_requests: 60 }';
  const hour = '        - { period: hour, max_requests: 9 }';
  t.same(diff(rules([minute]), rules([hour, minute.replace('60', 'sixty')])), [
    { path: `${at}[minute].max_requests`, change: 'changed', line: 6, before: '60', after: '"sixty"' },
    { path: `${at}[hour].period`, change: 'added', line: 5, after: '"hour"' },
    { path: `${at}[hour].max_requests`, change: 'added', line: 5, after: '9' },
  ]);
  t.match(diff(rules([minute, hour]), rules([hour, minute])), [], 'the order of named entries says nothing');
  t.match(diff(rules([minute, minute]), rules([minute])), [{ path: `${at}[minute #2].period`, change: 'removed' }, {}]);
  t.same(diff('server: { a: [1, 2] }', 'server: {}'), [
    { path: 'server.a', change: 'removed', before: '[1,2]' },
    { path: 'server', change: 'added', line: 1, after: '{}' },
  ]);
});

await test('files come and go, and one that is no YAML is named alone', async (t) => {
  const [kept, gone] = [fileOf('a: 1', 'kept.yaml'), fileOf('b: 1', 'gone.yaml')];
  t.match(diffFiles([kept, gone], [fileOf('a: [', 'kept.yaml'), fileOf('c: 1', 'new.yaml')]), [
    { file: 'gone.yaml', change: 'removed', values: [{ path: 'b', change: 'removed' }] },
    { file: 'kept.yaml', change: 'changed', uncompared: 'not_yaml', values: undefined },
    { file: 'new.yaml', change: 'added', values: [{ path: 'c', change: 'added', line: 1, after: '1' }] },
  ]);
  const long = fileOf(`a: "${'x'.repeat(600_000)}"`);
  t.match(diffFiles([fileOf('a: 1')], [long]), [{ change: 'changed', uncompared: 'too_large' }]);
});

await test('a secret is not shown, also where it stands by mistake', async (t) => {
  const canary = 'sk-canary-0123456789abcdef';
  const plain = 'canary-without-a-form';
  const texts = [
    `providers: { p: { type: openai, api_key: ${plain} } }`,
    `providers: { p: { base_url: "https://u:${plain}@host/v1" } }`,
    `providers: { p: { headers: { x: ${plain} } } }`,
    `providers: { p: { apikey: ${plain} } }`,
    `providers: { p: { type: ${canary} } }`,
    `providers: { p: { models: [${canary}] } }`,
    `provider: { p: { type: ${plain} } }`,
    `api_key: ${plain}`,
    `server: { password: ${plain} }`,
    `aliases: [{ source: ${canary}, target: x }]`,
    `guardrails: [{ name: a, webhook: { url: "https://${plain}", headers: { a: ${plain} } } }]`,
    `guardrails: [{ name: a, system_prompt: { text: ${plain} } }]`,
    `${canary}: 1`,
  ];
  for (const text of texts) {
    const said = JSON.stringify([diff('a: 1', text), diff(text, 'a: 1')]);
    t.notMatch(said, /canary/, text);
    t.match(said, /"change":"added"/, 'that there is something is said');
  }
  t.match(diff('a: 1', 'providers: { p: { type: openai } }'), [{}, { after: '"openai"' }]);
});
