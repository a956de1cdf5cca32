// Guardrails that operators set, through the admin API of a fleet: in force on every proxy, listed with what they have said, and tried.
import { t as suite, test } from 'tap';
import { componentProblems } from '../support/api-description.ts';
import { startFakeUpstream } from '../support/fake-upstream.ts';
import { shareFleet } from '../support/shared.ts';
import { waitFor } from '../support/wait-for.ts';

interface Row {
  readonly name: string;
  readonly verdicts: readonly { readonly outcome: string; readonly count: number }[];
}
interface Said {
  readonly status: number;
  readonly body: Record<string, unknown> & { readonly guardrails?: readonly Row[] };
}

const upstream = await startFakeUpstream({ t: suite });
const guardrails = [
  { name: 'mask', pii: { kinds: ['email'], action: 'redact' } },
  { name: 'names', order: 10, keywords: { words: ['Bluebird'], action: 'block' } },
  {
    name: 'service',
    order: 20,
    mode: 'shadow',
    webhook: { url: 'http://127.0.0.1:9/secret-path', secret: 'canary-1', headers: { 'X-Key': 'canary-2' } },
  },
];
const fleet = await shareFleet({
  store: 'redis',
  upstream,
  files: { 'guardrails.yaml': { guardrails } },
});

const send = async (method: string, path: string, body?: object, { at = 0, headers = {} } = {}): Promise<Said> => {
  const init = { method, headers, ...(body === undefined ? {} : { body }) };
  const response = await fleet.proxies[at]?.fetch(path, init);
  if (response === undefined) throw new Error('there is no such proxy');
  const text = await response.text();
  return { status: response.status, body: text === '' ? {} : (JSON.parse(text) as Said['body']) };
};
const admin = (method: string, body?: object, at = 0) => send(method, '/admin/guardrails', body, { at });
const attempt = (body: object, at = 0) => send('POST', '/admin/guardrails/test', body, { at });
const ask = async (content: string, at = 0): Promise<number> => {
  const body = { model: `fake/${upstream.models[0]}`, messages: [{ role: 'user', content }] };
  return (await send('POST', '/v1/chat/completions', body, { at })).status;
};
const rowOf = ({ body }: Said, name: string): Row | undefined => body.guardrails?.find((row) => row.name === name);

await test('the configuration is listed in order, without a secret', async (t) => {
  const listed = await admin('GET');
  t.same(componentProblems('Guardrails', listed.body), []);
  t.match(listed.body.guardrails, [
    { name: 'mask', kind: 'pii', on: ['input'], source: 'config', declared_at: /^guardrails\.yaml:\d+$/, verdicts: [] },
    { name: 'names', kind: 'keywords', order: 10, settings: { words: ['Bluebird'], action: 'block' } },
    { name: 'service', mode: 'shadow', settings: { origin: 'http://127.0.0.1:9', fail: 'closed' } },
  ]);
  t.notMatch(JSON.stringify(listed.body), /canary|secret-path/);
});

await test('what an operator sets holds on every proxy, overrides the configuration, and is gone when it is deleted', async (t) => {
  const put = await admin('PUT', { name: 'words', keywords: { words: ['Redwood'], action: 'block' } });
  t.equal(put.status, 200);
  t.match(rowOf(put, 'words'), { source: 'manual', overrides_config: false, updated_by: 'master_key' });
  await fleet.settle();
  for (const at of [0, 1])
    t.same([await ask('Redwood', at), await ask('Bluebird', at), await ask('Oak', at)], [400, 400, 200]);
  const override = await admin(
    'PUT',
    { name: 'names', order: -5, mode: 'shadow', keywords: { words: ['Bluebird'], action: 'block' } },
    1,
  );
  t.match(override.body.guardrails?.[0], { name: 'names', overrides_config: true, source: 'manual', mode: 'shadow' });
  await fleet.settle();
  t.equal(await ask('Bluebird'), 200);
  t.match((await admin('DELETE', { name: 'words' })).status, 200);
  t.match((await admin('DELETE', { name: 'names' })).body.guardrails?.[1], {
    name: 'names',
    source: 'config',
    order: 10,
  });
  await fleet.settle();
  t.same([await ask('Redwood'), await ask('Bluebird')], [200, 400]);
});

await test('the form of answers is set where the configuration has none, and holds on every proxy', async (t) => {
  const form = { type: 'object', required: ['label'] };
  t.equal((await admin('PUT', { name: 'form', schema: { schema: form } })).status, 200);
  await fleet.settle();
  for (const at of [0, 1]) {
    const { body } = await attempt({ phase: 'output', text: 'no JSON' }, at);
    t.match(body, { refused: { reason: /^form / } });
  }
  const wrong = await admin('PUT', { name: 'form', schema: { schema: { type: 'wish' } } });
  t.match([wrong.status, wrong.body], [400, { param: 'schema.schema.type' }]);
  t.equal((await admin('DELETE', { name: 'form' })).status, 200);
  await fleet.settle();
});

await test('verdicts of all proxies are added up', async (t) => {
  for (const at of [0, 1]) await ask('Bluebird', at);
  const blocks = async (): Promise<number> => {
    const { verdicts = [] } = rowOf(await admin('GET'), 'names') ?? {};
    return verdicts.find(({ outcome }) => outcome === 'block')?.count ?? 0;
  };
  await waitFor('both to have told', async () => (await blocks()) >= 5);
  t.equal(await blocks(), 5, 'three of the test before, and one each');
});

await test('a text and a body are tried, and nothing is sent, counted or recorded', async (t) => {
  const before = upstream.ledger.length;
  const said = await attempt({ text: 'Write to ann@example.com about Oak' });
  t.same(componentProblems('GuardrailVerdicts', said.body), []);
  t.match(said.body, {
    refused: null,
    text: 'Write to [redacted] about Oak',
    verdicts: [
      { name: 'mask', outcome: 'revise', reason: 'email' },
      { name: 'names', outcome: 'pass' },
      { name: 'service', kind: 'webhook', outcome: 'not_asked' },
    ],
    revisions: [
      { rewriter: 'mask', no_change: false },
      { rewriter: 'names', no_change: true },
    ],
  });
  const blocked = await attempt({ text: 'ann@example.com: Bluebird' }, 1);
  t.same(componentProblems('GuardrailVerdicts', blocked.body), []);
  t.match(blocked.body, { refused: { code: 'guardrail_blocked', reason: 'names (keyword)' }, text: undefined });
  const messages = [{ role: 'user', content: 'ann@example.com' }];
  const body = { model: 'none', max_tokens: 5, messages };
  t.match((await attempt({ endpoint: '/v1/messages', body })).body, {
    model: 'none',
    body: { max_tokens: 5, messages: [{ content: '[redacted]' }] },
  });
  t.match((await attempt({ phase: 'output', text: 'Bluebird' })).body, { verdicts: [], text: 'Bluebird' });
  t.equal(upstream.ledger.length, before);
});

await test('what cannot be is refused by the name of its member', async (t) => {
  const rows: [body: object, param: string][] = [
    [{ name: 'a' }, ''],
    [{ name: 'a b', pii: { kinds: ['email'], action: 'block' } }, 'name'],
    [{ name: 'a', pii: { kinds: ['email'], action: 'wish' } }, 'pii.action'],
    [{ name: 'a', regex: { patterns: ['x', '(?=x)'], action: 'block' } }, 'regex.patterns[1]'],
    [{ name: 'a', limits: { max_tools: 1 }, on: ['output'] }, 'on[0]'],
    [{ name: 'a', user_paths: ['/a/../b'], pii: { kinds: ['email'], action: 'block' } }, 'user_paths'],
    [{ name: 'a', webhook: { url: 'https://guard.example', secret: 'canary' } }, 'webhook.secret'],
    [{ name: 'a', webhook: { url: 'https://\u0024{HOST}' } }, 'webhook.url'],
    [
      {
        name: 'a',
        keywords: {
          words: ['x'.repeat(200)].concat(Array.from({ length: 2000 }, (_, i) => `word ${i}`)),
          action: 'block',
        },
      },
      'name',
    ],
  ];
  for (const [body, param] of rows) {
    const { body: said } = await admin('PUT', body);
    t.match(
      said,
      { status_code: 400, code: 'invalid_member', ...(param === '' ? {} : { param }) },
      JSON.stringify(body).slice(0, 120),
    );
    t.notMatch(JSON.stringify(said), /canary/);
  }
  t.match((await admin('DELETE', { name: 'nobody' })).body, { status_code: 404, code: 'guardrail_not_found' });
  t.match((await admin('DELETE', { name: 'mask' })).body, {
    status_code: 409,
    code: 'guardrail_config_owned',
    message: /guardrails\.yaml:/,
  });
  for (const [body, param] of [
    [{}, 'text'],
    [{ text: 'a', body: {} }, 'text'],
    [{ text: 1 }, 'text'],
    [{ text: 'a', phase: 'both' }, 'phase'],
    [{ text: 'a', user_path: '/a/../b' }, 'user_path'],
    [{ text: 'a', wish: 1 }, 'wish'],
  ] as const)
    t.match((await attempt(body)).body, { status_code: 400, param }, JSON.stringify(body));
  t.equal((await send('GET', '/admin/guardrails/test')).status, 405);
  const direct = await fleet.admin('/admin/guardrails/test', { method: 'POST', body: { text: 'a' } });
  t.match(await direct.json(), { code: 'answered_by_proxies' });
});

await test('an operator of a user path has no access', async (t) => {
  const draft = { name: 'lead', user_path: '/team', dashboard_access: true };
  const { body } = await send('POST', '/admin/auth-keys', draft);
  await fleet.settle();
  const headers = { authorization: `Bearer ${String(body['value'])}` };
  for (const [method, path] of [
    ['GET', '/admin/guardrails'],
    ['POST', '/admin/guardrails/test'],
  ] as const) {
    const said = await send(method, path, method === 'POST' ? { text: 'a' } : undefined, { headers });
    t.match(said.body, { status_code: 403, code: 'admin_scope_denied' }, path);
  }
});
