// How near two texts are by their meaning: the cosine of their embeddings, which one call asks for.
import { readEmbedding, type Vector } from '../../cache/embedding.ts';
import { listOf } from '../../dialects/json/json.ts';
import { askModel } from '../question/ask-model.ts';
import type { AuxiliaryParts, ServedRequest } from '../question/question.ts';

const asker = { purpose: 'mirror', name: 'similarity' } as const;
/** No request waits for it. Milliseconds. */
const timeoutMs = 30_000;

/** From −1 to 1; undefined: the model gave no embeddings that can be compared. Rejects with a Refusal. */
export async function similarityOf(
  texts: readonly [string, string],
  model: string,
  served: ServedRequest,
  parts: AuxiliaryParts,
): Promise<number | undefined> {
  if (texts[0] === texts[1]) return 1;
  // Shorter than a list of numbers, and as exact as what is compared.
  const body = { model, input: [...texts], encoding_format: 'base64' };
  const answer = await askModel({ ...asker, operation: 'embeddings', body, timeoutMs }, served, parts);
  const [one, other] = (listOf(answer['data']) ?? []).map((given) => readEmbedding({ data: [given] })?.vector);
  return one === undefined || other === undefined || one.length !== other.length ? undefined : cosine(one, other);
}

function cosine(one: Vector, other: Vector): number {
  let [product, ofOne, ofOther] = [0, 0, 0];
  for (let index = 0; index < one.length; index += 1) {
    const [x = 0, y = 0] = [one[index], other[index]];
    product += x * y;
    ofOne += x * x;
    ofOther += y * y;
  }
  return product / Math.sqrt(ofOne * ofOther);
}
