// Writes how tokens are chosen, as far as Anthropic's models let others choose.
import type { Sampling } from '../conversation/conversation.ts';
import { fieldName } from '../field-names.ts';
import { type JsonObject, numberOf } from '../json/json.ts';
import { biasOf, penaltyOf } from '../usual-settings.ts';
import type { Writing } from './writing.ts';

/** Hotter than this nothing is. */
const hottest = 1;
/** With thoughts, at least so much of the probable is chosen from. */
const leastTopP = 0.95;

/** `thinks`: the model is asked for thoughts. */
export function writeSampling(writing: Writing, thinks: boolean): JsonObject {
  const { losses, request, traits } = writing;
  const { sampling, dialect } = request;
  tellLosses(sampling, writing);
  const { temperature, topP, topK } = sampling;
  if (dialect === 'messages') return { temperature, top_p: topP, top_k: topK };
  const heat = numberOf(temperature);
  // All of what is probable: as is usual.
  const share = numberOf(topP) === 1 ? undefined : numberOf(topP);
  const isHot = heat !== undefined && heat > hottest;
  const keepsHeat = heat === undefined || heat === 1 || (!thinks && traits.hasSampling);
  const isAlone = heat === undefined || !traits.takesOneSampling;
  const keepsShare = share === undefined || (isAlone && traits.hasSampling && (!thinks || share >= leastTopP));
  const keepsTopK = topK === undefined || (!thinks && traits.hasSampling);
  if (isHot || !keepsHeat) losses.hint(fieldName('temperature', dialect));
  if (!keepsShare) losses.hint(fieldName('topP', dialect));
  if (!keepsTopK) losses.hint(fieldName('topK', dialect));
  // A default is left out, because some models refuse every value.
  const isUsual = !traits.hasSampling || (thinks && heat === 1);
  return {
    temperature: !keepsHeat || isUsual ? undefined : isHot ? hottest : temperature,
    top_p: keepsShare && share !== undefined ? topP : undefined,
    top_k: keepsTopK ? topK : undefined,
  };
}

/** Tells the settings that Anthropic does not have. A penalty or bias of 0 is no loss. */
function tellLosses(sampling: Sampling, { losses, request }: Writing): void {
  const { dialect } = request;
  if (sampling.seed !== undefined) losses.hint(fieldName('seed', dialect));
  for (const key of ['presencePenalty', 'frequencyPenalty'] as const) {
    if (penaltyOf(sampling[key]) !== undefined) losses.meaning(fieldName(key, dialect), 'it has no penalties');
  }
  if (biasOf(request) !== undefined) losses.meaning(fieldName('logitBias', dialect), 'it has no bias of tokens');
  if (sampling.logprobs === true) losses.meaning(fieldName('logprobs', dialect), 'it has no log probabilities');
}
