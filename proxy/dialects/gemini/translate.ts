// The format of Gemini's generateContent, as far as translation needs it.
import { callForms } from '../tools/call-forms.ts';
import type { ProviderDialect } from '../translation.ts';
import { readAnswer } from './read-answer.ts';
import { readError } from './read-error.ts';
import { GeminiEventReader } from './read-events.ts';
import { writeRequest } from './write-request.ts';

/** Google's Gemini API and Vertex AI. */
export const geminiTranslation: ProviderDialect = {
  name: 'gemini',
  callForms: callForms.gemini,
  writeRequest,
  readAnswer,
  eventReader: () => new GeminiEventReader(),
  readError,
};
