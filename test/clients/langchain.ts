// The chat models of LangChain for OpenAI (chat completions and responses) and for Anthropic.
import { ChatAnthropic } from '@langchain/anthropic';
import {
  AIMessage,
  type AIMessageChunk,
  type BaseMessage,
  HumanMessage,
  SystemMessage,
  ToolMessage,
  type UsageMetadata,
} from '@langchain/core/messages';
import { ChatOpenAI } from '@langchain/openai';
import {
  type Client,
  type ClientAccess,
  type Conversation,
  form,
  type How,
  maxTokens,
  offered,
  type Reply,
  type ShownCall,
  thinkingBudget,
} from './client.ts';

const limited = { name: 'RateLimitError', status: 429 };

export const langchainChat: Client = {
  name: '@langchain/openai, chat',
  packages: ['@langchain/openai'],
  model: 'gpt-5',
  finishes: { stop: 'stop', calls: 'tool_calls' },
  limited,
  countsThoughts: true,
  begin: (place, system) => new LangchainConversation((thinks) => openaiModel(place, thinks, false), system),
};

export const langchainResponses: Client = {
  name: '@langchain/openai, responses',
  packages: ['@langchain/openai'],
  model: 'gpt-5',
  finishes: { stop: 'completed', calls: 'completed' },
  limited,
  countsThoughts: true,
  begin: (place, system) => new LangchainConversation((thinks) => openaiModel(place, thinks, true), system),
};

export const langchainAnthropic: Client = {
  name: '@langchain/anthropic',
  packages: ['@langchain/anthropic'],
  model: 'claude-opus-4-5',
  finishes: { stop: 'end_turn', calls: 'tool_use' },
  limited,
  countsThoughts: false,
  begin: (place, system) => new LangchainConversation((thinks) => anthropicModel(place, thinks), system),
};

function openaiModel({ url, key, model }: ClientAccess, thinks: boolean, useResponsesApi: boolean): ChatOpenAI {
  const reasoning = { effort: 'medium' as const, ...(useResponsesApi ? { summary: 'auto' as const } : {}) };
  return new ChatOpenAI({
    model,
    apiKey: key,
    configuration: { baseURL: `${url}/v1` },
    maxRetries: 0,
    useResponsesApi,
    // Nothing is kept at the provider, so thoughts come back sealed.
    ...(useResponsesApi ? { zdrEnabled: true, modelKwargs: { include: ['reasoning.encrypted_content'] } } : {}),
    ...(thinks ? { reasoning } : {}),
  });
}

function anthropicModel({ url, key, model }: ClientAccess, thinks: boolean): ChatAnthropic {
  return new ChatAnthropic({
    model,
    apiKey: key,
    anthropicApiUrl: url,
    maxRetries: 0,
    maxTokens,
    ...(thinks ? { thinking: { type: 'enabled', budget_tokens: thinkingBudget } } : {}),
  });
}

type Model = ChatOpenAI | ChatAnthropic;

class LangchainConversation implements Conversation {
  readonly #model: (thinks: boolean) => Model;
  readonly #messages: BaseMessage[];

  constructor(model: (thinks: boolean) => Model, system: string) {
    this.#model = model;
    this.#messages = [new SystemMessage(system)];
  }

  hear(text: string, picture?: string): void {
    const url = `data:image/png;base64,${picture}`;
    const seen = picture === undefined ? [] : [{ type: 'image_url', image_url: { url } }];
    this.#messages.push(new HumanMessage({ content: [...seen, { type: 'text', text }] }));
  }

  give({ id, name }: ShownCall, output: string): void {
    this.#messages.push(new ToolMessage({ content: output, tool_call_id: id, name }));
  }

  async ask(how: How): Promise<Reply> {
    const message = await this.#answer(how);
    this.#messages.push(message);
    const { response_metadata: told } = message;
    const usage = message.usage_metadata as UsageMetadata | undefined;
    const finish: unknown =
      told['status'] ?? told['finish_reason'] ?? told['stop_reason'] ?? message.additional_kwargs['stop_reason'];
    return {
      text: message.text,
      thought: thoughtOf(message),
      calls: (message.tool_calls ?? []).map(({ id = '', name, args }) => ({ id, name, input: args as unknown })),
      finish: String(finish),
      usage: {
        input: usage?.input_tokens ?? 0,
        output: usage?.output_tokens ?? 0,
        cached: usage?.input_token_details?.cache_read ?? 0,
        thoughts: usage?.output_token_details?.reasoning ?? 0,
      },
    };
  }

  async #answer(how: How): Promise<AIMessage | AIMessageChunk> {
    const { signal } = how;
    const model = this.#model(how.thinks);
    if (how.form) {
      const forced = model.withStructuredOutput(form, { method: 'jsonSchema', includeRaw: true, name: 'answer' });
      const { raw } = await forced.invoke(this.#messages, { signal });
      if (AIMessage.isInstance(raw)) return raw;
      throw new Error('no message of the model');
    }
    const asked = how.tools ? model.bindTools(offered.map(toolOf)) : model;
    if (!how.stream) return asked.invoke(this.#messages, { signal });
    let whole: AIMessageChunk | undefined;
    for await (const chunk of await asked.stream(this.#messages, { signal })) {
      if (chunk.text !== '') how.onText();
      whole = whole === undefined ? chunk : whole.concat(chunk);
    }
    if (whole === undefined) throw new Error('an empty stream');
    return whole;
  }
}

function toolOf({ name, description, schema }: (typeof offered)[number]) {
  return { type: 'function' as const, function: { name, description, parameters: schema } };
}

/** Thoughts of chat completions stand beside the content. */
function thoughtOf({ contentBlocks, additional_kwargs: beside }: AIMessage | AIMessageChunk): string {
  const blocks = contentBlocks.map((block) => (block.type === 'reasoning' ? block.reasoning : '')).join('');
  const { reasoning_content: thought } = beside as { readonly reasoning_content?: string };
  return blocks || (thought ?? '');
}
