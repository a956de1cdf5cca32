// The AI SDK of Vercel, with its providers for OpenAI (chat completions and responses) and for Anthropic.
import { createAnthropic } from '@ai-sdk/anthropic';
import { createOpenAI } from '@ai-sdk/openai';
import {
  generateText,
  jsonSchema,
  type LanguageModel,
  type ModelMessage,
  Output,
  stepCountIs,
  streamText,
  type ToolSet,
  tool,
} from 'ai';
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

// What the conversations need is known; its warnings are for people.
globalThis.AI_SDK_LOG_WARNINGS = false;

const shared = {
  finishes: { stop: 'stop', calls: 'tool-calls' },
  limited: { name: 'AI_APICallError', status: 429 },
} as const;

const openaiAt = ({ url, key }: ClientAccess) => createOpenAI({ apiKey: key, baseURL: `${url}/v1` });

export const vercelChat: Client = {
  ...shared,
  name: 'ai, OpenAI chat',
  packages: ['ai', '@ai-sdk/openai'],
  model: 'gpt-5',
  countsThoughts: true,
  begin: (place, system) => {
    return new VercelConversation(openaiAt(place).chat(place.model), system, { openai: { reasoningEffort: 'medium' } });
  },
};

export const vercelResponses: Client = {
  ...shared,
  name: 'ai, OpenAI responses',
  packages: ['ai', '@ai-sdk/openai'],
  model: 'gpt-5',
  countsThoughts: true,
  begin: (place, system) => {
    const thinking = { reasoningEffort: 'medium', reasoningSummary: 'auto' };
    return new VercelConversation(
      openaiAt(place).responses(place.model),
      system,
      { openai: thinking },
      {
        openai: { store: false },
      },
    );
  },
};

/** The same with its own settings: what was answered is named, not said again. */
export const vercelStored: Client = {
  ...vercelResponses,
  name: 'ai, OpenAI responses, as it is set',
  begin: (place, system) => {
    const thinking = { reasoningEffort: 'medium', reasoningSummary: 'auto' };
    return new VercelConversation(openaiAt(place).responses(place.model), system, { openai: thinking });
  },
};

export const vercelAnthropic: Client = {
  ...shared,
  name: 'ai, Anthropic',
  packages: ['ai', '@ai-sdk/anthropic'],
  model: 'claude-opus-4-5',
  countsThoughts: false,
  begin: (place, system) => {
    const model = createAnthropic({ apiKey: place.key, baseURL: `${place.url}/v1` })(place.model);
    const thinking = { type: 'enabled', budgetTokens: thinkingBudget };
    return new VercelConversation(model, system, { anthropic: { thinking } });
  },
};

const tools: ToolSet = Object.fromEntries(
  offered.map(({ name, description, schema }) => {
    return [name, tool({ description, inputSchema: jsonSchema<Record<string, unknown>>(schema) })];
  }),
);

type Options = Readonly<Record<string, Readonly<Record<string, string | boolean | Record<string, string | number>>>>>;

class VercelConversation implements Conversation {
  readonly #model: LanguageModel;
  readonly #system: string;
  readonly #thinking: Options;
  readonly #always: Options;
  readonly #messages: ModelMessage[] = [];

  constructor(model: LanguageModel, system: string, thinking: Options, always: Options = {}) {
    this.#model = model;
    this.#system = system;
    this.#thinking = thinking;
    this.#always = always;
  }

  hear(text: string, picture?: string): void {
    const seen = picture === undefined ? [] : [{ type: 'file' as const, data: picture, mediaType: 'image/png' }];
    this.#messages.push({ role: 'user', content: [...seen, { type: 'text', text }] });
  }

  give({ id, name }: ShownCall, output: string): void {
    const result = {
      type: 'tool-result' as const,
      toolCallId: id,
      toolName: name,
      output: { type: 'text' as const, value: output },
    };
    const last = this.#messages.at(-1);
    if (last?.role === 'tool') last.content.push(result);
    else this.#messages.push({ role: 'tool', content: [result] });
  }

  async ask(how: How): Promise<Reply> {
    const told = await (how.stream ? this.#streamed(how) : generateText(this.#settings(how)));
    const [text, thought, calls, finish, usage, response] = await Promise.all([
      told.text,
      told.reasoningText,
      told.toolCalls,
      told.finishReason,
      told.usage,
      told.response,
    ]);
    this.#messages.push(...response.messages);
    return {
      text,
      thought: thought ?? '',
      calls: calls.map(({ toolCallId, toolName, input }) => ({
        id: toolCallId,
        name: toolName,
        input: input as unknown,
      })),
      finish,
      usage: {
        input: usage.inputTokens ?? 0,
        output: usage.outputTokens ?? 0,
        cached: usage.inputTokenDetails.cacheReadTokens ?? 0,
        thoughts: usage.outputTokenDetails.reasoningTokens ?? 0,
      },
    };
  }

  async #streamed(how: How) {
    // Told by the stream as well.
    const told = streamText({ ...this.#settings(how), onError: () => {} });
    for await (const part of told.fullStream) {
      if (part.type === 'text-delta') how.onText();
      if (part.type === 'error') throw part.error;
      if (part.type === 'abort') throw new DOMException('aborted', 'AbortError');
    }
    return told;
  }

  #settings({ tools: hasTools, thinks, form: isForm, signal }: How) {
    const options = { ...this.#always, ...(thinks ? merged(this.#always, this.#thinking) : {}) };
    return {
      model: this.#model,
      system: this.#system,
      messages: this.#messages,
      maxOutputTokens: maxTokens,
      maxRetries: 0,
      abortSignal: signal,
      stopWhen: stepCountIs(1),
      providerOptions: options,
      ...(hasTools ? { tools } : {}),
      ...(isForm ? { output: Output.object({ schema: jsonSchema(form) }) } : {}),
    };
  }
}

function merged(always: Options, thinking: Options): Options {
  return Object.fromEntries(Object.entries(thinking).map(([name, value]) => [name, { ...always[name], ...value }]));
}
