// The dialects of clients, with the least that a request of each says, and the types in which their SDKs say what more there is.
import { chatTranslation } from '../../proxy/dialects/chat/translate.ts';
import { completionsTranslation } from '../../proxy/dialects/completions/translate.ts';
import type { JsonObject } from '../../proxy/dialects/json/json.ts';
import { messagesTranslation } from '../../proxy/dialects/messages/translate.ts';
import { responsesTranslation } from '../../proxy/dialects/responses/translate.ts';
import type { ClientDialect } from '../../proxy/dialects/translation.ts';

export interface KnownClient {
  readonly dialect: ClientDialect;
  readonly least: JsonObject;
  /** Path below test/node_modules, and name of the type. */
  readonly sdk: readonly (readonly [path: string, type: string])[];
}

const hello = [{ role: 'user', content: 'Hello' }];

export const clients: readonly KnownClient[] = [
  {
    dialect: chatTranslation,
    least: { messages: hello },
    sdk: [['openai/resources/chat/completions/completions.d.ts', 'ChatCompletionCreateParamsBase']],
  },
  {
    dialect: responsesTranslation,
    least: { input: hello },
    sdk: [['openai/resources/responses/responses.d.ts', 'ResponseCreateParamsBase']],
  },
  {
    dialect: completionsTranslation,
    least: { prompt: 'Hello' },
    sdk: [['openai/resources/completions.d.ts', 'CompletionCreateParamsBase']],
  },
  {
    dialect: messagesTranslation,
    least: { max_tokens: 9, messages: hello },
    sdk: [
      ['@anthropic-ai/sdk/resources/messages/messages.d.ts', 'MessageCreateParamsBase'],
      ['@anthropic-ai/sdk/resources/beta/messages/messages.d.ts', 'MessageCreateParamsBase'],
    ],
  },
];
