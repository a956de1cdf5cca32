// The key of an answer: equal for requests that mean the same, and never for those of two scopes.
import * as fc from 'fast-check';
import { test } from 'tap';
import { cacheKey } from '../../../proxy/cache/cache-key.ts';
import { Caching } from '../../../proxy/cache/caching.ts';
import { normalise } from '../../../proxy/cache/normalised-body.ts';
import { readCall } from '../../../proxy/call/call.ts';
import type { Operation } from '../../../proxy/dialects/dialect.ts';
import { compile } from '../../../proxy/snapshot/compile.ts';
import { type Looking, lookUp } from '../../../proxy/stages/cache/look-up.ts';
import { runs } from '../../support/extent.ts';
import { sampleConfig } from '../sample-config.ts';
import { cacheOf, exchangeOf, open } from '../stage-parts.ts';
import { type Asker, askers, reportFailure, scopeOf, scopes } from './askers.ts';

const keyOf = (text: string, operation: Operation = 'chat'): string | undefined => {
  const call = readCall(Buffer.from(text));
  const normalised = normalise(call, operation);
  return normalised && cacheKey('', call.body, normalised.members);
};

const json = fc.jsonValue({ maxDepth: 3 });
const name = fc.stringMatching(/^x_[a-z_]{1,12}$/);
const spaced = (value: unknown): string => JSON.stringify(value, null, 2);
/** As Python writes it. */
const blank = (value: unknown): string => {
  if (Array.isArray(value)) return `[${value.map(blank).join(', ')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  return `{${Object.entries(value)
    .map(([key, each]) => `${JSON.stringify(key)}: ${blank(each)}`)
    .join(', ')}}`;
};

/** The same with the members of every object in another order. */
const reordered = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(reordered);
  if (typeof value !== 'object' || value === null) return value;
  const members = Object.entries(value).map(([key, each]) => [key, reordered(each)] as const);
  return Object.fromEntries(members.toReversed());
};

await test('order and white space change no key, and every change of a member does', (t) => {
  fc.assert(
    fc.property(fc.dictionary(name, json, { maxKeys: 8 }), name, json, (members, key, other) => {
      const body = { ...members, model: 'm', stream: false, store: false };
      const first = keyOf(JSON.stringify(body));
      const reversed = reordered(body);
      const isSame = [JSON.stringify(reversed), spaced(body), blank(reversed)].every((text) => keyOf(text) === first);
      const changed = keyOf(JSON.stringify({ ...body, [key]: other }));
      return first !== undefined && isSame && (Object.hasOwn(members, key) || changed !== first);
    }),
    runs(2_000),
  );
  t.pass();
  t.end();
});

await test('members that say nothing of the answer are left out, by endpoint', (t) => {
  const base = '{"model":"m","input":[],"store":false}';
  const plain = '{"model":"m","messages":[]}';
  for (const member of [
    '"user":"u"',
    '"metadata":{"a":"b"}',
    '"stream":true',
    '"stream_options":{"include_usage":true}',
    '"prompt_cache_key":"k"',
    '"safety_identifier":"s"',
    '"store":false',
  ])
    t.equal(keyOf(`${plain.slice(0, -1)},${member}}`), keyOf(plain), member);
  for (const member of ['"user":"u"', '"metadata":{"a":"b"}', '"prompt_cache_key":"k"'])
    t.not(
      keyOf(`${base.slice(0, -1)},${member}}`, 'responses'),
      keyOf(base, 'responses'),
      `${member}: a response repeats it`,
    );
  t.not(
    keyOf('{"model":"m","input":"a","dimensions":2}', 'embeddings'),
    keyOf('{"model":"m","input":"a"}', 'embeddings'),
  );
  for (const text of [
    '{"model":"m","input":[]}',
    '{"model":"m","input":[],"store":null}',
    '{"model":"m","input":[],"store":true}',
  ])
    t.equal(keyOf(text, 'responses'), undefined, 'it is stored');
  t.end();
});

const nobody = (): never => {
  throw new Error('the semantic layer is off');
};

await test('no answer crosses a scope', async (t) => {
  const snapshot = compile(sampleConfig({ providers: { p: { models: ['m'] } } }), '', open);
  const route = snapshot.routes.get('m');
  if (route === undefined) throw new Error('the model has no route');
  for (const scope of scopes) {
    const settings = { ...snapshot.cache, isEnabled: true, scope };
    const cache = cacheOf(() => 1_000);
    cache.prepare(settings)();
    const row = { path: '/v1/chat/completions', operation: 'chat', surface: 'openai' } as const;
    const look = (who: Asker, content: string): Looking & { readonly caching: Caching } => {
      const call = readCall(Buffer.from(JSON.stringify({ model: 'm', messages: [{ role: 'user', content }] })));
      const caching = new Caching(settings);
      const trip = { row, exchange: exchangeOf({}), principal: who, caching, route: undefined, embedder: nobody };
      void lookUp({ call, home: undefined, named: route }, trip, { cache, reportFailure });
      return trip;
    };
    const owners = new Map<string, string>();
    fc.assert(
      fc.property(askers, fc.constantFrom('x', 'y', ' x'), (who, content) => {
        const { caching } = look(who, content);
        const owner = `${scopeOf(scope, who)} ${content}`;
        const facts = { provider: 'p', type: 'openai', model: 'm' };
        if (caching.hit === undefined) {
          const body = Buffer.from(owner);
          cache.engine?.put(caching.key ?? '', { storedAtMs: 1, expiresAtMs: 9_999, facts, body }, 1);
          if (owners.has(owner)) return false;
          owners.set(owner, '');
          return caching.key !== undefined;
        }
        return caching.hit.body.toString() === owner;
      }),
      runs(5_000),
    );
    t.ok(owners.size >= 3, scope);
  }
});
