// Writes of operators in the audit log: the process records who changed what from which state to which, and what was refused.
import { writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { t as suite, test } from 'tap';
import { digestOf } from '../../domain/keys/secret.ts';
import type { AuditEntry } from '../../domain/records/audit-entry.ts';
import { startProcess } from '../support/process.ts';
import { openRecordObjects } from '../support/record-objects.ts';
import { temporaryDirectory } from '../support/teardown.ts';
import { waitFor } from '../support/wait-for.ts';

const masterKey = 'sk-test-master-key-0123456789';
const home = temporaryDirectory(suite);
const data = join(home, 'data');

const configure = (audit: string): void =>
  writeFileSync(
    join(home, 'gateway.yaml'),
    `audit: ${audit}\nrate_limits: {user_paths: [{path: /team, limits: [{period: day, max_requests: 9}]}]}\n`,
  );
configure('{sample: 0}');

const plane = await startProcess({
  t: suite,
  entry: 'control-plane/main.ts',
  env: {
    GATEWAY_ADMIN_PORT: '0',
    GATEWAY_MASTER_KEY: masterKey,
    GATEWAY_CONFIG: home,
    GATEWAY_DATA: data,
  },
});
const store = openRecordObjects({ directory: data });
suite.teardown(() => store.close());

interface Answer {
  readonly status: number;
  readonly id: string;
  readonly body: Record<string, unknown>;
}

async function ask(method: string, path: string, body: object | undefined, key: string = masterKey): Promise<Answer> {
  const response = await fetch(`${plane.address}/admin${path}`, {
    method,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', 'user-agent': 'operator/1' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  return {
    status: response.status,
    id: response.headers.get('x-request-id') ?? '',
    body: text === '' ? {} : (JSON.parse(text) as Record<string, unknown>),
  };
}

/** Everything that is recorded of it. */
async function recordOf({ id }: Answer): Promise<AuditEntry> {
  const found = await waitFor('the record', async () => {
    const { entries } = await store.entries({ search: id }, everything).catch(() => ({ entries: [] }));
    return entries.length > 0 && entries;
  });
  const entry = await store.entry(found[0]?.id ?? '');
  if (found.length > 1 || entry === undefined) throw new Error(`${found.length} records of one request`);
  return entry;
}

const everything = { limit: 100, offset: 0 };
const rule = { user_path: '/team', limit_key: { period: 'day' } };
const put = (most: number): Promise<Answer> =>
  ask('PUT', '/rate-limits', { ...rule, max_requests: most, reason: 'a launch' });

await test('a rule over one of the configuration, and a key: from what to what, by whom, and no secret', async (t) => {
  const overridden = await put(5);
  const removed = await ask('DELETE', '/rate-limits', rule);
  const reset = await ask('POST', '/rate-limits/reset', { confirmation: 'reset' });
  const draft = { name: 'dashboard', user_path: '/team', dashboard_access: true };
  const issued = await ask('POST', '/auth-keys', draft);
  const [id, secret] = [String(issued.body['id']), String(issued.body['value'])];
  const labelled = await waitFor('the key to be in force', async () => {
    const answer = await ask('PUT', `/auth-keys/${id}/labels`, { labels: ['blue'] }, secret);
    return answer.status === 200 && answer;
  });
  const denied = await ask('POST', '/rate-limits/reset', { confirmation: 'reset' }, secret);
  const closed = await ask('POST', `/auth-keys/${id}/deactivate`, undefined);
  const invalid = await ask('PUT', '/rate-limits', { ...rule, max_requests: 'many' });
  t.equal((await ask('GET', '/rate-limits', undefined)).status, 200, 'reading is no write');

  const whole = await recordOf(overridden);
  t.match(whole, {
    request_id: overridden.id,
    method: 'PUT',
    path: '/admin/rate-limits',
    status_code: 200,
    stream: false,
    user_path: '/',
    auth_method: 'master_key',
    client_ip: '127.0.0.1',
    data: { event_type: 'admin_write', user_agent: 'operator/1', instance: `${hostname()}:0`, config_revision: /./ },
  });
  t.ok(whole.duration_ns > 0 && whole.duration_ns < 60e9);
  const before = { source: 'config', max_requests: 9 };
  const after = { source: 'manual', max_requests: 5, reason: 'a launch', updated_by: 'master_key' };
  t.match(whole.data.request_body, { about: /\/team/, before, after });
  t.match((await recordOf(removed)).data.request_body, { before: after, after: before });
  t.same((await recordOf(reset)).data.request_body, { about: 'every rule' }, 'counters alone');

  const made = await recordOf(issued);
  t.match(made, {
    status_code: 201,
    data: { request_body: { about: id, before: null, after: { ...draft, active: true } } },
  });
  const byKey = { user_path: '/team', auth_method: 'api_key', auth_key_id: id };
  t.match(await recordOf(labelled), { ...byKey, data: { request_body: { after: { labels: ['blue'] } } } });
  const refused = await recordOf(denied);
  t.match(refused, { ...byKey, status_code: 403, error_type: 'permission_error' });
  t.match(refused.data, {
    event_type: 'admin_write',
    error_code: 'admin_scope_denied',
    error_message: /whole gateway/,
  });
  t.notOk('request_body' in refused.data, 'nothing was changed');
  t.match(await recordOf(closed), { data: { request_body: { before: { active: true }, after: { active: false } } } });
  t.match(await recordOf(invalid), {
    status_code: 400,
    data: { error_code: 'invalid_member', error_message: /max_requests/ },
  });

  const { entries } = await store.entries({}, everything);
  const said = JSON.stringify(await Promise.all(entries.map((each) => store.entry(each.id))));
  for (const part of [secret, digestOf(secret), 'redacted_value', masterKey]) t.notOk(said.includes(part));
});

await test('nothing is recorded while the audit log is off, nor of a login that fails', async (t) => {
  const applied = (): number => plane.logs().filter(({ msg }) => msg === 'config applied').length;
  const configured = async (audit: string): Promise<void> => {
    const count = applied();
    configure(audit);
    await waitFor('the configuration', () => applied() > count);
  };
  await configured('{enabled: false}');
  t.equal((await put(6)).status, 200);
  await configured('{}');
  t.equal((await ask('PUT', '/rate-limits', rule, 'sk-gw-unknown')).status, 401);
  t.match((await recordOf(await put(7))).data.request_body, {
    before: { max_requests: 6 },
    after: { max_requests: 7 },
  });
  // Records keep their order, so what came before would be there.
  const { entries } = await store.entries({ method: 'PUT', path: '/rate-limits' }, everything);
  t.same(
    entries.map(({ status_code }) => status_code),
    [200, 400, 200],
  );
});
