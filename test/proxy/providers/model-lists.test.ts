// What providers say of their models, in each format, as their documentation shows it.
import { test } from 'tap';
import { atOnce } from '../../../proxy/pacing/slices.ts';
import { modelLists } from '../../../proxy/providers/model-lists.ts';

const readText = (format: keyof typeof modelLists, text: string) => atOnce(modelLists[format](Buffer.from(text)));
const read = (format: keyof typeof modelLists, said: unknown) => readText(format, JSON.stringify(said));

await test('each format gives the ids that requests name', async (t) => {
  const data = [
    { type: 'model', id: 'claude-opus-4-20250514', display_name: 'Claude Opus 4' },
    { type: 'model', id: 'b' },
  ];
  t.same(read('anthropic', { data, has_more: false }), ['claude-opus-4-20250514', 'b']);
  t.same(read('openai', [{ id: 'a' }, { id: 7 }, null]), ['a', 7, undefined], 'the caller leaves out what is no id');
  const models = [
    { name: 'models/gemini-2.5-flash', supportedGenerationMethods: ['generateContent', 'countTokens'] },
    { name: 'models/gemini-embedding-001', supportedGenerationMethods: ['embedContent'] },
    { name: 'models/veo-3', supportedGenerationMethods: ['predictLongRunning'] },
    { name: 'models/silent' },
    null,
  ];
  t.same(read('gemini', { models }), ['gemini-2.5-flash', 'gemini-embedding-001', 'silent', undefined]);
  const ofCohere = [
    { name: 'command-a-03-2025', endpoints: ['chat', 'generate'] },
    { name: 'embed-v4.0', endpoints: ['embed'] },
    { name: 'rerank-v3.5', endpoints: ['rerank'] },
  ];
  t.same(read('cohere', { models: ofCohere }), ['command-a-03-2025', 'embed-v4.0']);
});

await test('what is no list is none', async (t) => {
  for (const format of Object.keys(modelLists) as (keyof typeof modelLists)[]) {
    for (const text of ['', '{', 'null', '{}', '7', '{"models":7,"data":7}', '{"error":{"message":"no"}}'])
      t.equal(readText(format, text), undefined, `${format}: ${text}`);
    for (const text of ['{"a":1', '{"a" 1}', '[{"id":"a"', '[{"id":"a"} 1]', '[{"id":a}]', '[x]'])
      t.throws(() => readText(format, text), `${format}: ${text}`);
  }
});
