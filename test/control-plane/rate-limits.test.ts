// /admin/rate-limits over real sockets and a real store: answers, refusals, and what operators see.
import { test } from 'tap';
import { rulePrerequisites } from '../support/rule-prerequisites.ts';
import { type Answer, as, beat, find, minute, startPlane, team, teamRule } from './rate-limits-plane.ts';

await test('a rule is listed, put, changed, reset and deleted', async (t) => {
  const plane = await startPlane(t);
  const first = await plane.list();
  t.equal(first.status, 200);
  t.equal(first.etag, '"0"');
  t.same(
    first.items.map(({ subject, source, created_at }) => [subject, source, created_at]),
    ['OpenAI', '/children', '/config'].map((subject) => [subject, 'config', '2026-05-31T23:59:55.000Z']),
  );

  const put = await plane.put({ ...teamRule, reason: 'noisy', expires_at: '2026-06-02T00:00:00Z' });
  t.equal(put.status, 200);
  t.match(find(put, '/team'), {
    source: 'manual',
    reason: 'noisy',
    expires_at: '2026-06-02T00:00:00.000Z',
    updated_by: 'master_key',
    requests_remaining: 5,
  });
  const listed = await plane.list();
  t.strictSame(listed.body, put.body, 'the answer to a write is the listing');
  t.equal(listed.etag, put.etag);
  t.not(put.etag, first.etag);

  plane.at.nowMs += 60_000;
  const again = await plane.put({ ...teamRule, max_requests: 7 }, as('key-9'));
  t.match(find(again, '/team'), {
    max_requests: 7,
    created_at: '2026-06-01T00:00:00.000Z',
    updated_at: '2026-06-01T00:01:00.000Z',
    updated_by: 'key-9',
  });
  t.notOk('reason' in (find(again, '/team') ?? {}));

  const reset = await plane.resetOne({ scope: 'user_path', subject: '/team', period: 'minute' });
  t.equal(reset.status, 200);
  t.strictSame(reset.items, again.items);
  t.equal(reset.etag, again.etag, 'a reset changes no rule');
  const all = await plane.reset({ confirmation: 'reset' });
  t.strictSame(all.body, { status: 'ok' });
  t.equal(all.etag, again.etag);

  const removed = await plane.remove(team);
  t.equal(removed.status, 200);
  t.same(
    removed.items.map(({ subject, source }) => [subject, source]),
    first.items.map(({ subject }) => [subject, 'config']),
  );
  t.strictSame((await plane.list()).body, removed.body);
  t.same(plane.logged, []);
});

await test('each write leaves a line that says who did it, to what, what was in force before and after, and why', async (t) => {
  const plane = await startPlane(t);
  const id = (name: string) => ({ 'x-request-id': name });
  await plane.put({ ...teamRule, reason: 'noisy', expires_at: '2026-06-02T00:00:00Z' }, id('one'));
  await plane.resetOne({ user_path: '/team', period: 'minute' }, { ...id('two'), ...as('key-9') });
  await plane.reset({ confirmation: 'reset' }, id('three'));
  const app = { ...teamRule, user_path: '/team/app' };
  await plane.put(app, { ...id('four'), ...as('key-team') });
  await plane.list(id('five'));
  const override = { user_path: '/config', ...minute };
  await plane.put({ ...override, max_requests: 0, expires_at: '2026-06-02T00:00:00Z' }, id('seven'));
  await plane.remove(override, id('eight'));
  t.equal((await plane.remove({ ...team, user_path: '/gone' }, id('six'))).status, 404);
  t.equal((await plane.put({ ...teamRule, user_path: '/other' }, as('key-team'))).status, 403);
  const route = '/admin/rate-limits';
  const about = 'rule user_path /team minute';
  const rule = { per_child: false, mode: 'enforce' };
  const ours = { expires_at: '2026-06-02T00:00:00.000Z', updated_by: 'master_key' };
  const noisy = { reason: 'noisy', ...ours };
  const manual = { source: 'manual', ...rule, max_requests: 5 };
  const declared = { source: 'config', name: 'declared', ...rule, max_requests: 10 };
  const block = { source: 'manual', name: 'declared', ...rule, max_requests: 0, ...ours };
  const blocked = { operator: 'master_key', method: 'PUT', route, about: 'rule user_path /config minute' };
  t.strictSame(plane.written, [
    {
      operator: 'master_key',
      method: 'PUT',
      route,
      about,
      before: null,
      after: { ...manual, ...noisy },
      ...noisy,
      outcome: 'done',
      request_id: 'one',
    },
    { operator: 'key-9', method: 'POST', route: `${route}/reset-one`, about, outcome: 'done', request_id: 'two' },
    {
      operator: 'master_key',
      method: 'POST',
      route: `${route}/reset`,
      about: 'every rule',
      outcome: 'done',
      request_id: 'three',
    },
    {
      operator: 'key-team',
      method: 'PUT',
      route,
      about: 'rule user_path /team/app minute',
      before: null,
      after: { ...manual, updated_by: 'key-team' },
      updated_by: 'key-team',
      outcome: 'done',
      request_id: 'four',
    },
    { ...blocked, before: declared, after: block, ...ours, outcome: 'done', request_id: 'seven' },
    { ...blocked, method: 'DELETE', before: block, after: declared, outcome: 'done', request_id: 'eight' },
  ]);
});

await test('a user path is listed as it is matched, names as they are written', async (t) => {
  const plane = await startPlane(t);
  await plane.put({ user_path: '  shown//odd/ ', ...minute, max_requests: 5 });
  const { items } = await plane.put({ scope: 'provider', subject: 'oDD', ...minute, max_requests: 5 });
  t.same(
    items.filter(({ source }) => source === 'manual').map(({ subject }) => subject),
    ['oDD', '/shown/odd'],
  );
  const { documents } = await plane.store.read();
  t.match(
    documents.find(({ id }) => id === 'user_path 60 /shown/odd'),
    { body: { subject: '/shown/odd' } },
  );
});

await test('counters come from the heartbeats, and a reset shows at once', async (t) => {
  const plane = await startPlane(t);
  await plane.put({ ...teamRule, max_tokens: 100 });
  await beat(plane, [
    ['user_path 60 /team', 0, 2, 130, 0],
    ['provider 0 openai', 0, 0, 0, 3],
  ]);
  const used = await plane.list();
  t.match(find(used, '/team'), { requests_used: 2, requests_remaining: 3, tokens_used: 130, tokens_remaining: 0 });
  t.match(find(used, 'OpenAI'), { in_flight: 3, requests_remaining: 2 });
  t.match(find(await plane.put(teamRule), '/team'), { requests_used: 2, tokens_used: 0 }, 'a cap edit keeps them');
  const reset = await plane.resetOne({ user_path: '/team', period: 'minute' });
  t.match(find(reset, '/team'), { requests_used: 0, requests_remaining: 5 });
  t.match(find(reset, 'OpenAI'), { in_flight: 3 });
  plane.at.nowMs += 3_000;
  t.match(find(await plane.list(), 'OpenAI'), { in_flight: 0 }, 'a proxy that is silent for 3 s does not count');
});

await test('a rule of the configuration can be overridden but not deleted', async (t) => {
  const plane = await startPlane(t);
  const name = { user_path: '/config', ...minute };
  t.match((await plane.remove(name)).body, { code: 'rate_limit_config_owned', status_code: 409 });
  const put = await plane.put({ ...name, max_requests: 1 });
  t.match(find(put, '/config'), { source: 'manual', overrides_config: true, max_requests: 1, name: 'declared' });
  t.equal(put.items.length, 3);
  const closed = await plane.put({ ...name, max_requests: 1, on_store_loss: 'closed' });
  t.equal(find(closed, '/config')?.['on_store_loss'], 'closed');
  const said = { after: { max_requests: 1, on_store_loss: 'closed' } };
  t.match(plane.written.at(-1), said, 'the line of the change has it');
  const renamed = await plane.put({ ...name, max_requests: 1, name: 'at night' });
  t.match(find(renamed, '/config'), { name: 'at night', id: find(put, '/config')?.['id'] });
  t.match(find(await plane.remove(name), '/config'), { source: 'config', overrides_config: false, max_requests: 10 });
});

await test('refusals change nothing', async (t) => {
  const plane = await startPlane(t, { parts: { prerequisites: () => rulePrerequisites({ hasTemplates: false }) } });
  const { body: before } = await plane.list();
  const refused: [Answer, object][] = [
    [
      await plane.put({ ...teamRule, per_child: true }),
      { status_code: 403, code: 'quota_templates_not_entitled', type: 'permission_error', param: 'per_child' },
    ],
    [
      await plane.put({ ...teamRule, max_requests: '5' }),
      { status_code: 400, code: 'invalid_member', param: 'max_requests' },
    ],
    [await plane.put(undefined), { status_code: 400, code: 'invalid_json' }],
    [await plane.put([]), { status_code: 400, code: 'invalid_json' }],
    [await plane.remove(undefined), { status_code: 400, code: 'invalid_json' }],
    [await plane.remove({ ...team, limit_key: 'minute' }), { status_code: 400, param: 'limit_key' }],
    [await plane.remove(team), { status_code: 404, code: 'rate_limit_not_found', type: 'not_found_error' }],
    [
      await plane.resetOne({ user_path: '/team', period: 'minute' }),
      { status_code: 404, code: 'rate_limit_not_found' },
    ],
    [await plane.reset({ confirmation: 'Reset' }), { status_code: 400, param: 'confirmation' }],
    [await plane.reset({}), { status_code: 400, param: 'confirmation' }],
  ];
  for (const [{ body }, expected] of refused) t.match(body, expected);
  t.strictSame((await plane.list()).body, before);
  t.equal((await plane.store.read()).revision, 0, 'nothing was stored');
  t.match(find(await plane.list(), '/children'), { enforced: false });
});

await test('with rate limits switched off everything can be asked and set, and no rule is enforced', async (t) => {
  const plane = await startPlane(t, { parts: { prerequisites: () => rulePrerequisites({ enabled: false }) } });
  const { status, items } = await plane.put(teamRule);
  t.equal(status, 200);
  t.equal(items.length, 4);
  for (const item of items) t.match(item, { enforced: false, unenforced_reason: 'rate limits are switched off' });
  t.equal((await plane.resetOne({ user_path: '/team', period: 'minute' })).status, 200);
  t.equal((await plane.reset({ confirmation: 'reset' })).status, 200);
  t.equal((await plane.remove(team)).status, 200);
});

await test('a rule that cannot be enforced is kept, and the listing says why', async (t) => {
  const plane = await startPlane(t, { parts: { prerequisites: () => rulePrerequisites({ usageEnabled: false }) } });
  const put = (name: object, caps: object = { max_requests: 5 }) => plane.put({ ...name, ...minute, ...caps });
  await put({ scope: 'provider', subject: 'Azure' }, { max_requests: 5, reason: 'before it is there' });
  await put({ scope: 'model', subject: 'openai/gpt-5' });
  await put({ scope: 'model', subject: 'chat' });
  await put({ user_path: '/tokens' }, { max_tokens: 5 });
  const answer = await put({ user_path: '/both' }, { max_requests: 5, max_tokens: 5 });
  const shown = (subject: string) => {
    const { enforced, unenforced_reason: why, source } = find(answer, subject) ?? {};
    return [source, enforced, why];
  };
  t.same(shown('Azure'), ['manual', false, 'there is no provider "Azure"']);
  t.match(find(answer, 'Azure'), { reason: 'before it is there' }, 'why it was set is another matter');
  t.same(shown('openai/gpt-5'), ['manual', false, 'no provider lists the model "openai/gpt-5"']);
  t.same(shown('chat'), ['manual', false, '"chat" is an alias; limit the models it leads to']);
  t.same(shown('/tokens'), ['manual', false, 'tokens are not counted, because USAGE_ENABLED is false']);
  t.same(shown('/children'), ['config', false, 'tokens are not counted, because USAGE_ENABLED is false']);
  t.match(shown('/both'), ['manual', true, /^max_tokens is not enforced: tokens are not counted/]);
  t.same(shown('/config'), ['config', true, undefined]);
});

await test('a block needs an end, is shown with it, and hides no cap of the configuration', async (t) => {
  const plane = await startPlane(t);
  const name = { user_path: '/config', ...minute };
  t.match((await plane.put({ ...name, max_requests: 0 })).body, { status_code: 400, param: 'max_requests' });
  const expires_at = '2026-06-01T08:00:00.000Z';
  const put = await plane.put({ ...name, max_requests: 0, expires_at });
  t.match(find(put, '/config'), { max_requests: 0, requests_remaining: 0, expires_at, enforced: true });
  const tokens = await plane.put({ user_path: '/config', ...minute, max_tokens: 0, expires_at });
  t.match(find(tokens, '/config'), { max_requests: 10, max_tokens: 0, overrides_config: true });
});

await test('operators see and change what is theirs', async (t) => {
  const plane = await startPlane(t);
  await plane.put(teamRule);
  t.equal((await plane.list(as('wrong'))).status, 401);
  t.match((await plane.list(as('key-client'))).body, { status_code: 403, code: 'dashboard_access_denied' });
  t.equal((await plane.list(as('key-9'))).items.length, 4);

  const scoped = as('key-team');
  const listed = await plane.list(scoped);
  t.same(
    listed.items.map(({ subject }) => subject),
    ['/team'],
    'rules of the own path only',
  );
  const below = { user_path: '/team/app', ...minute };
  const put = await plane.put({ ...below, max_requests: 1 }, scoped);
  t.same(
    put.items.map(({ subject, updated_by }) => [subject, updated_by]),
    [
      ['/team', 'master_key'],
      ['/team/app', 'key-team'],
    ],
  );
  t.match((await plane.put({ user_path: '/team', ...minute, max_requests: 9_999 }, scoped)).body, {
    status_code: 403,
    code: 'admin_scope_denied',
  });
  t.match((await plane.remove({ user_path: '/team', ...minute }, scoped)).body, { code: 'admin_scope_denied' });
  const own = await plane.resetOne({ user_path: '/team', period: 'minute' }, scoped);
  t.match(own.body, { status_code: 403, code: 'admin_scope_denied' }, 'nor are the counters of the own path theirs');
  t.equal((await plane.resetOne({ user_path: '/team/app', period: 'minute' }, scoped)).status, 200);
  t.equal((await plane.remove(below, scoped)).status, 200);
  const { revision } = await plane.store.read();
  for (const name of [{ user_path: '/' }, { user_path: '/team-2' }, { scope: 'provider', subject: 'OpenAI' }]) {
    const { body } = await plane.put({ ...name, ...minute, max_requests: 1 }, scoped);
    t.match(body, { status_code: 403, code: 'admin_scope_denied' });
  }
  t.match((await plane.remove({ user_path: '/config', ...minute }, scoped)).body, { code: 'rate_limit_not_found' });
  const others = await plane.resetOne({ user_path: '/config', period: 'minute' }, scoped);
  t.match(others.body, { code: 'rate_limit_not_found' });
  const all = await plane.reset({ confirmation: 'reset' }, scoped);
  t.match(all.body, { status_code: 403, code: 'admin_scope_denied' });
  t.equal((await plane.store.read()).revision, revision, 'nothing of others was changed');
});
