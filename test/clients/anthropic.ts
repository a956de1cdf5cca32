// The official client of Anthropic.
import { Anthropic } from '@anthropic-ai/sdk';
import type { Message, MessageParam } from '@anthropic-ai/sdk/resources/messages';
import {
  type Client,
  type ClientAccess,
  type Conversation,
  form,
  type How,
  maxTokens,
  offered,
  type Reply,
  thinkingBudget,
} from './client.ts';

export const anthropic: Client = {
  name: '@anthropic-ai/sdk, messages',
  packages: ['@anthropic-ai/sdk'],
  model: 'claude-opus-4-5',
  finishes: { stop: 'end_turn', calls: 'tool_use' },
  limited: { name: 'RateLimitError', status: 429 },
  countsThoughts: false,
  begin: (place, system) => new MessagesConversation(place, system),
};

class MessagesConversation implements Conversation {
  readonly #client: Anthropic;
  readonly #model: string;
  readonly #system: string;
  readonly #messages: MessageParam[] = [];

  constructor({ url, key, model }: ClientAccess, system: string) {
    this.#client = new Anthropic({ apiKey: key, baseURL: url, maxRetries: 0 });
    this.#model = model;
    this.#system = system;
  }

  hear(text: string, picture?: string): void {
    const seen = picture === undefined ? [] : [imageOf(picture)];
    this.#messages.push({ role: 'user', content: [...seen, { type: 'text', text }] });
  }

  give({ id }: { readonly id: string }, output: string): void {
    const result = { type: 'tool_result' as const, tool_use_id: id, content: output };
    const last = this.#messages.at(-1);
    if (last?.role === 'user' && Array.isArray(last.content)) last.content.push(result);
    else this.#messages.push({ role: 'user', content: [result] });
  }

  async ask(how: How): Promise<Reply> {
    const { content, stop_reason: finish, usage } = await (how.stream ? this.#streamed(how) : this.#whole(how));
    this.#messages.push({ role: 'assistant', content });
    const cached = usage.cache_read_input_tokens ?? 0;
    return {
      text: content.map((block) => (block.type === 'text' ? block.text : '')).join(''),
      thought: content.map((block) => (block.type === 'thinking' ? block.thinking : '')).join(''),
      calls: content.flatMap((block) => {
        return block.type === 'tool_use' ? [{ id: block.id, name: block.name, input: block.input }] : [];
      }),
      finish: finish ?? '',
      usage: {
        input: usage.input_tokens + cached + (usage.cache_creation_input_tokens ?? 0),
        output: usage.output_tokens,
        cached,
        thoughts: 0,
      },
    };
  }

  #whole(how: How): Promise<Message> {
    return this.#client.messages.create(this.#body(how), { signal: how.signal });
  }

  #streamed(how: How): Promise<Message> {
    const stream = this.#client.messages.stream(this.#body(how), { signal: how.signal });
    stream.on('text', how.onText);
    return stream.finalMessage();
  }

  #body({ tools, thinks, form: isForm }: How) {
    return {
      model: this.#model,
      max_tokens: maxTokens,
      system: this.#system,
      messages: this.#messages,
      ...(tools ? { tools: offered.map(toolOf) } : {}),
      ...(isForm ? { output_config: { format: { type: 'json_schema' as const, schema: form } } } : {}),
      ...(thinks ? { thinking: { type: 'enabled' as const, budget_tokens: thinkingBudget } } : {}),
    };
  }
}

function imageOf(data: string) {
  return { type: 'image' as const, source: { type: 'base64' as const, media_type: 'image/png' as const, data } };
}

function toolOf({ name, description, schema }: (typeof offered)[number]) {
  return { name, description, input_schema: schema };
}
