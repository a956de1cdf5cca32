// What clients of each format get of an answer, put together as their SDKs do it, and how they send it back as history.
import type { JsonObject } from '../../../../proxy/dialects/json/json.ts';
import type { ClientName } from './talk.ts';

export interface ReceivedCall {
  readonly id: string;
  readonly name: string;
  readonly input: unknown;
}

export interface Received {
  /** What came in which order: kinds of parts, what is spoken in a row being one; undefined where the format has no order. */
  readonly order: readonly string[] | undefined;
  /** Words and refusals, joined. */
  readonly text: string;
  readonly thoughts: string;
  readonly calls: readonly ReceivedCall[];
  /** Why it ended, in the format's own words. */
  readonly finish: string;
  readonly usage: JsonObject | undefined;
  /** As the client keeps it: a message, blocks, or items without their ids. */
  readonly kept: readonly JsonObject[];
}

/** A body of any format, as it was parsed. */
type Any = ReturnType<typeof JSON.parse>;

const list = (value: Any): Any[] => (Array.isArray(value) ? value : []);

/** `body`: a whole answer. */
export function receivedWhole(client: ClientName, body: Any): Received {
  if (client === 'messages') return ofMessage(body);
  if (client === 'responses') return ofResponse(body);
  const [choice] = list(body.choices);
  if (client === 'completions')
    return { ...nothing, text: choice.text, finish: choice.finish_reason, usage: body.usage };
  return ofChat(choice.message, choice.finish_reason, body.usage);
}

/** `text`: of a stream of server-sent events. Throws where it ends with an error, or without an end. */
export function receivedStream(client: ClientName, text: string): Received {
  const datas = text
    .split('\n\n')
    .flatMap((event) => event.split('\n').filter((line) => line.startsWith('data: ')))
    .map((line) => line.slice('data: '.length));
  const events = datas.filter((data) => data !== '[DONE]').map((data) => JSON.parse(data));
  const failed = events.find(({ error, type }) => (error ?? null) !== null || type === 'error');
  if (failed !== undefined) throw new Error(`the stream failed: ${JSON.stringify(failed)}`);
  if ((client === 'chat' || client === 'completions') && datas.at(-1) !== '[DONE]')
    throw new Error('the stream has no end');
  return folds[client](events);
}

const nothing: Received = {
  order: undefined,
  text: '',
  thoughts: '',
  calls: [],
  finish: '',
  usage: undefined,
  kept: [],
};

const folds: Readonly<Record<ClientName, (events: Any[]) => Received>> = {
  chat: foldChat,
  completions: (events) => {
    const choices = events.flatMap((event) => list(event.choices));
    const finish = choices.find(({ finish_reason }) => finish_reason)?.finish_reason;
    return {
      ...nothing,
      text: choices.map(({ text }) => text).join(''),
      finish,
      usage: events.find(({ usage }) => usage)?.usage,
    };
  },
  messages: foldMessages,
  responses: foldResponses,
};

function foldChat(events: Any[]): Received {
  const message: Any = { role: 'assistant', content: null, refusal: null };
  let finish = '';
  const grow = (object: Any, key: string, more: unknown): void => {
    if (typeof more === 'string' && more !== '') object[key] = (object[key] ?? '') + more;
  };
  for (const { delta, finish_reason } of events.flatMap((event) => list(event.choices))) {
    finish = finish_reason ?? finish;
    for (const key of ['content', 'refusal', 'reasoning_content']) grow(message, key, delta[key]);
    if (delta.extra_content !== undefined)
      message.extra_content = joinedExtra(message.extra_content, delta.extra_content);
    for (const { index, id, type, function: called, custom, extra_content } of list(delta.tool_calls)) {
      message.tool_calls ??= [];
      message.tool_calls[index] ??=
        custom === undefined
          ? { id, type, function: { name: '', arguments: '' } }
          : { id, type, custom: { name: '', input: '' } };
      const call = message.tool_calls[index];
      for (const key of ['name', 'arguments']) grow(call.function, key, called?.[key]);
      for (const key of ['name', 'input']) grow(call.custom, key, custom?.[key]);
      if (extra_content !== undefined) call.extra_content = extra_content;
    }
  }
  return ofChat(message, finish, events.find(({ usage }) => usage)?.usage);
}

/** Lists of thoughts grow, the last proof counts. */
function joinedExtra(before: Any, more: Any): Any {
  const grown = (family: string, key: string): Any => {
    const all = [...list(before?.[family]?.[key]), ...list(more[family]?.[key])];
    return all.length === 0 ? {} : { [family]: { [key]: all } };
  };
  const google = more.google ?? before?.google;
  return {
    ...grown('anthropic', 'thinking_blocks'),
    ...grown('openai', 'reasoning'),
    ...(google === undefined ? {} : { google }),
  };
}

function ofChat(message: Any, finish: string, usage: Any): Received {
  const calls = list(message.tool_calls).map(
    ({ id, function: called, custom }): ReceivedCall =>
      custom === undefined
        ? { id, name: called.name, input: JSON.parse(called.arguments) }
        : { id, name: custom.name, input: { input: custom.input } },
  );
  const said = Object.entries(message).filter(
    ([key, value]) => value !== undefined && value !== null && !(key === 'content' && value === ''),
  );
  return {
    order: undefined,
    text: (message.content ?? '') + (message.refusal ?? ''),
    thoughts: message.reasoning_content ?? '',
    calls,
    finish,
    usage,
    kept: [Object.fromEntries(said) as JsonObject],
  };
}

function foldMessages(events: Any[]): Received {
  const content: Any[] = [];
  const inputs = new Map<number, string>();
  let message: Any = {};
  let isStopped = false;
  for (const { type, index, content_block, delta, message: begun, usage } of events) {
    if (type === 'message_start') message = begun;
    else if (type === 'content_block_start') content[index] = { ...content_block };
    else if (type === 'message_delta') message = { ...message, ...delta, usage: { ...message.usage, ...usage } };
    else if (type === 'message_stop') isStopped = true;
    else if (type === 'content_block_delta') {
      const block = content[index];
      if (delta.type === 'text_delta') block.text += delta.text;
      else if (delta.type === 'thinking_delta') block.thinking += delta.thinking;
      else if (delta.type === 'signature_delta') block.signature = delta.signature;
      else if (delta.type === 'input_json_delta') inputs.set(index, (inputs.get(index) ?? '') + delta.partial_json);
      else throw new Error(`a delta of the type ${delta.type}`);
    }
  }
  if (!isStopped) throw new Error('the stream has no end');
  for (const [index, text] of inputs) content[index].input = JSON.parse(text || '{}');
  return ofMessage({ ...message, content });
}

function ofMessage({ content, stop_reason, usage }: Any): Received {
  const blocks = list(content);
  const joined = (key: string): string => blocks.map((block) => block[key] ?? '').join('');
  const calls = blocks.filter(({ type }) => type === 'tool_use').map(({ id, name, input }) => ({ id, name, input }));
  const kinds: Record<string, string> = { tool_use: 'call', thinking: 'thought' };
  const order = inOrder(
    blocks.map(({ type, thinking, text }) => (thinking === '' || text === '' ? '' : (kinds[type] ?? type))),
  );
  return { order, text: joined('text'), thoughts: joined('thinking'), calls, finish: stop_reason, usage, kept: blocks };
}

/** What grew in pieces must be what the end of the answer holds. */
function foldResponses(events: Any[]): Received {
  const grown = new Map<number, string>();
  const done: Any[] = [];
  for (const { type, output_index, delta, item } of events) {
    if (typeof delta === 'string' && !type.includes('reasoning'))
      grown.set(output_index, (grown.get(output_index) ?? '') + delta);
    if (type === 'response.output_item.done') done[output_index] = item;
  }
  const end = events.at(-1);
  if (end.type !== 'response.completed' && end.type !== 'response.incomplete') throw new Error('the stream has no end');
  if (JSON.stringify(end.response.output) !== JSON.stringify(done))
    throw new Error('the items at their end are not those of the answer');
  for (const [index, text] of grown) {
    const { content, arguments: called, input } = done[index];
    const told =
      called ??
      input ??
      list(content)
        .map((part) => part.text ?? part.refusal)
        .join('');
    if (told !== text) throw new Error(`an item grew to ${JSON.stringify(text)}, and ended as ${JSON.stringify(told)}`);
  }
  return ofResponse(end.response);
}

function ofResponse({ output, status, usage }: Any): Received {
  const items = list(output).map((item) => ({ ...item, id: undefined }));
  const content = items.flatMap((item) => (item.type === 'message' ? list(item.content) : []));
  const thoughts = items.flatMap((item) =>
    item.type === 'reasoning' ? [...list(item.content), ...list(item.summary)] : [],
  );
  const calls = items.flatMap((item): ReceivedCall[] => {
    if (item.type === 'custom_tool_call') return [{ id: item.call_id, name: item.name, input: { input: item.input } }];
    return item.type === 'function_call'
      ? [{ id: item.call_id, name: item.name, input: JSON.parse(item.arguments) }]
      : [];
  });
  const kinds: Record<string, string> = { function_call: 'call', custom_tool_call: 'call', message: 'text' };
  const isEmpty = (item: Any): boolean =>
    item.type === 'message' && list(item.content).every((part) => (part.text ?? part.refusal) === '');
  const told = items
    .filter((item) => !isEmpty(item))
    .filter((item) => item.type !== 'reasoning' || list(item.summary).length + list(item.content).length > 0);
  return {
    order: inOrder(told.map(({ type }) => (type === 'reasoning' ? 'thought' : (kinds[type] ?? type)))),
    text: content.map((part) => part.text ?? part.refusal).join(''),
    thoughts: thoughts.map(({ text }) => text).join(''),
    calls,
    finish: status,
    usage,
    kept: items,
  };
}

/** What is spoken in a row counts once; empty kinds do not. */
export function inOrder(kinds: readonly string[]): readonly string[] {
  const told = kinds.filter((kind) => kind !== '');
  return told.filter((kind, at) => kind === 'call' || told[at - 1] !== kind);
}

/** The request that goes on from an answer: what was said, with the results of its calls, and `question`. */
export function continued(
  client: ClientName,
  body: JsonObject,
  { kept, calls }: Received,
  question: string,
): JsonObject {
  const kindOf = (call: ReceivedCall): string =>
    kept.some((item) => item['type'] === 'custom_tool_call' && item['call_id'] === call.id)
      ? 'custom_tool_call_output'
      : 'function_call_output';
  const result = (at: number): string => `result ${at} of ${question}`;
  const before = list(client === 'responses' ? body['input'] : body['messages']);
  switch (client) {
    case 'chat': {
      const results = calls.map(({ id }, at) => ({ role: 'tool', tool_call_id: id, content: result(at) }));
      const [message] = kept;
      return {
        ...body,
        messages: [...before, { content: null, ...message }, ...results, { role: 'user', content: question }],
      };
    }
    case 'messages': {
      const results = calls.map(({ id }, at) => ({ type: 'tool_result', tool_use_id: id, content: result(at) }));
      const answer = kept.length === 0 ? [] : [{ role: 'assistant', content: kept }];
      return {
        ...body,
        messages: [...before, ...answer, { role: 'user', content: [...results, { type: 'text', text: question }] }],
      };
    }
    case 'responses': {
      const results = calls.map((call, at) => ({ type: kindOf(call), call_id: call.id, output: result(at) }));
      return { ...body, input: [...before, ...kept, ...results, { role: 'user', content: question }] };
    }
    default:
      return body;
  }
}
