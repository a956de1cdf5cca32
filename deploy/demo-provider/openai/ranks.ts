// Ranking: documents in the order of the words that they share with a question, in the shapes of Cohere and of Jina at once.
import { digest, tokenise } from '../answers.ts';
import { type Body, isList, isObject, Refusal, readPositive, requireModel } from '../requests.ts';
import { embed } from './embeddings.ts';

export const rankModel = 'demo-rerank';

const mostDocuments = 1000;
const dimensions = 256;

/** The answer to a request for ranking. */
export function rank(body: Body): object {
  const model = requireModel(body['model'], [rankModel]);
  const { query } = body;
  if (typeof query !== 'string' || query === '') {
    throw new Refusal(400, "'query' must be a text that is not empty.", 'query', 'invalid_type');
  }
  const texts = readDocuments(body['documents']);
  const most = readPositive(body, 'top_n') ?? texts.length;
  const asked = embed(query, dimensions);
  const results = texts
    .map((text, index) => ({
      index,
      relevance_score: likeness(asked, embed(text, dimensions)),
      ...(body['return_documents'] === true && { document: { text } }),
    }))
    .sort((one, other) => other.relevance_score - one.relevance_score)
    .slice(0, most);
  const tokens = [query, ...texts].reduce((sum, text) => sum + tokenise(text).length, 0);
  return {
    id: digest(JSON.stringify(body)).slice(0, 32),
    object: 'list',
    model,
    results,
    meta: { api_version: { version: '2' }, billed_units: { search_units: 1 } },
    usage: { total_tokens: tokens },
  };
}

/** Texts, or objects with one. */
function readDocuments(documents: unknown): string[] {
  const list = isList(documents) ? documents.map((item) => (isObject(item) ? item['text'] : item)) : [];
  if (list.length > 0 && list.length <= mostDocuments && list.every((item) => typeof item === 'string')) return list;
  const message = `'documents' must be a list of 1 to ${mostDocuments} texts, or of objects with a 'text'.`;
  throw new Refusal(400, message, 'documents', 'invalid_type');
}

/** From 0 to 1: the cosine of two unit vectors. */
function likeness(one: Float32Array, other: Float32Array): number {
  const sum = one.reduce((total, value, index) => total + value * (other[index] ?? 0), 0);
  return Math.min(1, Math.max(0, sum));
}
