// Which rules a listing shows: filters of the query, and the rules in force while the store does not answer.
import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { type Test, test } from 'tap';
import { readFilter } from '../../control-plane/admin/rate-limits/filter.ts';
import { Refusal } from '../../control-plane/errors.ts';
import type { Scope } from '../../schemas/rules/scope.ts';
import { openStateStore } from '../../store/state/open.ts';
import type { StoredState } from '../../store/state/state-store.ts';
import { temporaryDirectory } from '../support/teardown.ts';
import { as, find, startPlane, teamRule } from './rate-limits-plane.ts';

const rules: readonly [Scope, string][] = [
  ['user_path', '/'],
  ['user_path', '/team'],
  ['user_path', '/team/app'],
  ['user_path', '/Team'],
  ['user_path', '/openai'],
  ['provider', 'openai'],
  ['model', 'openai'],
  ['model', 'openai/gpt-4o'],
];

const chosen = (query: object): string[] =>
  rules
    .filter(([scope, matchSubject]) => readFilter(query)({ scope, matchSubject, perChild: false }))
    .map(([scope, subject]) => `${scope} ${subject}`);

await test('filters name a subject exactly, in any form, and must all hold', async (t) => {
  const all = rules.map(([scope, subject]) => `${scope} ${subject}`);
  const cases: [query: object, found: string[]][] = [
    [{}, all],
    [{ user_path: 'team//' }, ['user_path /team']],
    [{ user_path: '' }, ['user_path /']],
    [{ scope: 'provider' }, ['provider openai']],
    [{ subject: 'OpenAI' }, ['provider openai', 'model openai']],
    [{ subject: 'openai' }, ['user_path /openai', 'provider openai', 'model openai']],
    [{ subject: 'openai', scope: 'model' }, ['model openai']],
    [{ subject: 'OpenAI/gpt-4O' }, ['model openai/gpt-4o']],
    [{ user_path: '/team', scope: 'provider' }, []],
    [{ user_path: '/team', subject: '/team/app' }, []],
    [{ subject: '/nobody' }, []],
    [{ covers: 'team/app/deeper/' }, ['user_path /', 'user_path /team', 'user_path /team/app']],
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
    readFilter({ covers: path })(template),
  );
  t.same(covered, [false, true, true, false]);
});

await test('a query that means nothing is refused by its name', async (t) => {
  const cases: [query: object, param: string, message: RegExp][] = [
    [{ page: '1' }, 'page', /"page" is unknown; known are user_path, covers, scope, subject/],
    [{ scope: ['model', 'provider'] }, 'scope', /more than once/],
    [{ scope: 'key' }, 'scope', /one of user_path, provider, model/],
    [{ user_path: '/a/../b' }, 'user_path', /segment/],
    [{ covers: '/a/../b' }, 'covers', /segment/],
    [{ covers: ['/a', '/b'] }, 'covers', /more than once/],
    [{ scope: 'model', subject: 'a/' }, 'subject', /neither/],
  ];
  for (const [query, param, message] of cases) {
    t.throws(() => readFilter(query), { code: 'invalid_query', status: 400, param, message }, JSON.stringify(query));
  }
  t.throws(() => readFilter({ a: '1' }), Refusal);
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
      live: async () => {
        await store.heartbeats();
        return {
          of: () => ({ requestsUsed: 1, tokensUsed: 0, startMs: 0, endMs: 0 }),
          inFlight: () => 0,
          refused: () => 0,
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
  t.notOk('stale' in fresh.body, 'the usual answer is as ever');
  await lose();
  t.match((await plane.list()).body, { code: 'store_unavailable', status_code: 503 }, 'nothing was in force yet');
  remember();
  const stale = await plane.list();
  t.match([stale.status, stale.etag, stale.body['stale']], [200, fresh.etag, true]);
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
