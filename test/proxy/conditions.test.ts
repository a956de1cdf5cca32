// Conditions of aliases and targets: where a name leads for a request, what is known of one, and what an explanation says.
import { Ajv2020 } from 'ajv/dist/2020.js';
import { test } from 'tap';
import { type Facts, onlyPath } from '../../domain/conditions/facts.ts';
import { LocalTime } from '../../domain/conditions/local-time.ts';
import { credentialsOf } from '../../domain/keys/credentials.ts';
import { readCall } from '../../proxy/call/call.ts';
import { RequestFacts } from '../../proxy/call/request-facts.ts';
import { readQuestion } from '../../proxy/explain/read-question.ts';
import { compile } from '../../proxy/snapshot/compile.ts';
import type { Route, Snapshot } from '../../proxy/snapshot/snapshot.ts';
import { resolve } from '../../proxy/stages/resolve.ts';
import schema from '../../schemas/admin/explanation.schema.json' with { type: 'json' };
import type { Alias } from '../../schemas/types.ts';
import { loadExpressionParser } from '../../schemas/validation/parse-expression.ts';
import { explainStand, keyDocument, start } from './explain-stand.ts';
import { sampleConfig } from './sample-config.ts';

await loadExpressionParser();

type Target = Alias['targets'][number];
const to = (model: string, when?: string, more: Partial<Target> = {}): Target => {
  return { model, weight: 1, ...(when === undefined ? {} : { when }), ...more };
};
const providers = { p: { models: ['m0', 'm1', 'm2', 'chat'] }, q: { models: ['m0'] } };
const snapshotOf = (...aliases: (Pick<Alias, 'source' | 'targets'> & Partial<Alias>)[]): Snapshot =>
  compile(sampleConfig({ providers, aliases }), '', credentialsOf(undefined, []));

/** The route of a request, `p/m0*2 p/m1*1`, or the code of its refusal. */
function led(snapshot: Snapshot, model: string, facts: Partial<Facts>): string {
  try {
    const known = { stream: false, tokens: 10, tools: 0, images: false, hour: 12, ...facts };
    return shown(resolve({ model, routingMember: undefined }, snapshot, undefined, { ...onlyPath('/'), ...known }));
  } catch (error) {
    return (error as { code: string }).code;
  }
}

function shown({ targets, weights, tiers }: Route): string {
  return targets
    .map(({ upstream, model }, index) => {
      return `${upstream.name}/${model}*${weights[index]}${tiers === undefined ? '' : `@${tiers[index]}`}`;
    })
    .join(' ');
}

await test('a target is left out while its condition is false, as if it were not written', async (t) => {
  const snapshot = snapshotOf(
    { source: 'a', targets: [to('p/m0', 'tokens < 100', { weight: 2 }), to('p/m1'), to('p/m2', '!stream')] },
    { source: 'order', strategy: 'failover', targets: [to('p/m0', 'stream'), to('p/m1'), to('p/m2')] },
    { source: 'tiers', targets: [to('p/m0', 'stream'), to('p/m1', undefined, { tier: 2 }), to('p/m2', 'images')] },
    { source: 'outer', targets: [to('order', 'tokens < 100'), to('p/m2', 'images')] },
    { source: 'twice', targets: [to('p/m0', 'stream'), to('p/m0', 'images'), to('p/m1')] },
    { source: 'none', targets: [to('p/m0', 'stream'), to('p/m1', 'tokens > 100')] },
    { source: 'eu/*', targets: [to('p/*', 'stream'), to('q/*')] },
  );
  const rows: readonly [model: string, facts: Partial<Facts>, led: string][] = [
    ['a', {}, 'p/m0*2 p/m1*1 p/m2*1'],
    ['a', { tokens: 100 }, 'p/m1*1 p/m2*1'],
    ['a', { tokens: 100, stream: true }, 'p/m1*1'],
    ['order', {}, 'p/m1*1 p/m2*0'],
    ['order', { stream: true }, 'p/m0*1 p/m1*0 p/m2*0'],
    ['tiers', {}, 'p/m1*1'],
    ['tiers', { stream: true, images: true }, 'p/m0*1@0 p/m2*1@0 p/m1*2@1'],
    ['outer', {}, 'p/m1*1 p/m2*0'],
    ['outer', { tokens: 100, images: true }, 'p/m2*1'],
    ['outer', { tokens: 100 }, 'no_target_matches'],
    ['twice', {}, 'p/m1*1'],
    ['twice', { images: true }, 'p/m0*1 p/m1*1'],
    ['none', {}, 'no_target_matches'],
    ['none', { tokens: undefined }, 'p/m1*1'],
    ['eu/m0', {}, 'q/m0*1'],
    ['eu/m0', { stream: true }, 'p/m0*1 q/m0*1'],
    ['eu/m1', {}, 'no_target_matches'],
  ];
  for (const [model, facts, expected] of rows)
    t.equal(led(snapshot, model, facts), expected, `${model} ${JSON.stringify(facts)}`);
  t.equal(snapshot.routes.get('p/m0')?.conditional, undefined, 'a name without conditions has nothing to ask');
});

await test('an alias whose condition is false does not exist: its name leads to what is behind', async (t) => {
  const snapshot = snapshotOf(
    { source: 'p/m0', when: 'hour < 8', targets: [to('p/m1')] },
    { source: 'night', when: 'hour < 8', user_paths: ['/team'], targets: [to('p/m1')] },
    { source: 'through', targets: [to('night')] },
  );
  const rows: readonly [model: string, facts: Partial<Facts>, led: string][] = [
    ['p/m0', {}, 'p/m0*1'],
    ['p/m0', { hour: 7 }, 'p/m1*1'],
    ['night', { hour: 7 }, 'model_not_found'],
    ['night', { path: '/team/x' }, 'model_not_found'],
    ['night', { path: '/team/x', hour: 7 }, 'p/m1*1'],
    ['through', {}, 'p/m1*1'],
  ];
  for (const [model, facts, expected] of rows)
    t.equal(led(snapshot, model, facts), expected, `${model} ${JSON.stringify(facts)}`);
});

await test('equal conditions give the same part of a route, and a route has a bounded number of parts', async (t) => {
  const models = Array.from({ length: 9 }, (_, index) => `m${index}`);
  const targets = models.map((model, index) => to(`p/${model}`, `tokens != ${index}`));
  const config = sampleConfig({ providers: { p: { models } }, aliases: [{ source: 'a', targets }] });
  const snapshot = compile(config, '', credentialsOf(undefined, []));
  const routeAt = (tokens: number): Route =>
    resolve({ model: 'a', routingMember: undefined }, snapshot, undefined, { ...onlyPath('/'), tokens });
  t.equal(routeAt(3), routeAt(3));
  t.not(routeAt(3), routeAt(4));
  t.equal(routeAt(100), snapshot.routes.get('a'), 'all hold');
});

await test('what is known of a request', async (t) => {
  const factsOf = (body: object, rawHeaders: readonly string[] = []): RequestFacts =>
    new RequestFacts({
      caller: { userPath: '/team' },
      endpoint: '/v1/chat/completions',
      stream: false,
      rawHeaders,
      said: readCall(Buffer.from(JSON.stringify({ model: 'm', ...body }))),
      localTime: new LocalTime('UTC'),
      startedAtMs: start,
    });
  const said = (content: unknown) => ({ messages: [{ role: 'user', content }] });
  const images: readonly [body: object, images: boolean][] = [
    [said('an image'), false],
    [said([{ type: 'text', text: '"image_url" "type":"image"' }]), false],
    [said([{ type: 'image_url', image_url: { url: 'https://a/b.png' } }]), true],
    [{ input: [{ role: 'user', content: [{ type: 'input_image', file_id: 'a' }] }] }, true],
    [said([{ type: 'image', source: { type: 'url', url: 'https://a/b.png' } }]), true],
    [{ ...said('a'), tools: [{ type: 'function', function: { name: 'image' } }] }, false],
    [
      said([
        { type: 'text', text: 'x'.repeat(100_000) },
        { type: 'image', source: {} },
      ]),
      true,
    ],
  ];
  for (const [body, expected] of images) t.equal(factsOf(body).images, expected, JSON.stringify(body).slice(0, 80));
  t.equal(factsOf({ ...said('a'), tools: [{ type: 'function' }, { type: 'function' }] }).tools, 2);
  t.equal(factsOf({ ...said('a'), tools: null }).tools, 0);
  t.ok(factsOf(said('word '.repeat(4000))).tokens > 4000);
  const { hour, weekday, labels } = factsOf({});
  t.same([hour, weekday, labels], [0, 'thu', []]);
  const sent = factsOf({}, ['X-Tier', 'gold', 'x-tier', 'silver', 'X-Tiers', 'a']);
  t.same([sent.header('x-tier'), sent.header('x-none')], ['gold', ''], 'the first one counts');
});

const validate = new Ajv2020({ strict: false, validateFormats: false }).compile(schema);

await test('an explanation says which condition is false, and which is not known', async (t) => {
  const aliases = [
    { source: 'chat', targets: [to('a/m', '"gold" in labels'), to('b/m', 'tokens > 100 && headers["x-a"] == "b"')] },
    { source: 'late', when: 'hour > 5', targets: [to('b/m')] },
  ];
  const stand = explainStand({ providers: { a: {}, b: {} }, aliases }, [keyDocument('ann', { labels: ['gold'] })]);
  const told = (query: string) => {
    const credentials = stand.snapshot().credentials;
    const asker = { scope: '/', nowMs: start, authorityMs: start, endpoints: new Map(), credentials };
    const { key: _, ...question } = readQuestion(query, asker);
    return stand.explain({ ...question, ...(query.includes('key_id') ? { keyId: 'ann' } : {}) });
  };
  const open = told('model=chat');
  t.ok(validate({ ...open, state_revision: 1, instance: 'p' }), JSON.stringify(validate.errors));
  t.match(open.targets, [
    { target: 'b/m', would: 'ask', conditions: [{ when: 'tokens > 100 && headers["x-a"] == "b"' }] },
    {
      target: 'a/m',
      would: 'skip',
      reason: 'condition_false',
      conditions: [{ when: '"gold" in labels', holds: false }],
    },
  ]);
  const gold = told('model=chat&key_id=ann&input_tokens=50');
  t.match(gold.targets, [
    { target: 'a/m', would: 'ask', conditions: [{ holds: true }] },
    { target: 'b/m', reason: 'condition_false' },
  ]);
  t.equal(told('model=chat&input_tokens=101&header[X-A]=b').refusal, undefined);
  const refused = told('model=chat&input_tokens=101&header[X-A]=c');
  t.match(refused.refusal, { status: 400, code: 'no_target_matches' });
  t.match(told('model=late').near_misses, [{ kind: 'alias', name: 'late', reason: 'alias_condition_false' }]);
  for (const [query, name] of [
    ['input_tokens=x', 'input_tokens'],
    ['images=1', 'images'],
    ['header[a b]=c', 'header[a b]'],
  ] as const)
    t.throws(() => told(`model=chat&${query}`), { code: 'invalid_query', param: name });
  const scoped = stand.explain({ model: 'chat', userPath: '/team', scope: '/team' });
  t.notMatch(JSON.stringify(scoped), /gold|tokens >/, 'only operators of the whole gateway see conditions');
});
