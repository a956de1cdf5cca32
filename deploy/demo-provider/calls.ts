// The demo provider's answers to JSON calls, by endpoint. Batches make the same calls.

import { digest } from './answers.ts';
import { type MessageStyle, writeMessage } from './messages/messages.ts';
import { readMessages } from './messages/messages-request.ts';
import { type Answer, answer, countInput } from './model.ts';
import { writeChat } from './openai/chat.ts';
import { readChat } from './openai/chat-request.ts';
import { createEmbeddings } from './openai/embeddings.ts';
import { moderate } from './openai/moderations.ts';
import { rank } from './openai/ranks.ts';
import { writeResponse } from './openai/responses.ts';
import { readResponses } from './openai/responses-request.ts';
import { mintSecret } from './realtime/secrets.ts';
import { type Body, isObject, requireModel } from './requests.ts';

export const chatModels: readonly string[] = ['demo-small', 'demo-large'];
export const embeddingModel = 'demo-embedding';

/** Answers that are not streamed, by their path below the version. */
export const calls: Readonly<Record<string, (body: Body) => object>> = {
  '/chat/completions': (body) => writeChat(answerChat(body), seedOf(body)),
  '/responses': (body) => writeResponse(answerResponses(body), seedOf(body), body),
  '/messages': (body) => writeMessage(answerMessages(body), styleOf(body)),
  '/messages/count_tokens': (body) => ({
    input_tokens: countInput(readMessages(requireModel(body['model'], chatModels), body, 'count')),
  }),
  '/embeddings': (body) => createEmbeddings(requireModel(body['model'], [embeddingModel]), body),
  '/moderations': moderate,
  '/rerank': rank,
  '/realtime/client_secrets': (body) => mintSecret(body, Date.now()),
};

/** The answer to chat completions. */
export function answerChat(body: Body): Answer {
  return answer(readChat(requireModel(body['model'], chatModels), body));
}

/** The answer to responses. */
export function answerResponses(body: Body): Answer {
  return answer(readResponses(requireModel(body['model'], chatModels), body));
}

/** The answer to messages. */
export function answerMessages(body: Body): Answer {
  return answer(readMessages(requireModel(body['model'], chatModels), body, 'answer'));
}

/** How an answer to messages is written. */
export function styleOf(body: Body): MessageStyle {
  const thinking = isObject(body['thinking']) ? body['thinking'] : {};
  return { seed: seedOf(body), showsThoughts: thinking['display'] !== 'omitted' };
}

/** Ids come from the body, so that equal requests get equal answers, streamed or not. */
export function seedOf(body: Body): string {
  return digest(JSON.stringify({ ...body, stream: undefined, stream_options: undefined }));
}
