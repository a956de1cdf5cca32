// The Responses format (OpenAI) as clients and as providers speak it.
import { RepeatingReader } from '../repeating-reader.ts';
import { callForms } from '../tools/call-forms.ts';
import type { ClientDialect, ProviderDialect } from '../translation.ts';
import { flatRequest } from './flat-request.ts';
import { readAnswer } from './read/read-answer.ts';
import { readError } from './read/read-error.ts';
import { ResponsesEventReader } from './read/read-events.ts';
import { readRequest } from './read/read-request.ts';
import { writeAnswer } from './write-answer.ts';
import { ResponsesEventWriter } from './write-events.ts';
import { writeRequest } from './write-request.ts';

export const responsesTranslation: ClientDialect & ProviderDialect = {
  name: 'responses',
  callForms: callForms.responses,
  readRequest,
  forOthers: flatRequest,
  writeRequest,
  readAnswer,
  writeAnswer,
  eventReader: () => new RepeatingReader(new ResponsesEventReader()),
  eventWriter: (context) => new ResponsesEventWriter(context),
  readError,
};
