// What changed between two configurations: looser and tighter limits, other entries, and never a secret.
import { test } from 'tap';
import type { AssembledConfig } from '../../gitops/assemble/assembled.ts';
import { diffConfigs } from '../../gitops/diff/diff.ts';
import { entitled, one } from './load-fixtures.ts';

const config = (text: string, variables: Record<string, string> = {}): AssembledConfig => {
  const { config: loaded, problems } = one(text, { ...entitled, environment: variables });
  if (loaded === undefined) throw new Error(problems.map(({ message }) => message).join());
  return loaded;
};
const rules = (limits: string, entry = 'path: /team'): AssembledConfig =>
  config(`rate_limits: { user_paths: [{ ${entry}, limits: [${limits}] }] }\n`);
const words = (before: AssembledConfig, after: AssembledConfig): string[] =>
  diffConfigs(before, after).map(({ words: said }) => said);

await test('a rule is loosened or tightened, or changed where its caps move in opposite directions', async (t) => {
  const cases: [from: string, to: string, said: string][] = [
    ['max_requests: 60', 'max_requests: 600', 'loosened: rule user_path /team minute: max_requests 60 → 600'],
    ['max_requests: 60', 'max_requests: 6', 'tightened: rule user_path /team minute: max_requests 60 → 6'],
    [
      'max_requests: 60, max_tokens: 9',
      'max_requests: 60',
      'loosened: rule user_path /team minute: max_tokens 9 → none',
    ],
    [
      'max_requests: 60',
      'max_requests: 60, max_tokens: 9',
      'tightened: rule user_path /team minute: max_tokens none → 9',
    ],
    [
      'max_requests: 60, max_tokens: 9',
      'max_requests: 70, max_tokens: 8',
      'changed: rule user_path /team minute: max_requests 60 → 70, max_tokens 9 → 8',
    ],
    [
      'max_requests: 60',
      'max_requests: 6, mode: shadow',
      'loosened: rule user_path /team minute: max_requests 60 → 6, mode enforce → shadow',
    ],
    [
      'max_requests: 6, mode: shadow',
      'max_requests: 60',
      'tightened: rule user_path /team minute: max_requests 6 → 60, mode shadow → enforce',
    ],
    [
      'max_requests: 60',
      'max_requests: 60, on_store_loss: closed',
      'tightened: rule user_path /team minute: on_store_loss none → closed',
    ],
    [
      'max_requests: 60, on_store_loss: share',
      'max_requests: 60, on_store_loss: open',
      'loosened: rule user_path /team minute: on_store_loss share → open',
    ],
    [
      'max_requests: 60, on_store_loss: share',
      'max_requests: 60',
      'changed: rule user_path /team minute: on_store_loss share → none',
    ],
    [
      'max_requests: 60, mode: shadow',
      'max_requests: 600, mode: shadow',
      'changed: rule user_path /team minute: max_requests 60 → 600',
    ],
  ];
  const limit = (caps: string): AssembledConfig => rules(`{ period: minute, ${caps} }`);
  for (const [from, to, said] of cases) t.same(words(limit(from), limit(to)), [said]);
  const concurrent = [60, 70].map((cap) => rules(`{ period: concurrent, max_requests: ${cap} }`));
  t.match(words(concurrent[0] ?? limit(''), concurrent[1] ?? limit('')), [/^loosened: .*concurrent: max_requests 60/]);
});

await test('counters for each child are looser than one for all, with the same or a higher cap', async (t) => {
  const shared = (cap: number): AssembledConfig => rules(`{ period: minute, max_requests: ${cap} }`);
  const child = (cap: number): AssembledConfig =>
    rules(`{ period: minute, max_requests: ${cap} }`, 'path: /team, per_child: true');
  const verbs = (from: AssembledConfig, to: AssembledConfig): string[] =>
    diffConfigs(from, to).map(({ change }) => change);
  t.same(verbs(shared(60), child(60)), ['loosened']);
  t.same(verbs(shared(60), child(70)), ['loosened']);
  t.same(verbs(shared(60), child(6)), ['changed']);
  t.same(verbs(child(60), shared(60)), ['tightened']);
  t.same(verbs(child(60), shared(600)), ['changed']);
});

await test('a rule that comes or goes has an effect, unless it is in shadow', async (t) => {
  const minute = '{ period: minute, max_requests: 5 }';
  const changes = diffConfigs(rules(minute), rules('{ period: hour, max_requests: 5, mode: shadow }'));
  t.match(changes, [
    { kind: 'rule', name: 'user_path /team hour', change: 'added', effect: undefined, before: undefined },
    { change: 'removed', effect: 'loosened', before: { max_requests: 5, mode: 'enforce' }, after: undefined },
  ]);
  t.match(words(config('{}'), rules(minute)), ['added (tightened): rule user_path /team minute: max_requests 5']);
  t.match(words(rules(minute), config('rate_limits: { enabled: false }')), [
    'removed (loosened): rule user_path /team minute: max_requests 5',
    'loosened: setting rate_limits.enabled: true → false',
  ]);
});

await test('another spelling of the same configuration is no change', async (t) => {
  const before = config(
    'providers: { a: { type: openai, models: [m] } }\nrate_limits: { models: [{ model: A/m, limits: [{ period: minute, max_requests: 5 }] }], user_paths: [{ path: /b, limits: [{ max_requests: 1, period: day }] }, { path: /a, limits: [{ period: day, max_requests: 1 }] }] }\n',
  );
  const after = config(
    'providers: { a: { models: [m], type: openai } }\nrate_limits: { models: [{ model: a/M, limits: [{ max_requests: 5, period_seconds: 60 }] }], user_paths: [{ path: a/, limits: [{ period: day, max_requests: 1 }] }, { path: /b, limits: [{ period: day, max_requests: 1 }] }] }\n',
  );
  t.same(diffConfigs(before, after), []);
});

await test('an entry in another place is no change, and the file of a key is named without its path', async (t) => {
  const kept = (text: string): AssembledConfig =>
    one(text, { ...entitled, variables: 'keep' }).config ?? config('no configuration');
  const provider = (path: string): string => `providers: { a: { type: openai, models: [m], api_key_file: ${path} } }\n`;
  t.same(diffConfigs(kept(provider('/run/key')), kept(`\n\n${provider('/run/key')}`)), []);
  t.same(words(kept(provider('/run/key')), kept(provider('/run/other'))), ['changed: provider a: api_key_file']);
});

await test('aliases, providers and settings say what changed in them', async (t) => {
  const file = (openai: string, aliases: string, more = ''): AssembledConfig =>
    config(
      `providers: { openai: { type: openai, ${openai} }, z: { type: openai, models: [m] } }\naliases: [${aliases}]\n${more}`,
    );
  const before = file('models: [a, b]', '{ source: x, target: z/m }, { source: gone, target: z/m }');
  const after = file(
    'models: [a, c], timeouts: { total: 5m }',
    '{ source: x, targets: [{ model: z/m, weight: 3 }, { model: openai/a }] }, { source: new, target: z/m }',
    'server: { body_limit: 8MiB }\nrate_limits: { max_children: 5, reserve_tokens: p50, on_store_loss: closed, scope: fleet }\n',
  );
  t.same(words(before, after), [
    'changed: provider openai: models +c, -b, timeouts.total 60m → 5m',
    'removed: alias gone',
    'added: alias new: z/m',
    'changed: alias x: z/m → z/m (weight 3), openai/a (weight 1)',
    'changed: setting rate_limits.max_children: 100000 → 5',
    'tightened: setting rate_limits.on_store_loss: share → closed',
    'loosened: setting rate_limits.reserve_tokens: p90 → p50',
    'changed: setting rate_limits.scope: none → fleet',
    'tightened: setting server.body_limit: 32MiB → 8MiB',
  ]);
  const scope = (of: string): AssembledConfig => config(`rate_limits: { scope: ${of} }`);
  t.same(words(scope('fleet'), scope('replica')), ['loosened: setting rate_limits.scope: fleet → replica']);
  const [first, second] = ['a', 'b'].map((name) => `${name}: { type: openai, models: [m] }`);
  t.same(words(config(`providers: { ${first}, ${second} }`), config(`providers: { ${second}, ${first} }`)), [
    'changed: setting order of providers: a, b → b, a',
  ]);
});

await test('settings of aliases and prices of models are told', async (t) => {
  const file = (models: string, alias: string): AssembledConfig =>
    config(`providers: { z: { type: openai, models: [${models}] } }\naliases: [{ source: x, target: m, ${alias} }]\n`);
  const before = file('m', 'enabled: true');
  const after = file(
    '{ id: m, pricing: { input_per_mtok: 1, output_per_mtok: 2 } }',
    'enabled: false, strategy: cost, user_paths: [a], retry: { attempts: 1 }',
  );
  t.same(words(before, after), [
    'changed: provider z: models +{id:m,pricing:{input_per_mtok:1,output_per_mtok:2}}, -m',
    'tightened: alias x: enabled true → false, retry.attempts none → 1, retry.on none → ' +
      '[unreachable,timeout,rate_limit,server_error,invalid_answer,context_length,account,model_gone], ' +
      'strategy round_robin → cost, user_paths none → [/a]',
  ]);
});

await test('no value that may be a secret is in a change', async (t) => {
  const text = `providers: { a: { type: openai, models: [m], base_url: "https://\${K}.example", api_key: "\${K}", headers: { X-A: "\${K}", X-B: b } } }\n`;
  const [before, after] = [config(text, { K: 'canary-1' }), config(text, { K: 'canary-2' })];
  const changes = [
    ...diffConfigs(before, after),
    ...diffConfigs(config('{}'), after),
    ...diffConfigs(before, config('{}')),
  ];
  t.equal(changes[0]?.words, 'changed: provider a: api_key, base_url, headers');
  t.equal(changes.length, 3);
  t.notMatch(JSON.stringify(changes), /canary/);
});

await test('a secret in the place of its file is in no difference', (t) => {
  const signIn = (file: string): AssembledConfig =>
    config(
      `identities: { a.b: { issuer: "https://login.example.com", audience: a, user_path: "/{sub}", sign_in: { client_id: g, public_url: "https://g.example.com", client_secret_file: ${file} } } }\n`,
    );
  const changes = diffConfigs(signIn('canary-one'), signIn('canary-two'));
  t.match(changes, [{ words: 'changed: setting identities.a.b.sign_in.client_secret_file' }]);
  t.notMatch(JSON.stringify(changes), /canary/);
  t.end();
});
