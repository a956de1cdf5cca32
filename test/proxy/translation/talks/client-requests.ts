// Conversations as bodies of requests, in each format that clients speak, beside what the body tells.
import { askChat, askCompletions } from './ask-chat.ts';
import { askMessages } from './ask-messages.ts';
import { askResponses } from './ask-responses.ts';
import type { ClientName, Talk } from './talk.ts';
import type { ClientBody } from './told.ts';

/** The body of a request. */
export function requestOf(client: ClientName, talk: Talk): ClientBody {
  return writers[client](talk);
}

const writers: Readonly<Record<ClientName, (talk: Talk) => ClientBody>> = {
  chat: askChat,
  messages: askMessages,
  responses: askResponses,
  completions: askCompletions,
};
