// The official client of OpenAI, with the Responses API.
import { OpenAI } from 'openai';
import type { Response, ResponseInputItem } from 'openai/resources/responses/responses';
import { type Client, type ClientAccess, type Conversation, form, type How, offered, type Reply } from './client.ts';

export const openaiResponses: Client = {
  name: 'openai, responses',
  packages: ['openai'],
  model: 'gpt-5',
  finishes: { stop: 'completed', calls: 'completed' },
  limited: { name: 'RateLimitError', status: 429 },
  countsThoughts: true,
  begin: (place, system) => new ResponsesConversation(place, system),
};

class ResponsesConversation implements Conversation {
  readonly #client: OpenAI;
  readonly #model: string;
  readonly #instructions: string;
  readonly #input: ResponseInputItem[] = [];

  constructor({ url, key, model }: ClientAccess, system: string) {
    this.#client = new OpenAI({ apiKey: key, baseURL: `${url}/v1`, maxRetries: 0 });
    this.#model = model;
    this.#instructions = system;
  }

  hear(text: string, picture?: string): void {
    const image_url = `data:image/png;base64,${picture}`;
    const seen = picture === undefined ? [] : [{ type: 'input_image' as const, image_url, detail: 'auto' as const }];
    this.#input.push({ role: 'user', content: [...seen, { type: 'input_text', text }] });
  }

  give({ id }: { readonly id: string }, output: string): void {
    this.#input.push({ type: 'function_call_output', call_id: id, output });
  }

  async ask(how: How): Promise<Reply> {
    const response = await (how.stream ? this.#streamed(how) : this.#whole(how));
    this.#input.push(...response.output.map(withoutParsed));
    const { usage } = response;
    return {
      text: response.output_text,
      thought: response.output
        .flatMap((item) => (item.type === 'reasoning' ? item.summary.map(({ text }) => text) : []))
        .join('\n\n'),
      calls: response.output.flatMap((item) => {
        if (item.type !== 'function_call') return [];
        return [{ id: item.call_id, name: item.name, input: JSON.parse(item.arguments) as unknown }];
      }),
      finish: response.status ?? '',
      usage: {
        input: usage?.input_tokens ?? 0,
        output: usage?.output_tokens ?? 0,
        cached: usage?.input_tokens_details.cached_tokens ?? 0,
        thoughts: usage?.output_tokens_details.reasoning_tokens ?? 0,
      },
    };
  }

  #whole(how: How): Promise<Response> {
    return this.#client.responses.create(this.#body(how), { signal: how.signal });
  }

  #streamed(how: How): Promise<Response> {
    const stream = this.#client.responses.stream(this.#body(how), { signal: how.signal });
    stream.on('response.output_text.delta', how.onText);
    return stream.finalResponse();
  }

  #body({ tools, thinks, form: isForm }: How) {
    return {
      model: this.#model,
      instructions: this.#instructions,
      input: this.#input,
      store: false,
      include: ['reasoning.encrypted_content' as const],
      ...(tools ? { tools: offered.map(toolOf) } : {}),
      ...(isForm
        ? { text: { format: { type: 'json_schema' as const, name: 'answer', strict: true, schema: form } } }
        : {}),
      ...(thinks ? { reasoning: { effort: 'medium' as const, summary: 'auto' as const } } : {}),
    };
  }
}

function toolOf({ name, description, schema }: (typeof offered)[number]) {
  return { type: 'function' as const, name, description, parameters: schema, strict: true };
}

/** What the stream's helper adds to an item is not for the server. */
function withoutParsed(item: Response['output'][number]): ResponseInputItem {
  const { parsed_arguments: _, ...rest } = item as typeof item & { readonly parsed_arguments?: unknown };
  if (rest.type !== 'message') return rest as ResponseInputItem;
  const content = rest.content.map((part) => {
    const { parsed: __, ...said } = part as typeof part & { readonly parsed?: unknown };
    return said;
  });
  return { ...rest, content };
}
