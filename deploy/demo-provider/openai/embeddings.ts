// The embeddings of the demo provider: unit vectors that depend on the words alone.
import { digest, tokenise } from '../answers.ts';
import { type Body, isList, Refusal, readPositive } from '../requests.ts';

const mostDimensions = 256;
/** As OpenAI has it. */
const mostInputs = 2048;

type EmbeddingInput = string | number[];

/** The answer to a request for embeddings from `model`. */
export function createEmbeddings(model: string, body: Body): object {
  const inputs = readInputs(body['input']);
  const format = body['encoding_format'] ?? 'float';
  if (format !== 'float' && format !== 'base64') {
    throw new Refusal(400, "'encoding_format' must be 'float' or 'base64'.", 'encoding_format', 'invalid_value');
  }
  const dimensions = readPositive(body, 'dimensions') ?? mostDimensions;
  if (dimensions > mostDimensions) {
    throw new Refusal(400, `'dimensions' must be at most ${mostDimensions}.`, 'dimensions', 'invalid_value');
  }
  const data = inputs.map((input, index) => {
    const vector = embed(input, dimensions);
    const embedding = format === 'float' ? [...vector] : Buffer.from(vector.buffer).toString('base64');
    return { object: 'embedding', index, embedding };
  });
  const size = (input: EmbeddingInput) => (typeof input === 'string' ? tokenise(input).length : input.length);
  const prompt = inputs.reduce((sum, input) => sum + size(input), 0);
  return { object: 'list', data, model, usage: { prompt_tokens: prompt, total_tokens: prompt } };
}

/** The texts (or lists of token ids) to embed. */
function readInputs(input: unknown): EmbeddingInput[] {
  const list = isList(input) && !isTokenIds(input) ? input : [input];
  const isUsable = (item: unknown): item is EmbeddingInput =>
    isTokenIds(item) || (typeof item === 'string' && item !== '');
  if (list.length > mostInputs) {
    throw new Refusal(400, `'input' must have at most ${mostInputs} items.`, 'input', 'array_above_max_length');
  }
  if (list.length > 0 && list.every(isUsable)) return list;
  throw new Refusal(400, "'input' must be text, token ids, or a list of either; none empty.", 'input', 'invalid_type');
}

/** A unit vector for a text (or a list of token ids). Texts that share words point in similar directions. */
export function embed(input: string | readonly number[], dimensions: number): Float32Array {
  const words = typeof input === 'string' ? (input.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []) : input.map(String);
  const sum = new Float64Array(dimensions);
  for (const word of words.length === 0 ? [`\0${String(input)}`] : words) addWord(sum, word);
  const length = Math.hypot(...sum);
  return Float32Array.from(sum, (value) => value / length);
}

function addWord(sum: Float64Array, word: string): void {
  let state = Number.parseInt(digest(word).slice(0, 8), 16) || 1;
  for (let index = 0; index < sum.length; index += 1) {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    sum[index] = (sum[index] ?? 0) + state / 2 ** 31;
  }
}

function isTokenIds(value: unknown): value is number[] {
  return isList(value) && value.length > 0 && value.every(Number.isInteger);
}
