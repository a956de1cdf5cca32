// What clients can ask for and some providers cannot be told: the gateway refuses it, and names the member and the provider.
import { Anthropic } from '@anthropic-ai/sdk';
import { OpenAI } from 'openai';
import type { ClientAccess } from './client.ts';
import type { TriedProvider } from './providers.ts';

export interface Unsayable {
  /** The client's own name of the member. */
  readonly field: string;
  /** As the page of the documentation names it. */
  readonly example: string;
  readonly client: 'openai, chat completions' | 'openai, responses' | '@anthropic-ai/sdk, messages';
  readonly providers: readonly TriedProvider['wire']['name'][];
  ask(place: ClientAccess): PromiseLike<unknown>;
}

const question = [{ role: 'user' as const, content: 'say something plain' }];

function openai({ url, key }: ClientAccess): OpenAI {
  return new OpenAI({ apiKey: key, baseURL: `${url}/v1`, maxRetries: 0 });
}

function chat(members: Partial<OpenAI.ChatCompletionCreateParamsNonStreaming>): Unsayable['ask'] {
  return (place) => openai(place).chat.completions.create({ model: place.model, messages: question, ...members });
}

function responses(members: Partial<OpenAI.Responses.ResponseCreateParamsNonStreaming>): Unsayable['ask'] {
  return (place) => openai(place).responses.create({ model: place.model, input: question, store: false, ...members });
}

function messages(members: Partial<Anthropic.MessageCreateParamsNonStreaming>): Unsayable['ask'] {
  return ({ url, key, model }) => {
    const client = new Anthropic({ apiKey: key, baseURL: url, maxRetries: 0 });
    return client.messages.create({ model, max_tokens: 100, messages: question, ...members });
  };
}

export const unsayable: readonly Unsayable[] = [
  {
    field: 'response_format',
    example: 'JSON without a schema',
    client: 'openai, chat completions',
    providers: ['messages', 'bedrock'],
    ask: chat({ response_format: { type: 'json_object' } }),
  },
  {
    field: 'logprobs',
    example: '`logprobs`',
    client: 'openai, chat completions',
    providers: ['messages', 'bedrock'],
    ask: chat({ logprobs: true }),
  },
  {
    field: 'n',
    example: '`n` above 1',
    client: 'openai, chat completions',
    providers: ['responses', 'messages', 'gemini', 'bedrock'],
    ask: chat({ n: 2 }),
  },
  {
    field: 'tools[0]',
    example: 'a call of a tool that OpenAI runs',
    client: 'openai, responses',
    providers: ['chat', 'messages', 'gemini', 'bedrock'],
    ask: responses({ tools: [{ type: 'file_search', vector_store_ids: ['vs_1'] }], tool_choice: 'required' }),
  },
  {
    field: 'tools[0]',
    example: 'tools that Anthropic runs',
    client: '@anthropic-ai/sdk, messages',
    providers: ['chat', 'gemini', 'bedrock'],
    ask: messages({ tools: [{ type: 'code_execution_20250825', name: 'code_execution' }] }),
  },
];
