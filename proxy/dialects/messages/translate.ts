// The dialect `messages` for translation: Anthropic's Messages, as clients and as providers speak it.
import { RepeatingReader } from '../repeating-reader.ts';
import { callForms } from '../tools/call-forms.ts';
import type { ClientDialect, ProviderDialect } from '../translation.ts';
import { readAnswer } from './read/read-answer.ts';
import { readError } from './read/read-error.ts';
import { MessagesReader } from './read/read-events.ts';
import { readRequest } from './read/read-request.ts';
import { writeAnswer } from './write-answer.ts';
import { MessagesWriter } from './write-events.ts';
import { writeRequest } from './write-request.ts';

export const messagesTranslation: ClientDialect & ProviderDialect = {
  name: 'messages',
  callForms: callForms.messages,
  readRequest,
  writeRequest,
  readAnswer,
  writeAnswer,
  eventReader: () => new RepeatingReader(new MessagesReader()),
  eventWriter: (context) => new MessagesWriter(context),
  readError,
};
