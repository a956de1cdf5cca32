// Reads the JSON answer of a Gemini model: it has the form of one chunk of a stream, and is read as one.
import type { ConversationAnswer } from '../conversation/conversation.ts';
import { AnswerFold } from '../conversation/fold-events.ts';
import { isObject, type JsonObject, listOf, objectOf, textOf } from '../json/json.ts';
import { InvalidAnswer } from '../translation.ts';
import { GeminiEventReader } from './read-events.ts';

/** Reads a `GenerateContentResponse`. Parts of text that follow one another become one. Throws an InvalidAnswer. */
export function readAnswer(body: JsonObject): ConversationAnswer {
  if (isObject(body['error'])) throw new InvalidAnswer('it is an error');
  const isBlocked = textOf(objectOf(body['promptFeedback'])?.['blockReason']) !== undefined;
  const hasCandidates = (listOf(body['candidates']) ?? []).some(isObject);
  if (!hasCandidates && !isBlocked) throw new InvalidAnswer('it has no candidates');
  const fold = new AnswerFold();
  const reader = new GeminiEventReader();
  for (const event of [...reader.readChunk(body), ...reader.end()]) fold.add(event);
  return fold.answer();
}
