// Models in the format of Anthropic: pages in both directions, and what is refused.
import { test } from 'tap';
import { pageOf, type Query } from '../../../proxy/endpoints/anthropic-models.ts';
import { Refusal } from '../../../proxy/errors.ts';

const models = ['a/1', 'a/2', 'b', 'c/x', 'd'].map((id) => ({
  id,
  object: 'model' as const,
  created: 0,
  owned_by: 'p',
}));

const idsOf = (query: Query): string[] => pageOf(models, query).data.map(({ id }) => id);

await test('a page has at most 20 models, each as Anthropic writes it', (t) => {
  const many = Array.from({ length: 21 }, (_, index) => ({ ...models[0], id: `m${String(index).padStart(2, '0')}` }));
  const page = pageOf(many as typeof models, {});
  t.equal(page.data.length, 20);
  t.match(page, { has_more: true, first_id: 'm00', last_id: 'm19' });
  t.strictSame(page.data[0], {
    type: 'model',
    id: 'm00',
    display_name: 'm00',
    created_at: '1970-01-01T00:00:00Z',
  });
  t.strictSame(pageOf([], {}), { data: [], has_more: false, first_id: null, last_id: null });
  t.end();
});

await test('pages of every size, walked forwards and backwards, hold each model once', (t) => {
  for (let size = 1; size <= models.length + 1; size += 1) {
    const limit = String(size);
    const forwards: string[] = [];
    for (let page = pageOf(models, { limit }); ; page = pageOf(models, { limit, after_id: page.last_id ?? '' })) {
      forwards.push(...page.data.map(({ id }) => id));
      if (!page.has_more) break;
    }
    const backwards: string[] = ['d'];
    for (let page = pageOf(models, { limit, before_id: 'd' }); ; ) {
      backwards.unshift(...page.data.map(({ id }) => id));
      if (!page.has_more) break;
      page = pageOf(models, { limit, before_id: page.first_id ?? '' });
    }
    const all = models.map(({ id }) => id);
    t.strictSame([forwards, backwards], [all, all], `pages of ${limit}`);
  }
  t.end();
});

await test('a cursor whose model is gone still names a place', (t) => {
  t.strictSame(idsOf({ after_id: 'a/3' }), ['b', 'c/x', 'd']);
  t.strictSame(idsOf({ before_id: 'a/3' }), ['a/1', 'a/2']);
  t.strictSame(pageOf(models, { after_id: 'z' }), { data: [], has_more: false, first_id: null, last_id: null });
  t.end();
});

await test('wrong values are refused by name; other parameters are not read', (t) => {
  const wrong: [Query, param: string][] = [
    [{ limit: '0' }, 'limit'],
    [{ limit: '1001' }, 'limit'],
    [{ limit: '-1' }, 'limit'],
    [{ limit: '2.5' }, 'limit'],
    [{ limit: '' }, 'limit'],
    [{ limit: ['1', '2'] }, 'limit'],
    [{ after_id: '' }, 'after_id'],
    [{ before_id: ['a', 'b'] }, 'before_id'],
    [{ after_id: 'a', before_id: 'b' }, 'before_id'],
  ];
  for (const [query, param] of wrong) {
    let thrown: unknown;
    try {
      pageOf(models, query);
    } catch (error) {
      thrown = error;
    }
    t.ok(thrown instanceof Refusal, JSON.stringify(query));
    t.match(thrown, { status: 400, code: 'invalid_query', param }, JSON.stringify(query));
  }
  t.equal(idsOf({ limit: '1000', beta: 'true' }).length, models.length);
  t.end();
});
