// Bedrock's Converse as a format that providers speak. Its models are configured: their list stands on another host.
import { callForms } from '../tools/call-forms.ts';
import type { ProviderDialect } from '../translation.ts';
import { EventStreamSplitter } from './event-stream.ts';
import { readAnswer } from './read-answer.ts';
import { readError } from './read-error.ts';
import { BedrockEventReader } from './read-events.ts';
import { writeRequest } from './write-request.ts';

export const bedrockTranslation = {
  name: 'bedrock',
  callForms: callForms.bedrock,
  writeRequest,
  readAnswer,
  eventReader: () => new BedrockEventReader(),
  eventSplitter: () => new EventStreamSplitter(),
  readError,
} as const satisfies ProviderDialect;
