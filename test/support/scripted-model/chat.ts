// A strict server of OpenAI's chat completions, with the thoughts of a model as DeepSeek's and vLLM's servers show them.
import {
  anyMembers,
  base64,
  booleans,
  list,
  listIfAny,
  type Members,
  members,
  must,
  numbers,
  objectSchema,
  parsed,
  Refused,
  text,
  toolName,
  word,
} from './checks.ts';
import { checkCalls, type Heard, type HeardPart, type HeardTurn, joinTurns } from './heard.ts';
import { deltasOf, type Received, type Said, sse, type Wire } from './wire.ts';

const known =
  'audio frequency_penalty logit_bias logprobs max_completion_tokens max_tokens metadata modalities n parallel_tool_calls prediction ' +
  'presence_penalty prompt_cache_key prompt_cache_retention reasoning_effort response_format safety_identifier seed service_tier stop ' +
  'store stream stream_options temperature tool_choice tools top_logprobs top_p user verbosity';

export const chatWire: Wire = {
  name: 'chat',
  model: 'qwen3-thinker',
  streamType: 'text/event-stream',
  read,
  answer({ saying, heard, number }) {
    const { thought, text: content, calls } = saying;
    const tool_calls = calls.map(({ name, input }, index) => ({
      id: idOf(number, index),
      type: 'function',
      function: { name, arguments: JSON.stringify(input) },
    }));
    const message = {
      role: 'assistant',
      content: content === '' ? null : content,
      refusal: null,
      ...(thought === '' ? {} : { reasoning_content: thought }),
      ...(calls.length === 0 ? {} : { tool_calls }),
    };
    return {
      ...head({ heard, number }, 'chat.completion'),
      choices: [{ index: 0, message, logprobs: null, finish_reason: finishOf(saying) }],
      usage: usageOf(saying),
    };
  },
  stream(said) {
    const { saying, heard } = said;
    const deltas = [
      { role: 'assistant', content: '' },
      ...deltasOf(saying.thought).map((piece) => ({ reasoning_content: piece })),
      ...deltasOf(saying.text).map((piece) => ({ content: piece })),
      ...saying.calls.flatMap((_, index) => callDeltas(said, index)),
    ];
    const chunk = (delta: object, finish_reason: string | null): string =>
      sse({ ...head(said, 'chat.completion.chunk'), choices: [{ index: 0, delta, logprobs: null, finish_reason }] });
    const usage = sse({ ...head(said, 'chat.completion.chunk'), choices: [], usage: usageOf(saying) });
    return [
      ...deltas.map((delta) => chunk(delta, null)),
      chunk({}, finishOf(saying)),
      ...(heard.tellsUsage ? [usage] : []),
      'data: [DONE]\n\n',
    ];
  },
  failure: (message) => sse({ error: { message, type: 'server_error', param: null, code: 'overloaded' } }),
  error: (status, message) => ({
    error: { message, type: status === 429 ? 'rate_limit_error' : 'invalid_request_error', param: null, code: null },
  }),
};

function callDeltas({ saying, number }: Said, index: number): readonly object[] {
  const { name, input } = saying.calls[index] ?? { name: '', input: {} };
  const delta = (call: object): object => ({ tool_calls: [{ index, ...call }] });
  return [
    delta({ id: idOf(number, index), type: 'function', function: { name, arguments: '' } }),
    ...deltasOf(JSON.stringify(input), 5).map((piece) => delta({ function: { arguments: piece } })),
  ];
}

function head({ heard, number }: Pick<Said, 'heard' | 'number'>, object: string): object {
  return { id: `chatcmpl-${number}`, object, created: 1_760_000_000, model: heard.model, system_fingerprint: 'fp_1' };
}

function idOf(number: number, index: number): string {
  return `call_${number}x${index}`;
}

function finishOf({ calls }: Said['saying']): string {
  return calls.length === 0 ? 'stop' : 'tool_calls';
}

function usageOf({ usage: { input, cached, output, thoughts } }: Said['saying']): object {
  return {
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: input + output,
    prompt_tokens_details: { cached_tokens: cached },
    completion_tokens_details: { reasoning_tokens: thoughts },
  };
}

function read({ path, headers, body }: Received): Heard {
  if (path !== '/v1/chat/completions') throw new Refused(`Unknown path ${path}`, 404);
  must(/^Bearer ./.test(String(headers['authorization'])), 'You did not provide an API key.');
  members(body, 'body', known, 'model messages');
  numbers(body, 'body', {
    any: 'temperature top_p presence_penalty frequency_penalty seed',
    wholes: 'max_tokens max_completion_tokens n',
  });
  booleans(body, 'body', 'stream logprobs parallel_tool_calls store');
  const isTwice = body['max_tokens'] !== undefined && body['max_completion_tokens'] !== undefined;
  must(!isTwice, 'max_tokens and max_completion_tokens exclude each other');
  if (body['reasoning_effort'] !== undefined) {
    word(body['reasoning_effort'], 'reasoning_effort', ['none', 'minimal', 'low', 'medium', 'high', 'xhigh']);
  }
  const stream = body['stream'] === true;
  must(stream || body['stream_options'] === undefined, "'stream_options' is for streams only");
  const messages = list(body['messages'], 'messages').map((value, index) => readMessage(value, `messages[${index}]`));
  must(messages.length > 0, 'messages: must not be empty');
  const turns = joinTurns(messages.filter((turn): turn is HeardTurn => turn.role !== 'system'));
  checkCalls(turns);
  const tools = listIfAny(body['tools'], 'tools').map(readTool);
  must(tools.length > 0 || body['tool_choice'] === undefined, "'tool_choice' needs tools");
  must(tools.length > 0 || body['parallel_tool_calls'] === undefined, "'parallel_tool_calls' needs tools");
  return {
    model: text(body['model'], 'model'),
    stream,
    system: messages.flatMap((turn) => (turn.role === 'system' ? turn.parts.map(wordsOf) : [])).join('\n'),
    turns,
    tools,
    hasSchema: readFormat(body['response_format']),
    thinks: !['none', undefined].includes(body['reasoning_effort'] as string | undefined),
    tellsUsage: anyMembers(body['stream_options'] ?? {}, 'stream_options')['include_usage'] === true,
    tellsSignature: false,
  };
}

interface Message {
  readonly role: 'user' | 'assistant' | 'system';
  readonly parts: readonly HeardPart[];
}

function wordsOf(part: HeardPart): string {
  return part.kind === 'text' ? part.text : '';
}

function readMessage(value: unknown, path: string): Message {
  const message = anyMembers(value, path);
  const role = word(message['role'], `${path}.role`, ['system', 'developer', 'user', 'assistant', 'tool']);
  if (role === 'tool') {
    members(message, path, 'name', 'role tool_call_id content');
    const output = readContent(message['content'], `${path}.content`).map(wordsOf).join('');
    return { role: 'user', parts: [{ kind: 'result', id: text(message['tool_call_id'], path), output }] };
  }
  if (role === 'assistant') return readAssistant(message, path);
  members(message, path, 'name', 'role content');
  const parts = readContent(message['content'], `${path}.content`);
  return { role: role === 'user' ? 'user' : 'system', parts };
}

function readAssistant(message: Members, path: string): Message {
  members(message, path, 'name content refusal annotations audio tool_calls function_call reasoning_content', 'role');
  const { content, reasoning_content: thought } = message;
  const calls = listIfAny(message['tool_calls'] ?? undefined, `${path}.tool_calls`);
  must(message['tool_calls'] === undefined || calls.length > 0, `${path}.tool_calls: must not be empty`);
  must(calls.length > 0 || (content !== undefined && content !== null), `${path}.content: is missing`);
  const thoughts: HeardPart[] = typeof thought === 'string' ? [{ kind: 'thought', text: thought, signature: '' }] : [];
  const said = content === undefined || content === null ? [] : readContent(content, `${path}.content`);
  return { role: 'assistant', parts: [...thoughts, ...said, ...calls.map((call) => readCall(call, path))] };
}

function readCall(value: unknown, path: string): HeardPart {
  const call = members(value, `${path}.tool_calls`, 'index', 'id type function');
  must(call['type'] === 'function', `${path}.tool_calls.type: must be "function"`);
  const { name, arguments: input } = members(call['function'], `${path}.function`, '', 'name arguments');
  const id = text(call['id'], `${path}.tool_calls.id`);
  return { kind: 'call', id, name: toolName(name, path), input: parsed(input, `${path}.function.arguments`) };
}

function readContent(value: unknown, path: string): readonly HeardPart[] {
  if (typeof value === 'string') return [{ kind: 'text', text: value }];
  const parts = list(value, path);
  must(parts.length > 0, `${path}: must not be empty`);
  return parts.map((entry, index) => readPart(entry, `${path}[${index}]`));
}

function readPart(value: unknown, path: string): HeardPart {
  const part = anyMembers(value, path);
  if (word(part['type'], `${path}.type`, ['text', 'image_url']) === 'text') {
    return { kind: 'text', text: text(members(part, path, '', 'type text')['text'], path) };
  }
  const { url } = members(members(part, path, '', 'type image_url')['image_url'], path, 'detail', 'url');
  const [, mediaType = '', data] = /^data:(image\/\w+);base64,(.*)$/.exec(text(url, path)) ?? [];
  return { kind: 'image', mediaType, data: base64(data, `${path}.image_url.url`) };
}

function readTool(value: unknown, index: number): string {
  const path = `tools[${index}]`;
  const tool = members(value, path, '', 'type function');
  must(tool['type'] === 'function', `${path}.type: must be "function"`);
  const { name, parameters, strict } = members(tool['function'], path, 'description parameters strict', 'name');
  if (parameters !== undefined) objectSchema(parameters, `${path}.function.parameters`, strict === true);
  return toolName(name, `${path}.function.name`);
}

function readFormat(value: unknown): boolean {
  if (value === undefined) return false;
  const format = members(value, 'response_format', 'json_schema', 'type');
  if (word(format['type'], 'response_format.type', ['text', 'json_object', 'json_schema']) !== 'json_schema')
    return false;
  const path = 'response_format.json_schema';
  const { name, schema, strict } = members(format['json_schema'], path, 'description schema strict', 'name');
  toolName(name, `${path}.name`);
  objectSchema(schema, `${path}.schema`, strict === true);
  return true;
}
