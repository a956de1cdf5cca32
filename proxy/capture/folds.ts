// Which fold makes an answer of a stream, by the operation that was asked for.
import { ChunkReader } from '../dialects/chat/read/read-events.ts';
import { chatTranslation } from '../dialects/chat/translate.ts';
import { CompletionReader } from '../dialects/completions/read-events.ts';
import { completionsTranslation } from '../dialects/completions/translate.ts';
import type { Operation } from '../dialects/dialect.ts';
import { messagesTranslation } from '../dialects/messages/translate.ts';
import { responsesTranslation } from '../dialects/responses/translate.ts';
import { ChoicesFold } from './choices-fold.ts';
import { ReadFold, ResponseFold, type StreamFold } from './stream-fold.ts';

const chat = (): StreamFold => new ChoicesFold(() => new ChunkReader(), chatTranslation);

const folds: Readonly<Partial<Record<Operation, () => StreamFold>>> = {
  chat,
  chat_of_input: chat,
  completions: () => new ChoicesFold(() => new CompletionReader(), completionsTranslation),
  messages: () =>
    new ReadFold(messagesTranslation.eventReader(), messagesTranslation, (written) => ({
      ...written,
      stop_reason: null,
    })),
  responses: () => {
    const unfinished = { status: 'incomplete', completed_at: undefined };
    const read = new ReadFold(responsesTranslation.eventReader(), responsesTranslation, (written) => ({
      ...written,
      ...unfinished,
    }));
    return new ResponseFold(read);
  },
};

/** A new fold; undefined: such streams have no other form. */
export function foldFor(operation: Operation | undefined): StreamFold | undefined {
  return operation === undefined ? undefined : folds[operation]?.();
}
