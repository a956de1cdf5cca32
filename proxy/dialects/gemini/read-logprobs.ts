// Log probabilities of the tokens of an answer, in the form that OpenAI gave them.
import { type JsonObject, type JsonValue, listOf, objectOf, textOf } from '../json/json.ts';

/** Reads a `logprobsResult`: one entry per chosen token, with its alternatives. */
export function readLogprobs(result: JsonObject): readonly JsonValue[] {
  const alternatives = listOf(result['topCandidates']) ?? [];
  return (listOf(result['chosenCandidates']) ?? []).map((chosen, index) => {
    const others = listOf(objectOf(alternatives[index])?.['candidates']) ?? [];
    return { ...tokenOf(chosen), top_logprobs: others.map(tokenOf) };
  });
}

function tokenOf(candidate: JsonValue): JsonObject {
  const { token, logProbability } = objectOf(candidate) ?? {};
  const text = textOf(token) ?? '';
  return { token: text, logprob: logProbability ?? 0, bytes: [...Buffer.from(text)] };
}
