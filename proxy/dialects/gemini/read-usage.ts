// Tokens as Gemini counts them: thoughts stand beside the answer, and what its own tools read beside the prompt.
import type { ConversationUsage } from '../conversation/conversation.ts';
import { type JsonObject, listOf, numberOf, objectOf } from '../json/json.ts';

/** Reads a `usageMetadata`. What it does not name counts as 0, or stays unknown where the conversation knows that. */
export function readUsage(usage: JsonObject): ConversationUsage {
  const thoughts = numberOf(usage['thoughtsTokenCount']);
  return {
    inputTokens: count(usage['promptTokenCount']) + count(usage['toolUsePromptTokenCount']),
    outputTokens: count(usage['candidatesTokenCount']) + (thoughts ?? 0),
    totalTokens: numberOf(usage['totalTokenCount']),
    cachedTokens: numberOf(usage['cachedContentTokenCount']),
    reasoningTokens: thoughts,
    audioInputTokens: audioIn(usage['promptTokensDetails']),
    cachedAudioTokens: audioIn(usage['cacheTokensDetails']),
    audioOutputTokens: audioIn(usage['candidatesTokensDetails']),
  };
}

/** Of the tokens by modality, those of sound. */
function audioIn(details: JsonObject[string]): number | undefined {
  const audio = listOf(details)
    ?.map(objectOf)
    .find((each) => each?.['modality'] === 'AUDIO');
  return numberOf(audio?.['tokenCount']);
}

function count(value: JsonObject[string]): number {
  return numberOf(value) ?? 0;
}
