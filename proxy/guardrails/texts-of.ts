// Where the texts of requests and answers stand, by what is asked for.
import { answerTexts as chatAnswer } from '../dialects/chat/answer-texts.ts';
import { eventTexts as chatEvents } from '../dialects/chat/event-texts.ts';
import { requestTexts as chatRequest } from '../dialects/chat/request-texts.ts';
import { requestTexts as completionRequest, inputTexts } from '../dialects/completions/request-texts.ts';
import type { Operation } from '../dialects/dialect.ts';
import type { EditableObject } from '../dialects/editing.ts';
import { answerTexts as messageAnswer } from '../dialects/messages/answer-texts.ts';
import { eventTexts as messageEvents } from '../dialects/messages/event-texts.ts';
import { requestTexts as messageRequest } from '../dialects/messages/request-texts.ts';
import { answerTexts as responseAnswer } from '../dialects/responses/answer-texts.ts';
import { eventTexts as responseEvents } from '../dialects/responses/event-texts.ts';
import { requestTexts as responseRequest } from '../dialects/responses/request-texts.ts';
import type { AnswerTexts, RequestTexts, StreamTexts } from '../dialects/texts.ts';
import { type MediaOperation, mediaPaths } from '../providers/row.ts';

/** The operations whose texts are guarded. */
export type GuardedOperation = Operation | MediaOperation;

/** The texts of an operation. */
export interface OperationTexts {
  readonly request: (body: EditableObject) => RequestTexts;
  /** Absent: its answers say nothing in words. */
  readonly answer?: (body: EditableObject) => AnswerTexts;
  readonly events?: StreamTexts<EditableObject>;
  /** The member of an answer that repeats the system prompt. */
  readonly repeats?: string;
}

/** Chat that is asked in the words of Responses says how long its answer may be in those of either. */
const mixedLengths = ['max_output_tokens', 'max_completion_tokens', 'max_tokens'];
const chat = { request: chatRequest, answer: chatAnswer, events: chatEvents };
const responses = {
  request: (body: EditableObject) => responseRequest(body),
  answer: responseAnswer,
  events: responseEvents,
  repeats: 'instructions',
};

/** All that is said in the body of a request to media is looked at. */
const media = Object.fromEntries(Object.keys(mediaPaths).map((name) => [name, { request: inputTexts }])) as Readonly<
  Record<MediaOperation, OperationTexts>
>;

/** Those that guardrails look at. */
export const textsOf: { readonly [Name in GuardedOperation]?: OperationTexts } = {
  chat,
  chat_of_input: { ...chat, request: (body) => responseRequest(body, mixedLengths) },
  completions: { ...chat, request: completionRequest },
  responses,
  compact: { ...responses, request: (body) => responseRequest(body, []) },
  input_tokens: { request: (body) => responseRequest(body, []) },
  messages: { request: (body) => messageRequest(body), answer: messageAnswer, events: messageEvents },
  count_tokens: { request: (body) => messageRequest(body, []) },
  embeddings: { request: inputTexts },
  ...media,
};
