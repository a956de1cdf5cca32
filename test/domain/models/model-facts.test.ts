// Which facts a model has: never those of another model or of another party; and what a newer catalogue would change.
import { test } from 'tap';
import { compareCatalogues } from '../../../domain/models/compare-catalogues.ts';
import { factsIn, listedFacts, modelCatalogue } from '../../../domain/models/model-facts.ts';
import { defaultAddresses } from '../../../schemas/provider-addresses.ts';
import type { Provider } from '../../../schemas/types.ts';
import { config as isConfig } from '../../../schemas/validation/generated/config.js';

const at = (type: Provider['type'], address = defaultAddresses[type] ?? '') => ({ type, base_url: address });

await test('the catalogue is dated, says its source, names no model twice, and every fact of it could stand in a configuration', (t) => {
  t.match(modelCatalogue, { date: /^\d{4}-\d{2}-\d{2}$/, source: /MIT license/ });
  const providers = Object.entries(modelCatalogue.models).map(([type, groups]) => {
    const ids = groups.flatMap((group) => group.ids);
    t.equal(new Set(ids).size, ids.length, type);
    const models = groups.flatMap(({ ids: named, ...facts }) => named.map((id) => ({ id, ...facts })));
    return [type, { type, models, ...(defaultAddresses[type as Provider['type']] ? {} : { base_url: 'https://a.b' }) }];
  });
  t.ok(isConfig({ providers: Object.fromEntries(providers) as object }), JSON.stringify(isConfig.errors));
  t.end();
});

await test('a fact of the configuration wins, the others stay; a dated snapshot has those of its model', (t) => {
  const listed = listedFacts('openai', 'gpt-4o');
  t.match(listed, { context_window: 128_000, max_output_tokens: 16_384, tools: true });
  t.strictSame(factsIn(at('openai'), { id: 'gpt-4o', context_window: 9 }), { ...listed, context_window: 9 });
  t.strictSame(factsIn(at('openai'), 'gpt-4o-2026-01-31'), listed);
  t.equal(factsIn(at('openai'), 'gpt-4o-2024-05-13').max_output_tokens, 4_096);
  t.strictSame(factsIn(at('vllm'), { id: 'mine', context_window: 8_192 }), { context_window: 8_192 });
  for (const id of ['gpt-4', 'GPT-4o', 'constructor', 'openai/gpt-4o']) t.strictSame(factsIn(at('openai'), id), {}, id);
  t.end();
});

await test('the catalogue speaks of models at addresses of their vendor alone', (t) => {
  const isKnown = (provider: ReturnType<typeof at>, id = 'gpt-4o') =>
    factsIn(provider, id).context_window !== undefined;
  t.ok(isKnown(at('openai', 'https://eu.api.openai.com/v1')));
  t.ok(isKnown(at('azure', 'https://mine.openai.azure.com/openai/v1')));
  t.ok(isKnown(at('bedrock', 'https://bedrock-runtime.eu-west-1.amazonaws.com'), 'amazon.nova-lite-v1:0'));
  t.notOk(isKnown(at('openai', 'http://127.0.0.1:8000/v1')));
  t.notOk(isKnown(at('openai', 'https://openai.com.example/v1')));
  t.notOk(isKnown(at('openai', 'https://notopenai.com/v1')));
  t.notOk(isKnown(at('openai', 'not an address')));
  t.end();
});

await test('of two catalogues, models that are new, gone or described differently are told with what differs', (t) => {
  const before = { date: '2026-01-01', source: '', models: { openai: [{ ids: ['a', 'b'], tools: true }] } };
  const groups = [
    { ids: ['a'], tools: true, context_window: 5 },
    { ids: ['c'], reasoning: true },
  ];
  t.strictSame(compareCatalogues(before, { ...before, models: { openai: groups } }), [
    { type: 'openai', id: 'a', before: {}, after: { context_window: 5 } },
    { type: 'openai', id: 'b', before: { tools: true } },
    { type: 'openai', id: 'c', after: { reasoning: true } },
  ]);
  t.strictSame(compareCatalogues(before, { ...before, models: { openai: [{ tools: true, ids: ['b', 'a'] }] } }), []);
  t.end();
});
