// Which price a model has: never that of another model, of another party, or of another region.
import { test } from 'tap';
import list from '../../../domain/prices/list-prices.json' with { type: 'json' };
import { listPricing, pricingIn } from '../../../domain/prices/price-book.ts';
import { defaultAddresses } from '../../../schemas/provider-addresses.ts';
import type { Provider } from '../../../schemas/types.ts';
import { config as isConfig } from '../../../schemas/validation/generated/config.js';

const at = (type: Provider['type'], address = defaultAddresses[type] ?? '') => ({ type, base_url: address });
const usage = { prices: {}, list_prices: true };
const input = (provider: ReturnType<typeof at>, model: Parameters<typeof pricingIn>[1], settings = usage) =>
  pricingIn(provider, model, settings)?.input_per_mtok;

await test('the list is dated, says its source, and every price of it could stand in a configuration', (t) => {
  t.match(list, { date: /^\d{4}-\d{2}-\d{2}$/, source: /\w/ });
  t.ok(Object.values(list.prices).flatMap((prices) => Object.keys(prices)).length > 150);
  const known = Object.entries(list.prices).map(([type, prices]) => [
    type,
    Object.fromEntries(Object.entries(prices).filter(([, pricing]) => pricing !== null)),
  ]);
  t.ok(isConfig({ usage: { prices: Object.fromEntries(known) as object } }), JSON.stringify(isConfig.errors));
  t.end();
});

await test('the nearest price wins: of the model, of the configuration, of the list', (t) => {
  const prices = { openai: { 'gpt-4o': { input_per_mtok: 7, output_per_mtok: 8 } } };
  const openai = at('openai');
  const priced = { id: 'gpt-4o', pricing: { input_per_mtok: 1, output_per_mtok: 2 } };
  t.equal(input(openai, priced, { prices, list_prices: true }), 1);
  t.equal(input(openai, 'gpt-4o', { prices, list_prices: true }), 7);
  t.equal(input(at('openai', 'http://127.0.0.1:8000/v1'), 'gpt-4o', { prices, list_prices: true }), 7);
  t.equal(input(openai, { id: 'gpt-4o' }), 2.5);
  t.equal(input(openai, 'gpt-4o', { prices: {}, list_prices: false }), undefined);
  t.equal(input(openai, 'gpt-4o', { prices, list_prices: false }), 7);
  t.end();
});

await test('what clients pay by their own subscription costs nothing, unless the model says a price', (t) => {
  const own = { ...at('anthropic'), auth: 'client' as const };
  const prices = { anthropic: { 'claude-sonnet-4-5': { input_per_mtok: 7, output_per_mtok: 8 } } };
  t.same(pricingIn(own, 'claude-sonnet-4-5', { prices, list_prices: true }), { input_per_mtok: 0, output_per_mtok: 0 });
  t.equal(input(own, { id: 'claude-sonnet-4-5', pricing: { input_per_mtok: 1, output_per_mtok: 2 } }), 1);
  t.end();
});

await test('a dated snapshot has its own price, else that of its model; nothing else is guessed', (t) => {
  t.equal(listPricing('openai', 'gpt-4o')?.input_per_mtok, 2.5);
  t.equal(listPricing('openai', 'gpt-4o-2024-05-13')?.input_per_mtok, 5, 'dearer than the model is now');
  t.equal(listPricing('openai', 'gpt-4o-2026-01-31')?.input_per_mtok, 2.5);
  t.equal(listPricing('anthropic', 'claude-haiku-4-5-20260131')?.input_per_mtok, 1);
  t.equal(listPricing('azure', 'gpt-5.1-codex-2025-11-13'), undefined, 'the list says that it is not known');
  const unknown =
    'gpt-4o-mini-x gpt-4 GPT-4o gpt-4o-0806 gpt-4o-2024 gpt-4o-2024-08 ft:gpt-4o-2024-08-06:org openai/gpt-4o';
  for (const id of `${unknown} constructor __proto__ toString`.split(' '))
    t.equal(listPricing('openai', id), undefined, id);
  t.equal(listPricing('vllm', 'gpt-4o'), undefined);
  t.equal(listPricing('ollama', 'constructor'), undefined);
  t.end();
});

await test('list prices hold at the address of the type alone', (t) => {
  const haiku = 'us.anthropic.claude-haiku-4-5-20251001-v1:0';
  const rows: readonly (readonly [ReturnType<typeof at>, string, number | undefined])[] = [
    [at('openai'), 'gpt-4o', 2.5],
    [at('openai', 'https://eu.api.openai.com/v1'), 'gpt-4o', undefined],
    [at('openai', 'http://localhost:8000/v1'), 'gpt-4o', undefined],
    [at('azure', 'https://mine.openai.azure.com/openai/v1'), 'gpt-4o', 2.5],
    [at('azure', 'https://openai.azure.com.example/v1'), 'gpt-4o', undefined],
    [at('bedrock', 'https://bedrock-runtime.us-east-1.amazonaws.com'), haiku, 1.1],
    [at('bedrock', 'https://bedrock-runtime.eu-west-1.amazonaws.com'), haiku, undefined],
    [at('bedrock', 'https://bedrock-runtime.us-east-1.amazonaws.com.example'), haiku, undefined],
  ];
  for (const [provider, model, expected] of rows)
    t.equal(input(provider, model), expected, `${provider.base_url} ${model}`);
  t.end();
});
