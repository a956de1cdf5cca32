// The embedding of a text, as a model gives it: a list of numbers, or the same as base64.
import { type JsonObject, listOf, numberOf, objectOf, textOf } from '../dialects/json/json.ts';

export type Vector = Float32Array<ArrayBuffer>;

export interface Embedding {
  readonly vector: Vector;
  /** The model as its provider names it; empty: it does not. */
  readonly model: string;
}

/** Asks a model, in the name of a request. */
export interface Embedder {
  /** Identifies the model and its address: embeddings of different ones are never compared. */
  readonly identity: string;
  /** The answer of an endpoint for embeddings. Rejects with a Refusal. */
  embed(text: string, timeoutMs: number): Promise<JsonObject>;
}

/** Longer ones are not compared. Numbers. */
const longest = 8_192;
const bytesOfNumber = 4;

/** Undefined: there is none that can be compared, because it is empty, too long, no numbers, or only zeros. */
export function readEmbedding(answer: JsonObject): Embedding | undefined {
  const given = objectOf(listOf(answer['data'])?.[0])?.['embedding'];
  const vector = typeof given === 'string' ? vectorOfBase64(given) : vectorOfList(listOf(given) ?? []);
  const isUsable = vector.length > 0 && vector.length <= longest && vector.every(Number.isFinite);
  if (!isUsable || vector.every((part) => part === 0)) return undefined;
  return { vector, model: textOf(answer['model']) ?? '' };
}

/** Numbers of 32 bits, the lowest byte first. */
function vectorOfBase64(text: string): Vector {
  const bytes = Buffer.from(text, 'base64');
  const length = bytes.length % bytesOfNumber === 0 ? bytes.length / bytesOfNumber : 0;
  return Float32Array.from({ length }, (_, index) => bytes.readFloatLE(index * bytesOfNumber));
}

function vectorOfList(list: readonly unknown[]): Vector {
  return Float32Array.from(list, (part) => numberOf(part as number) ?? Number.NaN);
}
