// The same words in the requests, answers and streams of each dialect: for tests of guardrails.
import type { Operation } from '../../../proxy/dialects/dialect.ts';

/** What an answer says: words, or the arguments of a tool. */
export type Kind = 'words' | 'arguments';

/** A stream, read again. */
export interface Heard {
  /** Its pieces, one behind the other. */
  readonly told: string;
  /** Where the same is told as a whole. */
  readonly repeated: readonly string[];
}

export interface SpokenDialect {
  readonly operation: Operation;
  request(words: string): object;
  wordsOfRequest(body: Body): string;
  answer(said: string, kind: Kind): object;
  wordsOfAnswer(body: Body, kind: Kind): string;
  /** The events of an answer that comes in these pieces, each without its empty line. */
  events(pieces: readonly string[], kind: Kind): readonly string[];
  hear(bodies: readonly Body[]): Heard;
}

interface Item {
  readonly content: readonly { readonly text: string }[];
  readonly arguments: string;
}

interface Call {
  readonly function: { readonly arguments: string };
}

/** A request, an answer or an event: what is looked at of any. */
export interface Body {
  readonly type: string;
  readonly sequence_number?: number;
  readonly messages: readonly { readonly content: string & readonly { readonly text: string }[] }[];
  readonly input: readonly Item[];
  readonly choices: readonly {
    readonly delta: { readonly content?: string; readonly tool_calls?: readonly Call[] };
    readonly message: { readonly content: string; readonly tool_calls: readonly Call[] };
  }[];
  readonly content: readonly { readonly text: string; readonly input: object }[];
  readonly delta: string & { readonly text?: string; readonly partial_json?: string };
  readonly text: string;
  readonly arguments: string;
  readonly part: { readonly text: string };
  readonly item: Item;
  readonly output: readonly Item[];
  readonly response: { readonly output: readonly Item[] };
}

const named = (body: { type: string; sequence_number?: number }): string =>
  `event: ${body.type}\ndata: ${JSON.stringify(body)}`;

const chat: SpokenDialect = {
  operation: 'chat',
  request: (content) => ({ model: 'm', messages: [{ role: 'user', content }] }),
  wordsOfRequest: (body) => body.messages[0]?.content ?? '',
  answer(said, kind) {
    const call = { id: 'call_1', type: 'function', function: { name: 'f', arguments: said } };
    const message =
      kind === 'words'
        ? { role: 'assistant', content: said }
        : { role: 'assistant', content: null, tool_calls: [call] };
    return { id: 'c', object: 'chat.completion', choices: [{ index: 0, message, finish_reason: 'stop' }] };
  },
  wordsOfAnswer(body, kind) {
    const message = body.choices[0]?.message;
    return (kind === 'words' ? message?.content : message?.tool_calls[0]?.function.arguments) ?? '';
  },
  events(pieces, kind) {
    const chunk = (delta: object, finish: string | null = null): string =>
      `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', choices: [{ index: 0, delta, finish_reason: finish }] })}`;
    const first =
      kind === 'words'
        ? { role: 'assistant', content: '' }
        : { tool_calls: [{ index: 0, id: 'call_1', type: 'function', function: { name: 'f', arguments: '' } }] };
    const deltas = pieces.map((piece) =>
      kind === 'words' ? { content: piece } : { tool_calls: [{ index: 0, function: { arguments: piece } }] },
    );
    return [chunk(first), ...deltas.map((delta) => chunk(delta)), chunk({}, 'stop'), 'data: [DONE]'];
  },
  hear(bodies) {
    const deltas = bodies.map((body) => body.choices[0]?.delta);
    const told = deltas.map((delta) => delta?.content ?? delta?.tool_calls?.[0]?.function.arguments ?? '').join('');
    return { told, repeated: [] };
  },
};

const messages: SpokenDialect = {
  operation: 'messages',
  request: (content) => ({
    model: 'm',
    max_tokens: 9,
    messages: [{ role: 'user', content: [{ type: 'text', text: content }] }],
  }),
  wordsOfRequest: (body) => body.messages[0]?.content[0]?.text ?? '',
  answer(said, kind) {
    const block =
      kind === 'words'
        ? { type: 'text', text: said }
        : { type: 'tool_use', id: 't', name: 'f', input: JSON.parse(said) as unknown };
    return { id: 'm', type: 'message', role: 'assistant', content: [block], stop_reason: 'end_turn' };
  },
  wordsOfAnswer(body, kind) {
    const [block] = body.content;
    return (kind === 'words' ? block?.text : JSON.stringify(block?.input)) ?? '';
  },
  events(pieces, kind) {
    const block = kind === 'words' ? { type: 'text', text: '' } : { type: 'tool_use', id: 't', name: 'f', input: {} };
    const deltas = pieces.map((piece) =>
      kind === 'words' ? { type: 'text_delta', text: piece } : { type: 'input_json_delta', partial_json: piece },
    );
    return [
      { type: 'message_start', message: { id: 'm', role: 'assistant', content: [] } },
      { type: 'content_block_start', index: 0, content_block: block },
      ...deltas.map((delta) => ({ type: 'content_block_delta', index: 0, delta })),
      { type: 'content_block_stop', index: 0 },
      { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 1 } },
      { type: 'message_stop' },
    ].map(named);
  },
  hear: (bodies) => ({
    told: bodies.map(({ delta }) => delta?.text ?? delta?.partial_json ?? '').join(''),
    repeated: [],
  }),
};

const responses: SpokenDialect = {
  operation: 'responses',
  request: (content) => ({ model: 'm', input: [{ role: 'user', content: [{ type: 'input_text', text: content }] }] }),
  wordsOfRequest: (body) => body.input[0]?.content[0]?.text ?? '',
  answer: (said, kind) => ({ id: 'r', object: 'response', status: 'completed', output: [itemOf(said, kind)] }),
  wordsOfAnswer: (body, kind) => wordsOfItem(body.output[0], kind),
  events(pieces, kind) {
    const said = pieces.join('');
    const place = { item_id: 'i', output_index: 0 };
    const empty = { id: 'r', status: 'in_progress', output: [] };
    const part = { ...place, content_index: 0 };
    const growing =
      kind === 'words'
        ? [
            { type: 'response.content_part.added', ...part, part: { type: 'output_text', text: '' } },
            ...pieces.map((delta) => ({ type: 'response.output_text.delta', ...part, delta, logprobs: [] })),
            { type: 'response.output_text.done', ...part, text: said, logprobs: [] },
            { type: 'response.content_part.done', ...part, part: { type: 'output_text', text: said } },
          ]
        : [
            ...pieces.map((delta) => ({ type: 'response.function_call_arguments.delta', ...place, delta })),
            { type: 'response.function_call_arguments.done', ...place, arguments: said },
          ];
    return [
      { type: 'response.created', response: empty },
      { type: 'response.output_item.added', output_index: 0, item: { ...itemOf('', kind), content: [] } },
      ...growing,
      { type: 'response.output_item.done', output_index: 0, item: itemOf(said, kind) },
      { type: 'response.completed', response: { ...empty, status: 'completed', output: [itemOf(said, kind)] } },
    ].map((body, index) => named({ ...body, sequence_number: index }));
  },
  hear(bodies) {
    const kind: Kind = bodies.some(({ type }) => type === 'response.function_call_arguments.done')
      ? 'arguments'
      : 'words';
    const repeated = bodies.flatMap((body): string[] => {
      if (body.type === 'response.output_text.done') return [body.text];
      if (body.type === 'response.function_call_arguments.done') return [body.arguments];
      if (body.type === 'response.content_part.done') return [body.part.text];
      if (body.type === 'response.output_item.done') return [wordsOfItem(body.item, kind)];
      return body.type === 'response.completed' ? [wordsOfItem(body.response.output[0], kind)] : [];
    });
    return { told: bodies.map(({ type, delta }) => (type.endsWith('.delta') ? delta : '')).join(''), repeated };
  },
};

function itemOf(said: string, kind: Kind): object {
  if (kind === 'words')
    return { id: 'i', type: 'message', role: 'assistant', content: [{ type: 'output_text', text: said }] };
  return { id: 'i', type: 'function_call', call_id: 'c', name: 'f', arguments: said };
}

function wordsOfItem(item: Item | undefined, kind: Kind): string {
  return (kind === 'words' ? item?.content[0]?.text : item?.arguments) ?? '';
}

export const dialects: readonly SpokenDialect[] = [chat, responses, messages];
