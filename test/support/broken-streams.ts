// Providers whose streams break off, and those that go on: the same text, event by event, in each dialect that they speak.
import type { Behaviour, Entry, FakeUpstream } from './fake-upstream.ts';
import type { Step } from './steps.ts';

export type Spoken = 'chat' | 'messages' | 'responses';

type Json = Record<string, unknown>;

const data = (value: Json): string => `data: ${JSON.stringify(value)}\n\n`;
const named = (value: Json): string => `event: ${String(value['type'])}\n${data(value)}`;

/** The events of an answer that says these pieces, with the usage of its provider. */
export const eventsOf: Readonly<Record<Spoken, (pieces: readonly string[], model: string) => string[]>> = {
  chat(pieces, model) {
    const chunk = (choice: Json, more: Json = {}): string =>
      data({
        id: `chatcmpl-${model}`,
        object: 'chat.completion.chunk',
        created: 1,
        model,
        choices: [{ index: 0, finish_reason: null, ...choice }],
        ...more,
      });
    return [
      chunk({ delta: { role: 'assistant', content: '' } }),
      ...pieces.map((content) => chunk({ delta: { content } })),
      chunk({ delta: {}, finish_reason: 'stop' }),
      data({
        id: `chatcmpl-${model}`,
        object: 'chat.completion.chunk',
        created: 1,
        model,
        choices: [],
        usage: { prompt_tokens: 11, completion_tokens: pieces.length, total_tokens: 11 + pieces.length },
      }),
      'data: [DONE]\n\n',
    ];
  },
  messages(pieces, model) {
    const message = { id: `msg_${model}`, type: 'message', role: 'assistant', model, content: [], stop_reason: null };
    return [
      named({
        type: 'message_start',
        message: { ...message, stop_sequence: null, usage: { input_tokens: 11, output_tokens: 1 } },
      }),
      named({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } }),
      ...pieces.map((text) => named({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } })),
      named({ type: 'content_block_stop', index: 0 }),
      named({
        type: 'message_delta',
        delta: { stop_reason: 'end_turn', stop_sequence: null },
        usage: { output_tokens: pieces.length },
      }),
      named({ type: 'message_stop' }),
    ];
  },
  responses(pieces, model) {
    let sequence_number = 0;
    const say = (type: string, more: Json): string => named({ type, sequence_number: sequence_number++, ...more });
    const text = pieces.join('');
    const at = { item_id: `msg_${model}`, output_index: 0, content_index: 0 };
    const part = (said: string) => ({ type: 'output_text', text: said, annotations: [], logprobs: [] });
    const item = (status: string, content: Json[]) => ({
      id: `msg_${model}`,
      type: 'message',
      role: 'assistant',
      status,
      content,
    });
    const response = (status: string, output: Json[], more: Json = {}) => ({
      response: { id: `resp_${model}`, object: 'response', created_at: 1, model, status, output, ...more },
    });
    const usage = { input_tokens: 11, output_tokens: pieces.length, total_tokens: 11 + pieces.length };
    const done = item('completed', [part(text)]);
    return [
      say('response.created', response('in_progress', [])),
      say('response.output_item.added', { output_index: 0, item: item('in_progress', []) }),
      say('response.content_part.added', { ...at, part: part('') }),
      ...pieces.map((delta) => say('response.output_text.delta', { ...at, delta, logprobs: [] })),
      say('response.output_text.done', { ...at, text, logprobs: [] }),
      say('response.content_part.done', { ...at, part: part(text) }),
      say('response.output_item.done', { output_index: 0, item: done }),
      say('response.completed', response('completed', [done], { usage })),
    ];
  },
};

/** How many events come before the first piece. */
const leading: Readonly<Record<Spoken, number>> = { chat: 1, messages: 2, responses: 3 };

/** An answer that ends as `end` says after so many pieces. */
export function brokenOff(spoken: Spoken, pieces: readonly string[], after: number, end: readonly Step[]): Behaviour {
  const events = eventsOf[spoken](pieces, 'first').slice(0, leading[spoken] + after);
  return { kind: 'sse', chunks: [...events, ...end] };
}

/** The whole answer. */
export function told(spoken: Spoken, pieces: readonly string[], model = 'second'): Behaviour {
  return { kind: 'sse', chunks: eventsOf[spoken](pieces, model) };
}

/** The messages of the last request that a provider has got. */
export function lastMessages({ ledger }: Pick<FakeUpstream, 'ledger'>): readonly Turn[] {
  const body = ledger.at(-1)?.json() as { messages?: Turn[] } | undefined;
  return body?.messages ?? [];
}

/** What a request gives as the beginning of its answer; undefined: it gives none. */
export function begunIn(entry: Entry): string | undefined {
  const body = entry.json() as { messages?: Turn[]; input?: Turn[] | string };
  const turns = body.messages ?? (typeof body.input === 'string' ? [] : (body.input ?? []));
  const last = turns.findLast(({ role }) => role === 'assistant')?.content;
  return Array.isArray(last) ? last.map(({ text }) => text).join('') : last;
}

interface Turn {
  readonly role?: string;
  readonly content?: string | { readonly text: string }[];
}

/** The dialect that a request speaks. */
export function spokenIn({ path }: Entry): Spoken {
  if (path.endsWith('/messages')) return 'messages';
  return path.endsWith('/responses') ? 'responses' : 'chat';
}

/** Goes on with `text` at exactly the point where the beginning in its request ends, in pieces of a few characters. */
export function goesOn(text: string): (entry: Entry) => Behaviour {
  return (entry) => told(spokenIn(entry), piecesOf(text.slice(begunIn(entry)?.length ?? 0)));
}

/** A text in pieces of at most four characters, each of them whole. */
export function piecesOf(text: string): string[] {
  const characters = Array.from(text);
  const pieces: string[] = [];
  for (let at = 0; at < characters.length; at += 4) pieces.push(characters.slice(at, at + 4).join(''));
  return pieces;
}
