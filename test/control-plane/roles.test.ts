// What each role may do at each route, in the whole gateway and in a subtree: every cell, against docs/roles.md.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Test, test } from 'tap';
import { managedKeys } from '../../domain/documents/kinds.ts';
import { written } from '../../domain/documents/managed-kind.ts';
import { mayDo, type Role, roles } from '../../domain/keys/role.ts';
import { adminRights } from '../../schemas/admin-rights.ts';
import { openRecordStore } from '../../store/records/open-records.ts';
import type { StateStore } from '../../store/state/state-store.ts';
import { masterKey, startAdmin } from '../schemas/served-admin.ts';
import { sampleKey } from '../support/managed-state.ts';
import { recordObjects } from '../support/record-objects.ts';
import { temporaryDirectory } from '../support/teardown.ts';
import { record } from './records-plane.ts';
import { type Case, cases, type Outcome, pathOf, places, type Thing } from './roles-cases.ts';

const page = readFileSync(join(import.meta.dirname, '../../docs/roles.md'), 'utf8');

/** What the page says of each route: role and reach. */
const told = new Map(
  [...page.matchAll(/^- `(\w+)`, (\w+): ((?:`[A-Z]+ \/admin[^`]*`,?\s*)+)/gm)].flatMap(([, role, reach, routes = '']) =>
    [...routes.matchAll(/`([^`]+)`/g)].map(
      ([, route = '']) => [route, { role: role as Role, reach: String(reach) }] as const,
    ),
  ),
);

/** Routes that ask nobody who they are. */
const open = [
  'GET /health',
  'GET /health/ready',
  'GET /metrics',
  'POST /admin/session',
  'GET /admin/sign-in',
  'POST /admin/sign-in',
  'GET /admin/sign-in/:identity/callback',
];

const things: readonly Thing[] = places.map((place, index) => ({
  place,
  path: pathOf[place],
  mark: `mark-${place}`,
  amount: 1001 + index,
  keyId: `00000000-0000-4000-8000-00000000000${index}`,
  entryId: `01960c5e-7a31-7c4e-9d52-00000000000${index}`,
}));

interface Asker {
  readonly role: Role;
  readonly isScoped: boolean;
  readonly secret: string;
}

const askers: readonly Asker[] = roles.flatMap((role) =>
  [false, true].map((isScoped) => ({ role, isScoped, secret: `${role}${isScoped ? '-team' : ''}` })),
);

/** A control plane with the keys of all askers, and for each place a key, a limit, a budget and a request of today. */
async function startWorld(t: Test) {
  const ofAskers = askers.map(({ role, isScoped, secret }) =>
    sampleKey(secret, { name: secret, role, userPath: isScoped ? '/team' : undefined }),
  );
  const records = openRecordStore({ directory: temporaryDirectory(t), timeoutMs: 5_000 });
  const plane = await startAdmin(t, { keys: ofAskers, records });
  t.teardown(() => records.close());
  const ofThings = things.map(({ keyId: id, path, mark }) =>
    sampleKey(mark, { id, name: mark, labels: [mark], userPath: path }),
  );
  const changes = [...ofAskers, ...ofThings].map((key) => written(managedKeys, key.id, key));
  const { storeId = null } = await plane.store.read();
  await plane.store.commit({ storeId, expected: new Map(), changes });
  const asMaster = { authorization: `Bearer ${masterKey}` };
  for (const { path, amount } of things) {
    const limit = { user_path: path, limit_key: { period: 'minute' }, max_requests: amount };
    const budget = { user_path: path, budget_key: { period: 'daily' }, amount };
    for (const [url, body] of [['/admin/rate-limits', limit] as const, ['/admin/budgets', budget] as const]) {
      const { statusCode } = await plane.app.inject({ method: 'PUT', url, headers: asMaster, payload: body });
      if (statusCode !== 200) throw new Error(`PUT ${url} of ${path}: ${statusCode}`);
    }
  }
  await recordObjects(records).add(
    things.map(({ entryId: id, path, mark }) =>
      record({
        id,
        request_id: mark,
        user_path: path,
        requested_model: mark,
        auth_key_id: mark,
        session_id: mark,
        labels: [mark],
        started_ms: Date.now(),
        data: { request_body: { messages: [{ role: 'user', content: `words of ${mark}` }] } },
      }),
    ),
  );
  return { ...plane, restore: await restorer(plane.store) };
}

/** Puts the documents of this moment back. */
async function restorer(store: StateStore): Promise<() => Promise<void>> {
  const { documents: wanted } = await store.read();
  const name = ({ kind, id }: { kind: string; id: string }): string => `${kind} ${id}`;
  const texts = new Map(wanted.map((each) => [name(each), JSON.stringify(each)]));
  return async () => {
    const { documents, storeId = null } = await store.read();
    const gone = documents
      .filter((each) => !texts.has(name(each)))
      .map(({ kind, id }) => ({ kind, id, body: undefined }));
    const present = new Map(documents.map((each) => [name(each), JSON.stringify(each)]));
    const back = wanted.filter((each) => present.get(name(each)) !== texts.get(name(each)));
    const changes = [...gone, ...back.map(({ kind, id, body }) => ({ kind, id, body }))];
    if (changes.length > 0) await store.commit({ storeId, expected: new Map(), changes });
  };
}

type World = Awaited<ReturnType<typeof startWorld>>;

/** What comes of a request; what none of the names stands for is told with its status and code. */
async function outcome(
  world: World,
  [method, made]: readonly [string, Case],
  thing: Thing,
  secret: string,
): Promise<string> {
  const request = {
    method,
    headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
    ...(made.body === undefined ? {} : { body: JSON.stringify(made.body(thing)) }),
    signal: AbortSignal.timeout(30_000),
  };
  const response = await fetch(`${world.address}/admin${made.url(thing)}`, request);
  const isStream = response.headers.get('content-type')?.startsWith('text/event-stream') === true;
  const text = isStream ? await untilCaughtUp(response) : await response.text();
  if (response.ok) return made.tells === undefined ? 'done' : made.tells(text, thing) ? 'seen' : 'empty';
  const { code } = JSON.parse(text) as { code: string };
  const named = { role_denied: 'role', admin_scope_denied: 'scope', invalid_member: 'refused' }[code];
  return named ?? (/_not_found$|^answered_by_proxies$/.test(code) ? 'hidden' : `${response.status} ${text}`);
}

/** The events of a stream until it says that no more have come in. */
async function untilCaughtUp(response: Response): Promise<string> {
  let text = '';
  for await (const chunk of response.body ?? []) {
    text += Buffer.from(chunk).toString();
    if (/event: ready|: heartbeat/.test(text)) break;
  }
  return text;
}

/** What the page says should come of it. */
function expected(name: string, made: Case, thing: Thing, { role, isScoped }: Asker): Outcome {
  const right = told.get(name) ?? { role: 'admin' as const, reach: 'gateway' };
  if (!mayDo(role, right.role)) return 'role';
  if (!isScoped) return made.whole;
  return right.reach === 'gateway' ? 'scope' : (made.scoped[places.indexOf(thing.place)] ?? 'role');
}

await test('the page, the table of rights and the served routes name the same routes', async (t) => {
  t.strictSame(Object.fromEntries(told), Object.fromEntries(adminRights));
  const { routes } = await startAdmin(t);
  const served = routes.map(({ name }) => name).filter((name) => !open.includes(name));
  t.strictSame(served.sort(), [...told.keys()].sort());
  t.strictSame(Object.keys(cases).sort(), [...told.keys()].sort(), 'each has a case');
});

await test('every route, role and place in or outside of a subtree', async (t) => {
  const world = await startWorld(t);
  for (const [name, made] of Object.entries(cases)) {
    const [method = ''] = name.split(' ');
    const [found, wanted]: string[][] = [[], []];
    for (const asker of askers) {
      for (const thing of things) {
        const cell = `${asker.secret} ${thing.place}`;
        found?.push(`${cell}: ${await outcome(world, [method, made], thing, asker.secret)}`);
        wanted?.push(`${cell}: ${expected(name, made, thing, asker)}`);
        if (method !== 'GET') await world.restore();
      }
    }
    t.strictSame(found, wanted, name);
  }
});

await test('what was said is not for viewers, and hashes are for admins of the whole gateway', async (t) => {
  const { address } = await startWorld(t);
  const ask = async (secret: string, path: string): Promise<string> => {
    const response = await fetch(`${address}/admin${path}`, { headers: { authorization: `Bearer ${secret}` } });
    return `${response.status} ${await response.text()}`;
  };
  const [thing] = things;
  const detail = `/audit/detail?log_id=${thing?.entryId}`;
  const spoken = await Promise.all(askers.map(async ({ secret }) => /words of/.test(await ask(secret, detail))));
  t.strictSame(spoken, [false, false, true, true, true, true]);
  t.match(await ask('viewer', detail), /"bodies_omitted":true/);
  for (const list of ['/audit/log', '/audit/sessions', '/usage/log'])
    t.notMatch(await ask('admin', list), /words of/, `${list} says nothing of them to anybody`);
  const hashes = await Promise.all(
    askers.map(async ({ secret }) => /"hash":/.test(await ask(secret, '/auth-keys?hashes=true'))),
  );
  t.strictSame(hashes, [false, false, false, false, true, false]);
});

await test('nothing outside of a subtree is changed by another name for it', async (t) => {
  const world = await startWorld(t);
  const before = await world.store.read();
  const [inside] = things;
  if (inside === undefined) throw new Error('there is no thing');
  const minute = { limit_key: { period: 'minute' }, max_requests: 1 };
  const daily = { budget_key: { period: 'daily' }, amount: 1 };
  const attacks: readonly (readonly [method: string, url: string, body: object | undefined, wanted: Outcome])[] = [
    ['PUT', '/rate-limits', { scope: 'provider', subject: 'openai', ...minute }, 'scope'],
    ['PUT', '/rate-limits', { scope: 'model', subject: 'gpt-4o', ...minute }, 'scope'],
    ['PUT', '/rate-limits', { user_path: '/Teamwork', ...minute }, 'scope'],
    ['PUT', '/rate-limits', { user_path: '/team/../teamwork', ...minute }, 'refused'],
    ['PUT', '/rate-limits', { user_path: '//teamwork//', ...minute }, 'scope'],
    ['POST', '/rate-limits/reset-one', { scope: 'provider', subject: 'openai', period: 'minute' }, 'hidden'],
    ['PUT', '/budgets', { scope: 'label', subject: 'mark-inside', ...daily }, 'scope'],
    ['POST', '/budgets/reset-one', { scope: 'label', subject: 'mark-inside', period: 'daily' }, 'hidden'],
    ['DELETE', '/budgets', { scope: 'label', subject: 'mark-inside', budget_key: { period: 'daily' } }, 'hidden'],
    ['DELETE', '/cache?scope=gateway', undefined, 'scope'],
    ['DELETE', '/cache?model=gpt-4o', undefined, 'scope'],
    ['POST', '/auth-keys', { name: 'x' }, 'scope'],
    ['POST', '/auth-keys', { name: 'x', any_user_path: true }, 'scope'],
    ['POST', '/auth-keys', { name: 'x', user_path: '/Teamwork', dashboard_access: true, role: 'viewer' }, 'scope'],
    [
      'POST',
      '/auth-keys/batch',
      {
        keys: [
          { name: 'x', user_path: '/team/x' },
          { name: 'y', user_path: '/' },
        ],
      },
      'scope',
    ],
    ['PATCH', `/auth-keys/${inside.keyId}`, { user_path: null }, 'scope'],
    ['PATCH', `/auth-keys/${inside.keyId}`, { user_path: '/teamwork' }, 'scope'],
    ['GET', '/auth-keys?hashes=true', undefined, 'scope'],
  ];
  for (const [method, url, body, wanted] of attacks) {
    const made: Case = {
      url: () => url,
      ...(body && { body: () => body }),
      whole: 'done',
      scoped: ['done', 'done', 'done', 'done'],
    };
    t.equal(
      await outcome(world, [method, made], inside, 'admin-team'),
      wanted,
      `${method} ${url} ${JSON.stringify(body)}`,
    );
  }
  t.strictSame((await world.store.read()).documents, before.documents);
});
