// The tokens that a provider's event reports: of a response that is over, and of a transcript of the client's words.
import { objectOf, parseObject } from '../dialects/json/json.ts';
import { type TokenUsage, tokenUsageOf } from '../tokens/token-usage.ts';

const responseDone = 'response.done';
const transcribed = 'conversation.item.input_audio_transcription.completed';
/** Within a text of the event the quotes would be escaped. */
const marks = [Buffer.from(`"${responseDone}"`), Buffer.from(`"${transcribed}"`)];
/** It holds what was said as text, never as sound. Bytes. */
const longestEvent = 4 * 1024 * 1024;

/**
 * The tokens of a response that is over, or of a transcript; undefined for every other event. Most are not even parsed. `isTranscribing`:
 * the session is one of transcripts alone, so that they are made by its model; in a conversation another model makes them.
 */
export function usageOfEvent(event: Buffer, isTranscribing: boolean): TokenUsage | undefined {
  if (event.length > longestEvent || !marks.some((mark) => event.includes(mark))) return undefined;
  const { type, response, usage } = parseObject(event.toString()) ?? {};
  if (type === responseDone) return tokenUsageOf(objectOf(response)?.['usage']);
  const transcript = type === transcribed ? tokenUsageOf(usage) : undefined;
  return transcript === undefined || isTranscribing ? transcript : { ...transcript, isOfOtherModel: true };
}
