// Writes how an answer is to be: sampling, its length and its format.
import type { ConversationRequest, OutputFormat, Sampling } from '../conversation/conversation.ts';
import type { JsonObject } from '../json/json.ts';
import { biasOf, penaltyOf, stopsOf } from '../usual-settings.ts';
import type { Writing } from './writing.ts';

type HintMember = 'temperature' | 'topP' | 'topK' | 'seed' | 'presencePenalty' | 'frequencyPenalty';

const hints: readonly (readonly [HintMember, string])[] = [
  ['temperature', 'temperature'],
  ['topP', 'top_p'],
  ['topK', 'top_k'],
  ['seed', 'seed'],
  ['presencePenalty', 'presence_penalty'],
  ['frequencyPenalty', 'frequency_penalty'],
];

/** OpenAI's models that think refuse these, unless they say what is usual. */
const usualOfThinkers: Partial<Record<HintMember, number>> = {
  temperature: 1,
  topP: 1,
  presencePenalty: 0,
  frequencyPenalty: 0,
};

/** The sampling settings that the server accepts; others are told as hints. */
export function writeSampling(request: ConversationRequest, writing: Writing): JsonObject {
  const { sampling, thinking } = request;
  // Without thoughts the later ones take them.
  const isThinker = writing.isOwnThinker && !writing.model.startsWith('gpt-5-chat') && thinking?.mode !== 'off';
  const written: Record<string, Sampling[HintMember]> = {};
  for (const [member, name] of hints) {
    const value = sampling[member];
    if (value === undefined) continue;
    const usual = usualOfThinkers[member];
    const isRefused = isThinker && usual !== undefined && value !== usual;
    const isForeign = member === 'topK' && !writing.isOwn;
    if (writing.lacks(name) && member.endsWith('Penalty') && penaltyOf(value) === undefined) continue;
    if (isRefused || isForeign || writing.lacks(name)) writing.hint(member);
    else written[name] = value;
  }
  return { ...written, ...writeMeanings({ ...sampling, logitBias: biasOf(request) }, writing) };
}

function writeMeanings({ logitBias, logprobs, topLogprobs }: Sampling, writing: Writing): JsonObject {
  if (logitBias === undefined && logprobs === undefined && topLogprobs === undefined) return {};
  const isBiased = logitBias !== undefined && !writing.lacks('logit_bias');
  if (logitBias !== undefined && !isBiased) writing.meaning('logitBias', 'it cannot be told which tokens to prefer');
  const areLacking = writing.lacks('logprobs');
  if (areLacking && logprobs === true) writing.meaning('logprobs', 'it has no log probabilities');
  const areTopLacking = areLacking || writing.lacks('top_logprobs');
  if (areTopLacking && !areLacking && topLogprobs !== undefined) {
    writing.meaning('topLogprobs', 'it has no log probabilities of alternatives');
  }
  return {
    logit_bias: isBiased ? logitBias : undefined,
    logprobs: areLacking ? undefined : logprobs,
    top_logprobs: areTopLacking ? undefined : topLogprobs,
  };
}

/** The most tokens, under the name that the server knows. */
export function writeMaxTokens({ maxTokens }: ConversationRequest, writing: Writing): JsonObject {
  if (maxTokens === undefined) return {};
  const name = writing.quirks.maxTokens ?? (writing.isOwnThinker ? 'max_completion_tokens' : 'max_tokens');
  if (!writing.lacks(name)) return { [name]: maxTokens };
  writing.meaning('maxTokens', 'it cannot be told how long an answer may be');
  return {};
}

/** Texts at which the answer ends. */
export function writeStop(request: ConversationRequest, writing: Writing): JsonObject {
  const stop = stopsOf(request);
  if (stop.length === 0) return {};
  const isThinker = writing.isOwnThinker && !writing.isOwn;
  if (!writing.lacks('stop') && !isThinker) return { stop };
  writing.meaning('stop', 'it cannot be told where to stop');
  return {};
}

/** `response_format`. A server without schemas is asked for any JSON. */
export function writeOutput({ output }: ConversationRequest, writing: Writing): JsonObject {
  if (output === undefined) return {};
  const { outputSchema } = writing.quirks;
  if (writing.lacks('response_format')) {
    if (output.kind !== 'text') writing.meaning('output', 'it cannot be told the format of an answer');
    return {};
  }
  if (output.kind === 'text') return writing.isOwn ? { response_format: { type: 'text' } } : {};
  if (output.kind === 'json') return { response_format: { type: 'json_object' } };
  if (outputSchema !== false)
    return { response_format: { type: 'json_schema', json_schema: schemaOf(output, writing) } };
  writing.meaning('output', 'it cannot be told the schema of an answer');
  return { response_format: { type: 'json_object' } };
}

/** A schema has a name in chat. */
function schemaOf(output: OutputFormat & { readonly kind: 'schema' }, writing: Writing): JsonObject {
  const { name, description, schema, strict } = output;
  return { name: name ?? (writing.isOwn ? undefined : 'answer'), description, schema, strict };
}
