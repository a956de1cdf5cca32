// Which rules a listing shows: filters of the query, and the rules in force while the store does not answer.
import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { type Test, test } from 'tap';
import { readListing } from '../../control-plane/admin/rate-limits/read-listing.ts';
import { Refusal } from '../../control-plane/errors.ts';
import type { Scope } from '../../domain/rules/scope.ts';
import { openStateStore } from '../../store/state/open.ts';
import type { StoredState } from '../../store/state/state-store.ts';
import { temporaryDirectory } from '../support/teardown.ts';
import { as, find, startPlane, teamRule } from './rate-limits-plane.ts';

const rules: readonly [Scope, string][] = [
  ['user_path', '/'],
  ['user_path', '/team'],
  ['user_path', '/team/app'],
  ['user_path', '/openai'],
  ['provider', 'openai'],
  ['model', 'openai'],
  ['model', 'openai/gpt-4o'],
];

const usedOnce = { requestsUsed: 1, tokensUsed: 0, tokensReserved: 0, startMs: 0, endMs: 0 };

const chosen = (query: object): string[] =>
  rules
    .filter(([scope, matchSubject]) => readListing(query).filter({ scope, matchSubject, perChild: false }))
    .map(([scope, subject]) => `${scope} ${subject}`);

await test('filters name a subject exactly, in any form, and must all hold', async (t) => {
  const all = rules.map(([scope, subject]) => `${scope} ${subject}`);
  const cases: [query: object, found: string[]][] = [
    [{}, all],
    [{ user_path: 'Team//' }, ['user_path /team']],
    [{ user_path: '' }, ['user_path /']],
    [{ scope: 'provider' }, ['provider openai']],
    [{ subject: 'OpenAI' }, ['user_path /openai', 'provider openai', 'model openai']],
    [{ subject: 'openai' }, ['user_path /openai', 'provider openai', 'model openai']],
    [{ subject: 'openai', scope: 'model' }, ['model openai']],
    [{ subject: 'OpenAI/gpt-4O' }, ['model openai/gpt-4o']],
    [{ user_path: '/team', scope: 'provider' }, []],
    [{ user_path: '/team', subject: '/team/app' }, []],
    [{ subject: '/nobody' }, []],
    [{ covers: 'team/APP/deeper/' }, ['user_path /', 'user_path /team', 'user_path /team/app']],
    [{ covers: '/team-b' }, ['user_path /']],
    [{ covers: '/' }, ['user_path /']],
    [{ covers: '/team/app', user_path: '/team' }, ['user_path /team']],
    [{ covers: '/team', scope: 'model' }, []],
  ];
  for (const [query, found] of cases) t.same(chosen(query), found, JSON.stringify(query));
});

await test('a rule for each child covers what is below its path, and not the path itself', async (t) => {
  const template = { scope: 'user_path', matchSubject: '/customers', perChild: true } as const;
  const covered = ['/customers', '/customers/a', '/customers/a/b', '/'].map((path) =>
    readListing({ covers: path }).filter(template),
  );
  t.same(covered, [false, true, true, false]);
});

await test('a query that means nothing is refused by its name', async (t) => {
  const cases: [query: object, param: string, message: RegExp][] = [
    [{ page: '1' }, 'page', /"page" is unknown; known are user_path, covers, scope, subject, search, /],
    [{ scope: ['model', 'provider'] }, 'scope', /more than once/],
    [{ scope: 'key' }, 'scope', /one of user_path, provider, model/],
    [{ user_path: '/a/../b' }, 'user_path', /segment/],
    [{ covers: '/a/../b' }, 'covers', /segment/],
    [{ covers: ['/a', '/b'] }, 'covers', /more than once/],
    [{ scope: 'model', subject: 'a/' }, 'subject', /neither/],
    [{ rule: '' }, 'rule', /name or the id/],
    [{ source: 'git' }, 'source', /one of config, manual, override/],
    [{ state: 'full' }, 'state', /one of used_up, refused, shadow, unenforced, ending/],
    [{ state: 'constructor' }, 'state', /one of/],
    [{ sort: 'cost' }, 'sort', /one of subject, use, refused, source, -subject/],
    [{ limit: '0' }, 'limit', /whole number from 1 to 100/],
    [{ limit: '101' }, 'limit', /whole number from 1 to 100/],
    [{ limit: 'all' }, 'limit', /whole number/],
    [{ limit: '' }, 'limit', /whole number/],
    [{ limit: '5', offset: '-1' }, 'offset', /whole number from 0/],
    [{ offset: '5' }, 'offset', /needs a limit/],
    [{ search: ['a', 'b'] }, 'search', /more than once/],
  ];
  for (const [query, param, message] of cases) {
    t.throws(() => readListing(query), { code: 'invalid_query', status: 400, param, message }, JSON.stringify(query));
  }
  t.throws(() => readListing({ a: '1' }), Refusal);
});

await test('a search is over all rules, and a page says how many there are', async (t) => {
  const live = {
    of: () => usedOnce,
    inFlight: () => [5],
    refused: (key: string) => (key.endsWith('/other') ? 1 : 0),
    parts: () => [{ instance: 'a', ...usedOnce, inFlight: 5 }],
    scopes: [],
  };
  const plane = await startPlane(t, { parts: { live: async () => live } });
  await plane.put({ ...teamRule, max_requests: 1, reason: 'Runaway batch job' });
  await plane.put({ ...teamRule, user_path: '/config', expires_in: '1h' });
  await plane.put({ ...teamRule, user_path: '/other', mode: 'shadow' });
  const listed = async (query: string, headers = {}) => {
    const { items, body } = await plane.list(headers, query);
    return { subjects: items.map(({ subject }) => subject), total: body['total'], all: body['unfiltered_total'] };
  };
  const every = ['OpenAI', '/children', '/config', '/other', '/team'];
  t.same(await listed(''), { subjects: every, total: undefined, all: undefined }, 'without a limit it is the listing');
  const cases: [query: string, subjects: string[]][] = [
    ['search=BATCH', ['/team']],
    ['search=limits.yaml', ['/config']],
    ['search=open', ['OpenAI']],
    ['rule=declared', ['/config']],
    ['source=config', ['OpenAI', '/children']],
    ['source=manual', ['/config', '/other', '/team']],
    ['source=override', ['/config']],
    ['state=used_up', ['OpenAI', '/team']],
    ['state=refused', ['/other']],
    ['state=shadow', ['/children', '/other']],
    ['state=unenforced', []],
    ['state=ending', ['/config']],
    ['source=manual&state=shadow&scope=user_path', ['/other']],
  ];
  for (const [query, subjects] of cases) {
    const found = { subjects, total: subjects.length, all: 5 };
    t.same(await listed(`?limit=100&${query}`), found, query);
    t.same((await listed(`?${query}`)).subjects, subjects, `${query}, whole`);
  }
  const orders: [sort: string, subjects: string[]][] = [
    ['subject', ['/children', '/config', '/other', '/team', 'OpenAI']],
    ['-subject', ['OpenAI', '/team', '/other', '/config', '/children']],
    ['-refused', ['/other', 'OpenAI', '/children', '/config', '/team']],
    ['source', ['/config', 'OpenAI', '/children', '/other', '/team']],
  ];
  for (const [sort, subjects] of orders) t.same((await listed(`?limit=100&sort=${sort}`)).subjects, subjects, sort);
  const byUse = (await listed('?limit=100&sort=-use')).subjects;
  t.same([byUse.slice(0, 2), byUse.at(-1)], [['OpenAI', '/team'], '/children'], 'a template has no use as a whole');
  t.same(await listed('?limit=2&offset=1'), { subjects: ['/children', '/config'], total: 5, all: 5 });
  t.same(await listed('?limit=2&offset=4&source=manual'), { subjects: [], total: 3, all: 5 });
  t.same(await listed('?limit=1', as('key-team')), { subjects: ['/team'], total: 1, all: 1 }, 'of what it may see');
});

/** A plane whose store can be taken away; what it had read before stays in force. */
async function startLosing(t: Test) {
  const directory = temporaryDirectory(t);
  const store = openStateStore({ directory, pollMs: 20, timeoutMs: 300 });
  t.teardown(() => store.close());
  let isKnown = false;
  let last: StoredState | undefined;
  const plane = await startPlane(t, {
    directory,
    parts: {
      store: {
        read: () => store.read(),
        commit: (commit) => store.commit(commit),
        inForce: () => (isKnown ? last : undefined),
      },
      staleSinceMs: () => Date.parse('2026-03-01T21:04:20Z'),
      live: async () => {
        await store.heartbeats();
        return {
          of: () => usedOnce,
          inFlight: () => [],
          refused: () => 0,
          parts: () => [{ instance: 'a', ...usedOnce, inFlight: 0 }],
          scopes: [],
        };
      },
    },
  });
  return {
    plane,
    remember: () => {
      isKnown = true;
    },
    lose: async () => {
      last = await store.read();
      for (const name of readdirSync(directory)) rmSync(join(directory, name));
    },
  };
}

await test('while the store is away, what is in force is listed without usage and says so', async (t) => {
  const { plane, remember, lose } = await startLosing(t);
  await plane.put(teamRule);
  await plane.put({ ...teamRule, user_path: '/other' });
  const fresh = await plane.list();
  t.match(find(fresh, '/team'), { requests_used: 1, requests_remaining: 4 });
  t.notOk('stale' in fresh.body || 'stale_since' in fresh.body, 'the usual answer is as ever');
  await lose();
  t.match((await plane.list()).body, { code: 'store_unavailable', status_code: 503 }, 'nothing was in force yet');
  remember();
  const stale = await plane.list();
  t.match([stale.status, stale.etag, stale.body['stale']], [200, fresh.etag, true]);
  t.equal(stale.body['stale_since'], '2026-03-01T21:04:20.000Z');
  t.match(find(stale, '/team'), { max_requests: 5, updated_by: 'master_key' });
  t.equal(find(stale, '/team')?.['requests_used'], undefined);
  t.same(
    (await plane.list(as('key-team'))).items.map(({ subject }) => subject),
    ['/team'],
  );
  const covering = async (path: string): Promise<unknown[]> =>
    (await plane.list({}, `?covers=${path}`)).items.map(({ subject }) => subject);
  t.same([await covering('/team/app'), await covering('/others')], [['/team'], []], 'filters hold');
  t.match((await plane.put({ ...teamRule, max_requests: 9 })).body, { code: 'store_unavailable' });
});
