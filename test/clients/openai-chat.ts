// The official client of OpenAI, with chat completions.
import { OpenAI } from 'openai';
import type {
  ChatCompletion,
  ChatCompletionMessage,
  ChatCompletionMessageParam,
} from 'openai/resources/chat/completions';
import { type Client, type ClientAccess, type Conversation, form, type How, offered, type Reply } from './client.ts';

export const openaiChat: Client = {
  name: 'openai, chat completions',
  packages: ['openai'],
  model: 'gpt-5',
  finishes: { stop: 'stop', calls: 'tool_calls' },
  limited: { name: 'RateLimitError', status: 429 },
  countsThoughts: true,
  begin: (place, system) => new ChatConversation(place, system),
};

class ChatConversation implements Conversation {
  readonly #client: OpenAI;
  readonly #model: string;
  readonly #messages: ChatCompletionMessageParam[];

  constructor({ url, key, model }: ClientAccess, system: string) {
    this.#client = new OpenAI({ apiKey: key, baseURL: `${url}/v1`, maxRetries: 0 });
    this.#model = model;
    this.#messages = [{ role: 'system', content: system }];
  }

  hear(text: string, picture?: string): void {
    const url = `data:image/png;base64,${picture}`;
    const seen = picture === undefined ? [] : [{ type: 'image_url' as const, image_url: { url } }];
    this.#messages.push({ role: 'user', content: [...seen, { type: 'text', text }] });
  }

  give({ id }: { readonly id: string }, output: string): void {
    this.#messages.push({ role: 'tool', tool_call_id: id, content: output });
  }

  async ask(how: How): Promise<Reply> {
    const { completion, thought } = await (how.stream ? this.#streamed(how) : this.#whole(how));
    const [choice] = completion.choices;
    if (choice === undefined) throw new Error('no choice');
    this.#messages.push(withoutParsed(choice.message));
    const { usage } = completion;
    return {
      text: choice.message.content ?? '',
      thought,
      calls: (choice.message.tool_calls ?? []).flatMap((call) => {
        if (call.type !== 'function') return [];
        return [{ id: call.id, name: call.function.name, input: JSON.parse(call.function.arguments) as unknown }];
      }),
      finish: choice.finish_reason,
      usage: {
        input: usage?.prompt_tokens ?? 0,
        output: usage?.completion_tokens ?? 0,
        cached: usage?.prompt_tokens_details?.cached_tokens ?? 0,
        thoughts: usage?.completion_tokens_details?.reasoning_tokens ?? 0,
      },
    };
  }

  async #whole(how: How): Promise<{ readonly completion: ChatCompletion; readonly thought: string }> {
    const completion = await this.#client.chat.completions.create(this.#body(how), { signal: how.signal });
    return { completion, thought: thoughtOf(completion.choices[0]?.message) };
  }

  async #streamed(how: How): Promise<{ readonly completion: ChatCompletion; readonly thought: string }> {
    const body = { ...this.#body(how), stream_options: { include_usage: true } };
    const stream = this.#client.chat.completions.stream(body, { signal: how.signal });
    let thought = '';
    stream.on('content', how.onText);
    stream.on('chunk', (chunk) => {
      thought += thoughtOf(chunk.choices[0]?.delta);
    });
    return { completion: await stream.finalChatCompletion(), thought };
  }

  #body({ tools, thinks, form: isForm }: How) {
    const json_schema = { name: 'answer', strict: true, schema: form };
    return {
      model: this.#model,
      messages: this.#messages,
      ...(tools ? { tools: offered.map(toolOf) } : {}),
      ...(isForm ? { response_format: { type: 'json_schema' as const, json_schema } } : {}),
      ...(thinks ? { reasoning_effort: 'medium' as const } : {}),
    };
  }
}

function toolOf({ name, description, schema }: (typeof offered)[number]) {
  return { type: 'function' as const, function: { name, description, parameters: schema } };
}

/** What the stream's helper adds to a message is not for the server. */
function withoutParsed(message: ChatCompletionMessage): ChatCompletionMessage {
  const { parsed: _, tool_calls: calls, ...said } = message as ChatCompletionMessage & { readonly parsed?: unknown };
  if (calls === undefined) return said;
  const tool_calls = calls.map((call) => {
    if (call.type !== 'function') return call;
    const { name, arguments: input } = call.function;
    return { ...call, function: { name, arguments: input } };
  });
  return { ...said, tool_calls };
}

/** The client's types do not have it, but it is there. */
function thoughtOf(message: object | undefined): string {
  const { reasoning_content: thought } = (message ?? {}) as { readonly reasoning_content?: string };
  return thought ?? '';
}
