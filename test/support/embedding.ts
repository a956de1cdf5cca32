// Embeddings whose similarity a test decides by the text.
import type { Behaviour, Entry } from './fake-upstream.ts';

/**
 * The answer to a question for an embedding. A text that ends with `@0.95` is as similar as that to one that ends with `@1`. `length`: of
 * its vector, at least 2 numbers.
 */
export function vectorOf(entry: Entry, length = 4): Behaviour {
  const { input, encoding_format } = entry.json() as { input: string; encoding_format: string };
  const cosine = Number(/@([\d.]+)$/.exec(input)?.[1] ?? 0);
  const vector = new Float32Array(length);
  vector.set([cosine, Math.sqrt(1 - cosine * cosine)]);
  const embedding = encoding_format === 'base64' ? Buffer.from(vector.buffer).toString('base64') : [...vector];
  const body = { object: 'list', model: 'e', data: [{ object: 'embedding', index: 0, embedding }] };
  return { kind: 'json', body: { ...body, usage: { prompt_tokens: 5, total_tokens: 5 } } };
}
