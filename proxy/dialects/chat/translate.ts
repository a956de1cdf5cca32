// Chat completions as one of the dialects that are translated.
import { RepeatingReader } from '../repeating-reader.ts';
import { callForms } from '../tools/call-forms.ts';
import type { ClientDialect, ProviderDialect } from '../translation.ts';
import { readAnswer } from './read/read-answer.ts';
import { readError } from './read/read-error.ts';
import { ChunkReader } from './read/read-events.ts';
import { readRequest } from './read/read-request.ts';
import { writeAnswer } from './write-answer.ts';
import { ChunkWriter } from './write-events.ts';
import { writeRequest } from './write-request.ts';

/** For clients, and for OpenAI and every server that is compatible with it. */
export const chatTranslation: ClientDialect & ProviderDialect = {
  name: 'chat',
  callForms: callForms.chat,
  readRequest,
  writeRequest,
  readAnswer,
  writeAnswer,
  eventReader: () => new RepeatingReader(new ChunkReader()),
  eventWriter: (context) => new ChunkWriter(context),
  readError,
};
