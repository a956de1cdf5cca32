// What the semantic layer compares: which text of a request, which embeddings, and that everything else of two requests must be equal.
import * as fc from 'fast-check';
import { test } from 'tap';
import {
  type CacheReset,
  cacheResets,
  everyAnswer,
  modelResetId,
  pathResetId,
} from '../../../domain/cache/cache-reset.ts';
import { Caching } from '../../../proxy/cache/caching.ts';
import { comparedText } from '../../../proxy/cache/compared-text.ts';
import { readEmbedding } from '../../../proxy/cache/embedding.ts';
import { normalise } from '../../../proxy/cache/normalised-body.ts';
import { SemanticLayer } from '../../../proxy/cache/semantic-layer.ts';
import { readCall } from '../../../proxy/call/call.ts';
import type { Operation } from '../../../proxy/dialects/dialect.ts';
import { parseObject } from '../../../proxy/dialects/json/json.ts';
import { compile } from '../../../proxy/snapshot/compile.ts';
import type { SemanticSettings } from '../../../proxy/snapshot/snapshot.ts';
import { lookUp } from '../../../proxy/stages/cache/look-up.ts';
import { neighbourStores } from '../../../store/cache/semantic/open.ts';
import { runs } from '../../support/extent.ts';
import { sampleConfig } from '../sample-config.ts';
import { cacheOf, exchangeOf, open } from '../stage-parts.ts';
import { type Asker, askers, reportFailure, scopeOf, scopes } from './askers.ts';

const usual = { mostTurns: 3, withSystem: true };
const compared = (body: object, operation: Operation = 'chat', settings = usual) => {
  const call = readCall(Buffer.from(JSON.stringify({ model: 'm', ...body })));
  return comparedText(call, normalise(call, operation)?.members ?? [], operation, settings);
};
const user = (content: unknown) => ({ role: 'user', content });
const assistant = (content: unknown) => ({ role: 'assistant', content });
const image = { type: 'image_url', image_url: { url: 'data:image/png;base64,AA==' } };
const textPart = (text: string) => ({ type: 'text', text });

await test('the last text of the user is what is compared', (t) => {
  const rows: readonly [body: object, operation: Operation, text: string][] = [
    [{ messages: [user('a')] }, 'chat', 'a'],
    [{ messages: [{ role: 'system', content: 's' }, user('a'), assistant('b'), user('c')] }, 'chat', 'c'],
    [{ messages: [user([textPart('a'), image, textPart('b')])] }, 'chat', 'a\nb'],
    [{ system: 's', messages: [user([textPart('a')])], max_tokens: 9 }, 'messages', 'a'],
    [{ input: 'a', store: false }, 'responses', 'a'],
    [{ input: [{ role: 'user', content: [{ type: 'input_text', text: 'a' }] }], store: false }, 'responses', 'a'],
    [{ input: [{ type: 'message', ...user('a') }] }, 'chat_of_input', 'a'],
  ];
  for (const [body, operation, text] of rows)
    t.equal(compared(body, operation)?.text, text, `${operation} ${JSON.stringify(body)}`);
  t.end();
});

await test('a request without such a text at its end, or with too long a conversation, is left alone', (t) => {
  const long = [user('a'), assistant('b'), user('c'), assistant('d'), user('e')];
  const rows: readonly [body: object, operation?: Operation][] = [
    [{ messages: long }],
    [{ messages: [user('a'), assistant('b')] }],
    [{ messages: [user('a'), assistant(null), { role: 'tool', tool_call_id: 'c', content: 'r' }] }],
    [{ messages: [user([image])] }],
    [{ messages: [user(' ')] }],
    [{ messages: [] }],
    [{ messages: 'a' }],
    [{ messages: ['a'] }],
    [{ messages: [user('a'.repeat(16_385))] }],
    [{ messages: [user([textPart('a'), { ...image, image_url: { url: 'x'.repeat(300_000) } }])] }],
    [{ prompt: 'a' }, 'completions'],
    [{ input: 'a' }, 'embeddings'],
    [{ input: [{ type: 'function_call_output', call_id: 'c', output: 'r' }], store: false }, 'responses'],
  ];
  for (const [body, operation] of rows)
    t.equal(compared(body, operation), undefined, JSON.stringify(body).slice(0, 200));
  t.equal(compared({ messages: long }, 'chat', { mostTurns: 5, withSystem: true })?.text, 'e');
  const twice = readCall(Buffer.from('{"model":"m","messages":[{"role":"user","content":"a"}],"messages":[]}'));
  t.equal(comparedText(twice, twice.members, 'chat', usual), undefined, 'it cannot be told which one is meant');
  t.end();
});

await test('an embedding is read as numbers and as base64; what cannot be compared is none', (t) => {
  const vector = Float32Array.of(0.25, -1, 3);
  const base64 = Buffer.from(vector.buffer).toString('base64');
  const read = (embedding: unknown) =>
    readEmbedding(parseObject(JSON.stringify({ model: 'e', data: [{ embedding }] })) ?? {});
  t.same(read([0.25, -1, 3]), { vector, model: 'e' });
  t.same(read(base64), { vector, model: 'e' });
  t.same(readEmbedding(parseObject('{"data":[{"embedding":[0.10000000000000000001]}]}') ?? {}), {
    vector: Float32Array.of(0.1),
    model: '',
  });
  for (const none of [[], '', 'AAAA', null, 'x', [0, 0], ['1'], [null], Array(8_193).fill(1), 'AADAfw=='])
    t.equal(read(none), undefined, String(none).slice(0, 40));
  t.equal(readEmbedding({}), undefined);
  t.end();
});

const semantic: SemanticSettings = {
  model: 'e',
  threshold: 1,
  engine: 'embedded',
  timeoutMs: 30_000,
  mostEntries: 10_000,
  ...usual,
};
/** For it all texts mean the same. */
const embedder = () => ({ identity: 'e', embed: () => Promise.resolve({ data: [{ embedding: [1, 2, 3] }] }) });

/** Requests that differ in one thing beside the text that is compared. */
const others = fc.constantFrom<object>(
  { messages: [user('TEXT')] },
  { messages: [user('TEXT')], temperature: 0 },
  { messages: [user('TEXT')], tools: [] },
  { messages: [{ role: 'system', content: 's' }, user('TEXT')] },
  { messages: [{ role: 'system', content: 'S' }, user('TEXT')] },
  { messages: [user([textPart('TEXT')])] },
  { messages: [user([textPart('TEXT'), image])] },
  { messages: [user('a'), assistant('b'), user('TEXT')] },
  { messages: [user('a'), assistant('c'), user('TEXT')] },
);

await test('no hit crosses a scope, or requests that differ otherwise, even if all texts mean the same', async (t) => {
  const snapshot = compile(sampleConfig({ providers: { p: { models: ['m'] } } }), '', open);
  const route = snapshot.routes.get('m');
  if (route === undefined) throw new Error('the model has no route');
  for (const scope of scopes) {
    const settings = { ...snapshot.cache, isEnabled: true, scope, semantic };
    const cache = cacheOf(() => 1_000);
    t.teardown(() => cache.close());
    cache.prepare(settings)();
    const row = { path: '/v1/chat/completions', operation: 'chat', surface: 'openai' } as const;
    const owners = new Set<string>();
    let texts = 0;
    const isRight = async (who: Asker, other: object): Promise<boolean> => {
      texts += 1;
      const body = JSON.stringify({ model: 'm', ...other }).replace('TEXT', `text ${texts}`);
      const caching = new Caching(settings);
      const trip = { row, exchange: exchangeOf({}), principal: who, caching, route: undefined, embedder };
      await lookUp({ call: readCall(Buffer.from(body)), home: undefined, named: route }, trip, {
        cache,
        reportFailure,
      });
      const owner = `${scopeOf(scope, who)} ${JSON.stringify(other)}`;
      const wasThere = owners.has(owner);
      owners.add(owner);
      if (caching.hit !== undefined) return wasThere && caching.hit.body.toString() === owner;
      const { key = '', semantic: look } = caching;
      const facts = { provider: 'p', type: 'openai', model: 'm' };
      cache.engine?.put(key, { storedAtMs: 1, expiresAtMs: 9_999, facts, body: Buffer.from(owner) }, 1);
      if (look?.place !== undefined) cache.semantic.neighbours?.put({ ...look.place, key, expiresAtMs: 9_999 }, 1);
      return !wasThere && look?.place !== undefined;
    };
    await fc.assert(fc.asyncProperty(askers, others, isRight), { ...runs(2_000), endOnFailure: true });
    t.ok(owners.size >= 9, `${scope}: ${owners.size}`);
  }
});

await test('what was reset is not found by its meaning either', async (t) => {
  const snapshot = compile(sampleConfig({ providers: { p: { models: ['m'] } } }), '', open);
  const route = snapshot.routes.get('m');
  if (route === undefined) throw new Error('the model has no route');
  const named = route;
  const cache = cacheOf(() => 1_000);
  t.teardown(() => cache.close());
  const row = { path: '/v1/chat/completions', operation: 'chat', surface: 'openai' } as const;
  const who = {
    kind: 'master_key',
    keyId: undefined,
    userPath: '/a/b',
    shownPath: '/a/b',
    allowedModels: undefined,
  } as const;
  const placeIn = async (resets: CacheReset[]) => {
    const settings = { ...snapshot.cache, isEnabled: true, semantic, resets: cacheResets(resets) };
    cache.prepare(settings)();
    const caching = new Caching(settings);
    const trip = { row, exchange: exchangeOf({}), principal: who, caching, route: undefined, embedder };
    const call = readCall(Buffer.from('{"model":"m","messages":[{"role":"user","content":"a"}]}'));
    await lookUp({ call, home: undefined, named }, trip, { cache, reportFailure });
    return caching.semantic?.place?.partition;
  };
  const before = await placeIn([]);
  t.ok(before);
  for (const id of [everyAnswer, pathResetId('/a'), modelResetId('m')])
    t.not(await placeIn([{ id, epoch: 1 }]), before, id);
  t.equal(await placeIn([{ id: pathResetId('/c'), epoch: 1 }]), before, 'that of another path');
});

await test('the layer is asked by so many at once, and left alone for a moment when it fails', (t) => {
  let nowMs = 0;
  const told: string[] = [];
  const warn = (sentence: string) => told.push(sentence);
  const opening = () =>
    neighbourStores({ databaseUrl: undefined, redisUrl: undefined, redisPrefix: 'gateway', workers: 1 }).open({
      engine: 'embedded',
      mostEntries: 1,
    });
  const layer = new SemanticLayer({ demand: () => undefined, open: opening, nowMs: () => nowMs, warn });
  for (let index = 0; index < 64; index += 1) t.equal(layer.enter(), undefined);
  t.equal(layer.enter(), 'busy');
  layer.leave();
  t.equal(layer.enter(), undefined);
  for (const _ of [1, 2]) layer.failed(new Error('no'));
  layer.worked();
  for (const _ of [1, 2]) layer.failed(new Error('no'));
  t.equal(layer.enter(), 'busy', 'not often enough in a row');
  layer.failed(new Error('no'));
  for (let index = 0; index < 64; index += 1) layer.leave();
  t.equal(layer.enter(), 'paused');
  t.same(told, ['the semantic cache is left alone while it fails: no']);
  nowMs = 2_000;
  t.equal(layer.enter(), undefined, 'one tries');
  t.equal(layer.enter(), 'paused');
  layer.worked();
  t.equal(layer.enter(), undefined);
  t.end();
});
