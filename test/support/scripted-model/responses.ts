// A strict server of OpenAI's Responses API that keeps nothing.
import type { Heard } from './heard.ts';
import { readResponses } from './read-responses.ts';
import type { Call } from './scenarios.ts';
import { sign } from './signatures.ts';
import { deltasOf, type Said, sse, type Wire } from './wire.ts';

type Item = Readonly<Record<string, unknown>> & { readonly id: string; readonly type: string };

export const responsesWire: Wire = {
  name: 'responses',
  model: 'gpt-5.1',
  streamType: 'text/event-stream; charset=utf-8',
  read: readResponses,
  answer: (said) => response(said, 'completed', itemsOf(said)),
  stream(said) {
    const items = itemsOf(said);
    const events = [
      { type: 'response.created', response: response(said, 'in_progress', []) },
      { type: 'response.in_progress', response: response(said, 'in_progress', []) },
      ...items.flatMap((item, index) => [
        { type: 'response.output_item.added', output_index: index, item: begun(item) },
        ...growth(said, item, index),
        { type: 'response.output_item.done', output_index: index, item },
      ]),
      { type: 'response.completed', response: response(said, 'completed', items) },
    ];
    return events.map((event, index) => sse({ ...event, sequence_number: index }, event.type));
  },
  failure: (message) =>
    sse({ type: 'error', code: 'server_error', message, param: null, sequence_number: 99 }, 'error'),
  error: (status, message) => ({
    error: { message, type: status === 429 ? 'rate_limit_error' : 'invalid_request_error', param: null, code: null },
  }),
};

function itemsOf({ saying, heard, number }: Said): readonly Item[] {
  const { thought, text, calls } = saying;
  const items: Item[] = [];
  if (thought !== '') {
    const proof = heard.tellsSignature ? { encrypted_content: sign('responses', thought) } : {};
    items.push({ id: `rs_${number}`, type: 'reasoning', summary: [{ type: 'summary_text', text: thought }], ...proof });
  }
  if (text !== '') {
    const content = [{ type: 'output_text', text, annotations: [], logprobs: [] }];
    items.push({ id: `msg_${number}`, type: 'message', status: 'completed', role: 'assistant', content });
  }
  return [...items, ...calls.map((call, index) => callOf(call, heard, `${number}x${index}`))];
}

/** `number`: unlike that of any other call. The name of a tool in a namespace has it before a dot. */
function callOf({ name: whole, input }: Call, { toolForms }: Heard, number: string): Item {
  const [name = '', space] = whole.split('.').toReversed();
  const shared = { call_id: `call_${number}`, status: 'completed' };
  const named = space === undefined ? { name } : { name, namespace: space };
  const form = toolForms?.get(whole);
  if (form === 'tool_search') {
    return { ...shared, id: `tsc_${number}`, type: 'tool_search_call', execution: 'client', arguments: input };
  }
  return form === 'custom'
    ? { ...shared, ...named, id: `ctc_${number}`, type: 'custom_tool_call', input: String(input['input']) }
    : { ...shared, ...named, id: `fc_${number}`, type: 'function_call', arguments: JSON.stringify(input) };
}

function begun(item: Item): Item {
  if (item.type === 'reasoning') return { ...item, summary: [] };
  if (item.type === 'message') return { ...item, status: 'in_progress', content: [] };
  if (item.type === 'tool_search_call') return { ...item, status: 'in_progress' };
  return { ...item, status: 'in_progress', [item.type === 'custom_tool_call' ? 'input' : 'arguments']: '' };
}

type Event = Readonly<Record<string, unknown>> & { readonly type: string };

function growth({ saying: { thought, text } }: Said, item: Item, output_index: number): readonly Event[] {
  const at = { item_id: item.id, output_index };
  if (item.type === 'reasoning') {
    const there = { ...at, summary_index: 0 };
    return [
      { type: 'response.reasoning_summary_part.added', ...there, part: { type: 'summary_text', text: '' } },
      ...deltasOf(thought).map((delta) => ({ type: 'response.reasoning_summary_text.delta', ...there, delta })),
      { type: 'response.reasoning_summary_text.done', ...there, text: thought },
      { type: 'response.reasoning_summary_part.done', ...there, part: { type: 'summary_text', text: thought } },
    ];
  }
  if (item.type === 'function_call') {
    const input = String(item['arguments']);
    return [
      ...deltasOf(input, 5).map((delta) => ({ type: 'response.function_call_arguments.delta', ...at, delta })),
      { type: 'response.function_call_arguments.done', ...at, arguments: input, name: item['name'] },
    ];
  }
  if (item.type === 'custom_tool_call') {
    const input = String(item['input']);
    return [
      ...deltasOf(input, 5).map((delta) => ({ type: 'response.custom_tool_call_input.delta', ...at, delta })),
      { type: 'response.custom_tool_call_input.done', ...at, input },
    ];
  }
  if (item.type === 'tool_search_call') return [];
  const there = { ...at, content_index: 0 };
  const part = { type: 'output_text', annotations: [], logprobs: [] };
  return [
    { type: 'response.content_part.added', ...there, part: { ...part, text: '' } },
    ...deltasOf(text).map((delta) => ({ type: 'response.output_text.delta', ...there, delta, logprobs: [] })),
    { type: 'response.output_text.done', ...there, text, logprobs: [] },
    { type: 'response.content_part.done', ...there, part: { ...part, text } },
  ];
}

function response({ saying, heard, number }: Said, status: string, output: readonly Item[]): object {
  const { input, cached, output: told, thoughts } = saying.usage;
  const usage = {
    input_tokens: input,
    input_tokens_details: { cached_tokens: cached },
    output_tokens: told,
    output_tokens_details: { reasoning_tokens: thoughts },
    total_tokens: input + told,
  };
  return {
    id: `resp_${number}`,
    object: 'response',
    created_at: 1_760_000_000,
    status,
    background: false,
    error: null,
    incomplete_details: null,
    instructions: null,
    max_output_tokens: null,
    metadata: {},
    model: heard.model,
    output,
    parallel_tool_calls: true,
    previous_response_id: null,
    reasoning: { effort: null, summary: null },
    store: false,
    temperature: 1,
    text: { format: { type: 'text' } },
    tool_choice: 'auto',
    tools: [],
    top_p: 1,
    truncation: 'disabled',
    usage: status === 'completed' ? usage : null,
    user: null,
  };
}
