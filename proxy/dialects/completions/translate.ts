// The older text completions, for clients alone: no provider is asked in this format through translation.
import type { ClientDialect } from '../translation.ts';
import { readRequest } from './read-request.ts';
import { writeAnswer } from './write-answer.ts';
import { CompletionWriter } from './write-events.ts';

export const completionsTranslation: ClientDialect = {
  name: 'completions',
  readRequest,
  writeAnswer,
  eventWriter: (context) => new CompletionWriter(context),
};
