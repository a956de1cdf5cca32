// Embeddings whose similarity a test decides by the text.
import type { Behaviour, Entry } from './fake-upstream.ts';

/**
 * The answer to a question for an embedding. A text that ends with `@0.95` is as similar as that to one that ends with `@1`; one with `@1/1` is
 * similar to none of them, but to one with `@0.95/1`. `length`: of its vector, at least 2 numbers, and 2 more for each further number.
 */
export function vectorOf(entry: Entry, length = 4): Behaviour {
  const { input, encoding_format } = entry.json() as { input: string; encoding_format: string };
  const [, said = 0, direction = 0] = /@([\d.]+)(?:\/(\d+))?$/.exec(input) ?? [];
  const cosine = Number(said);
  const vector = new Float32Array(length);
  vector.set([cosine, Math.sqrt(1 - cosine * cosine)], 2 * Number(direction));
  const embedding = encoding_format === 'base64' ? Buffer.from(vector.buffer).toString('base64') : [...vector];
  const body = { object: 'list', model: 'e', data: [{ object: 'embedding', index: 0, embedding }] };
  return { kind: 'json', body: { ...body, usage: { prompt_tokens: 5, total_tokens: 5 } } };
}
