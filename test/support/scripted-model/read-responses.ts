// Reads requests as OpenAI's Responses API does.
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
import { checkSignature } from './signatures.ts';
import type { Received } from './wire.ts';

const known =
  'background conversation include input instructions max_output_tokens max_tool_calls metadata model parallel_tool_calls ' +
  'previous_response_id prompt prompt_cache_key prompt_cache_retention reasoning safety_identifier service_tier store stream ' +
  'stream_options temperature text tool_choice client_metadata tools top_logprobs top_p truncation user';

const itemTypes = [
  'message',
  'function_call',
  'function_call_output',
  'custom_tool_call',
  'custom_tool_call_output',
  'tool_search_call',
  'tool_search_output',
  'additional_tools',
  'reasoning',
] as const;

interface Said {
  readonly role: HeardTurn['role'] | 'system';
  readonly part: HeardPart;
}

export function readResponses({ path, headers, body }: Received): Heard {
  if (path !== '/v1/responses') throw new Refused(`Unknown path ${path}`, 404);
  must(/^Bearer ./.test(String(headers['authorization'])), 'You did not provide an API key.');
  members(body, 'body', known, 'model input');
  numbers(body, 'body', { any: 'temperature top_p', wholes: 'max_output_tokens max_tool_calls' });
  booleans(body, 'body', 'stream store background parallel_tool_calls');
  must(body['previous_response_id'] === undefined, 'Previous response not found.');
  const said = readInput(body['input']);
  const turns = said.flatMap(({ role, part }): HeardTurn[] => (role === 'system' ? [] : [{ role, parts: [part] }]));
  const joined = joinTurns(turns);
  checkCalls(joined);
  const reasoning = members(body['reasoning'] ?? {}, 'reasoning', 'effort summary generate_summary context');
  const effort = reasoning['effort'] ?? undefined;
  if (effort !== undefined) word(effort, 'reasoning.effort', ['none', 'minimal', 'low', 'medium', 'high', 'xhigh']);
  if (effort !== undefined && effort !== 'none') {
    must(body['temperature'] === undefined, "Unsupported parameter: 'temperature' is not supported with this model.");
  }
  const given = anyItems(body['input']).filter(
    ({ type }) => type === 'additional_tools' || type === 'tool_search_output',
  );
  const lists = [listIfAny(body['tools'], 'tools'), ...given.map(({ tools }) => list(tools, 'input.tools'))];
  const offered = lists.flatMap((entries) => entries.flatMap((entry, index) => readTool(entry, `tools[${index}]`)));
  const tools = offered.map(({ name }) => name);
  must(tools.length > 0 || body['tool_choice'] === undefined, "'tool_choice' needs tools");
  const system = said.flatMap(({ role, part }) => (role === 'system' && part.kind === 'text' ? [part.text] : []));
  return {
    model: text(body['model'], 'model'),
    stream: body['stream'] === true,
    system: [text(body['instructions'] ?? '', 'instructions'), ...system].join('\n'),
    turns: joined,
    tools,
    toolForms: new Map(offered.flatMap(({ name, form }) => (form === undefined ? [] : [[name, form]]))),
    hasSchema: readFormat(body['text']),
    thinks: effort !== undefined && effort !== 'none',
    tellsUsage: true,
    tellsSignature: listIfAny(body['include'] ?? undefined, 'include').includes('reasoning.encrypted_content'),
  };
}

/** The items of the input; none when it is a text. */
function anyItems(value: unknown): readonly Members[] {
  return typeof value === 'string'
    ? []
    : list(value, 'input').map((entry, index) => anyMembers(entry, `input[${index}]`));
}

function readInput(value: unknown): readonly Said[] {
  if (typeof value === 'string') return [{ role: 'user', part: { kind: 'text', text: value } }];
  const items = anyItems(value);
  must(items.length > 0, 'input: must not be empty');
  for (const [index, { type, role }] of items.entries()) {
    const next = items[index + 1];
    const isFollowed = next !== undefined && next['role'] !== 'user' && next['type'] !== 'function_call_output';
    if (type === 'reasoning') must(isFollowed, `input[${index}]: 'reasoning' without its required following item`);
    else must(type !== undefined || role !== undefined, `input[${index}].type: is missing`);
  }
  return items.flatMap((item, index) => readItem(item, `input[${index}]`));
}

function readItem(item: Members, path: string): readonly Said[] {
  switch (word(item['type'] ?? 'message', `${path}.type`, itemTypes)) {
    case 'message':
      return readMessage(item, path);
    case 'function_call': {
      members(item, path, 'id status namespace', 'type call_id name arguments');
      checkId(item, 'fc', path);
      return readCall(item, path, parsed(item['arguments'], `${path}.arguments`));
    }
    case 'custom_tool_call':
      members(item, path, 'id status namespace', 'type call_id name input');
      checkId(item, 'ctc', path);
      return readCall(item, path, { input: text(item['input'], `${path}.input`) });
    case 'tool_search_call':
      members(item, path, 'id status', 'type call_id execution arguments');
      checkId(item, 'tsc', path);
      return readCall({ ...item, name: 'tool_search' }, path, anyMembers(item['arguments'], `${path}.arguments`));
    case 'function_call_output':
    case 'custom_tool_call_output': {
      members(item, path, 'id status name', 'type call_id output');
      const output = readContent(item['output'], `${path}.output`, ['input_text', 'input_image']).map(wordsOf).join('');
      return [{ role: 'user', part: { kind: 'result', id: callId(item, path), output } }];
    }
    case 'tool_search_output':
      members(item, path, 'id status', 'type call_id execution tools');
      return [{ role: 'user', part: { kind: 'result', id: callId(item, path), output: '' } }];
    case 'additional_tools':
      members(item, path, 'id', 'type role tools');
      return [];
    case 'reasoning':
      break;
  }
  return [{ role: 'assistant', part: readReasoning(item, path) }];
}

function readCall(item: Members, path: string, input: Members): readonly Said[] {
  const name = qualified(toolName(item['name'], `${path}.name`), item['namespace']);
  return [{ role: 'assistant', part: { kind: 'call', id: callId(item, path), name, input } }];
}

function qualified(name: string, space: unknown): string {
  return space === undefined ? name : `${toolName(space, 'namespace')}.${name}`;
}

function callId(item: Members, path: string): string {
  const id = text(item['call_id'], `${path}.call_id`);
  must(id.length > 0 && id.length <= 64, `${path}.call_id: string too long`);
  return id;
}

function checkId({ id }: Members, prefix: string, path: string): void {
  if (id === undefined) return;
  const given = text(id, `${path}.id`);
  must(
    given.startsWith(`${prefix}_`),
    `Invalid '${path}.id': '${given}'. Expected an ID that begins with '${prefix}'.`,
  );
}

function readReasoning(item: Members, path: string): HeardPart {
  members(item, path, 'id status content encrypted_content', 'type summary');
  checkId(item, 'rs', path);
  const summary = list(item['summary'], `${path}.summary`).map((entry) => {
    return text(members(entry, `${path}.summary`, '', 'type text')['text'], `${path}.summary`);
  });
  const proof = text(item['encrypted_content'] ?? '', `${path}.encrypted_content`);
  if (proof !== '') checkSignature('responses', proof, summary.join(''));
  return { kind: 'thought', text: summary.join(''), signature: proof };
}

function readMessage(item: Members, path: string): readonly Said[] {
  members(item, path, 'type id status phase', 'role content');
  const role = word(item['role'], `${path}.role`, ['user', 'assistant', 'system', 'developer']);
  if (role === 'assistant') checkId(item, 'msg', path);
  const types = role === 'assistant' ? ['output_text', 'refusal'] : ['input_text', 'input_image'];
  const speaker = role === 'user' || role === 'assistant' ? role : 'system';
  return readContent(item['content'], `${path}.content`, types).map((part) => ({ role: speaker, part }));
}

function wordsOf(part: HeardPart): string {
  return part.kind === 'text' ? part.text : '';
}

function readContent(value: unknown, path: string, types: readonly string[]): readonly HeardPart[] {
  if (typeof value === 'string') return [{ kind: 'text', text: value }];
  return list(value, path).map((entry, index) => {
    const at = `${path}[${index}]`;
    const part = anyMembers(entry, at);
    const type = word(part['type'], `${at}.type`, types);
    if (type !== 'input_image') {
      members(part, at, 'annotations logprobs', type === 'refusal' ? 'type refusal' : 'type text');
      return { kind: 'text', text: text(part['text'] ?? part['refusal'], at) };
    }
    const { image_url: url } = members(part, at, 'detail file_id', 'type image_url');
    const [, mediaType = '', data] = /^data:(image\/\w+);base64,(.*)$/.exec(text(url, at)) ?? [];
    return { kind: 'image', mediaType, data: base64(data, `${at}.image_url`) };
  });
}

interface Offered {
  readonly name: string;
  readonly form?: 'custom' | 'tool_search';
}

/** Those of a namespace have its name before a dot. Searches of the web are the provider's own. */
function readTool(value: unknown, path: string, space?: string): readonly Offered[] {
  const types = ['function', 'custom', 'namespace', 'tool_search', 'web_search'] as const;
  const type = word(anyMembers(value, path)['type'], `${path}.type`, types);
  if (type === 'web_search') return [];
  if (type === 'tool_search') {
    members(value, path, 'description parameters', 'type execution');
    return [{ name: type, form: type }];
  }
  if (type === 'namespace') {
    must(space === undefined, `${path}.type: a namespace cannot be in another one`);
    const { name, tools } = members(value, path, 'description', 'type name tools');
    const inside = toolName(name, `${path}.name`);
    return list(tools, `${path}.tools`).flatMap((tool, index) => readTool(tool, `${path}.tools[${index}]`, inside));
  }
  if (type === 'custom') {
    const { name } = members(value, path, 'description format defer_loading', 'type name');
    return [{ name: qualified(toolName(name, `${path}.name`), space), form: type }];
  }
  const tool = members(value, path, 'description parameters strict defer_loading', 'type name');
  if (tool['parameters'] !== undefined && tool['parameters'] !== null) {
    objectSchema(tool['parameters'], `${path}.parameters`, tool['strict'] === true);
  }
  return [{ name: qualified(toolName(tool['name'], `${path}.name`), space) }];
}

function readFormat(value: unknown): boolean {
  if (value === undefined) return false;
  const { format } = members(value, 'text', 'format verbosity');
  if (format === undefined) return false;
  const { type, name, schema, strict } = members(format, 'text.format', 'name schema strict description', 'type');
  if (word(type, 'text.format.type', ['text', 'json_object', 'json_schema']) !== 'json_schema') return false;
  toolName(name, 'text.format.name');
  objectSchema(schema, 'text.format.schema', strict === true);
  return true;
}
