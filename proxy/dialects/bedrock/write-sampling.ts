// Writes how the next token is chosen, as far as the model lets itself be told.
import type { ConversationRequest } from '../conversation/conversation.ts';
import { type JsonObject, type JsonValue, numberOf } from '../json/json.ts';
import type { Writing } from './writing.ts';

/** Where Claude thinks, it takes no other temperature than 1, and no smaller `topP`. */
const smallestTopP = 0.95;

export interface WrittenSampling {
  readonly temperature?: JsonValue | undefined;
  readonly topP?: JsonValue | undefined;
  /** Further members of the request. */
  readonly fields: JsonObject;
}

/** Converse refuses a hotter one. */
const hottest = 1;

/**
 * `thinks`: the request asks for thoughts. A value that the model would refuse is left out as a hint; a default value
 * is left out silently.
 */
export function writeSampling({ sampling }: ConversationRequest, thinks: boolean, writing: Writing): WrittenSampling {
  const { family, hasSampling, takesOneSampling } = writing.traits;
  const take = (
    member: 'temperature' | 'topP' | 'topK',
    isTaken: (value: number) => boolean,
  ): JsonValue | undefined => {
    const value = sampling[member];
    const number = numberOf(value) ?? 0;
    if (value === undefined || (hasSampling && isTaken(number))) return value;
    if (member === 'topK' || number !== 1) writing.hint(member);
    return undefined;
  };
  const asked = take('temperature', (value) => !thinks || value === 1);
  const isHot = (numberOf(asked) ?? 0) > hottest;
  if (isHot) writing.hint('temperature');
  const temperature = isHot ? hottest : asked;
  const isAlone = temperature === undefined || !takesOneSampling;
  const topP = take('topP', (value) => isAlone && (!thinks || value >= smallestTopP));
  const topK = take('topK', () => family === 'claude' && !thinks);
  return { temperature, topP, fields: topK === undefined ? {} : { top_k: topK } };
}
