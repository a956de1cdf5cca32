// Reads responses into the form of the demo model. Nothing is kept, so whatever refers to an earlier answer is refused.
import type { Conversation, Part, Tool, Turn } from '../conversation.ts';
import { mediaFromId } from '../media/media.ts';
import { type Body, isObject, optionalText, Refusal, readPositive } from '../requests.ts';
import { unseal } from '../thoughts.ts';
import {
  invalid,
  readChoice,
  readData,
  readFile,
  readFormat,
  readTool,
  readUrl,
  requireObjects,
  requirePairs,
  requireText,
  unknownValue,
} from './openai.ts';

/** The conversation that a body asks `model` to go on with. */
export function readResponses(model: string, body: Body): Conversation {
  refuseKept(body);
  const instructions: Turn[] =
    typeof body['instructions'] === 'string'
      ? [{ role: 'system', parts: [{ kind: 'text', text: body['instructions'] }] }]
      : [];
  const turns = [...instructions, ...readInput(body['input'])];
  requirePairs(turns, (isCall, id) =>
    invalid(
      'input',
      isCall
        ? `No tool output found for function call ${id}.`
        : `No tool call found for function call output with call_id ${id}.`,
      null,
    ),
  );
  const { text, reasoning } = body;
  const format = isObject(text) ? text['format'] : undefined;
  const effort = isObject(reasoning) ? (reasoning['effort'] ?? 'none') : 'none';
  return {
    model,
    turns,
    ...readTools(body),
    isParallel: body['parallel_tool_calls'] !== false,
    output: readFormat(format, format, 'text.format'),
    thinks: effort !== 'none',
    limit: readPositive(body, 'max_output_tokens') ?? Number.POSITIVE_INFINITY,
    stop: [],
  };
}

function refuseKept(body: Body): void {
  const { previous_response_id: previous, conversation, background } = body;
  if (typeof previous === 'string') {
    const message = `Previous response with id '${previous}' not found.`;
    throw invalid('previous_response_id', message, 'previous_response_not_found');
  }
  if (conversation !== undefined && conversation !== null) {
    const id = isObject(conversation) ? conversation['id'] : conversation;
    throw new Refusal(404, `Conversation with id '${String(id)}' not found.`);
  }
  if (background === true)
    throw invalid('background', 'The demo provider keeps no answers, so none in the background.');
}

function readInput(input: unknown): Turn[] {
  if (typeof input === 'string') return [{ role: 'user', parts: [{ kind: 'text', text: input }] }];
  if (input === undefined) {
    throw invalid('input', "Missing required parameter: 'input'.", 'missing_required_parameter');
  }
  const items = requireObjects(input, 'input');
  return items.flatMap((item, index) => readItem(item, `input[${index}]`));
}

/** The turns of an item; none for one without text. `param`: its place. */
export function readItem(item: Body, param: string): Turn[] {
  const type = item['type'] ?? 'message';
  switch (type) {
    case 'message':
      return [readMessage(item, param)];
    case 'function_call':
    case 'custom_tool_call': {
      requireText(item, type === 'function_call' ? 'arguments' : 'input', param);
      const [id, name] = [requireText(item, 'call_id', param), requireText(item, 'name', param)];
      return [{ role: 'assistant', parts: [{ kind: 'call', id, name }] }];
    }
    case 'function_call_output':
    case 'custom_tool_call_output': {
      const content = readContent(item['output'], `${param}.output`);
      const callId = requireText(item, 'call_id', param);
      return [{ role: 'user', parts: [{ kind: 'result', callId, content, isError: item['status'] === 'incomplete' }] }];
    }
    case 'reasoning':
      verifyThoughts(item, param);
      return [];
    case 'item_reference':
      throw new Refusal(404, `Item with id '${String(item['id'])}' not found.`, 'input');
    default:
      // Items of the provider's tools hold no text of the conversation.
      if (/_call(_output)?$|^(mcp_|compaction)/.test(optionalText(type) ?? '')) return [];
      throw unknownValue(`${param}.type`, type, "'message', 'function_call', 'function_call_output', and 'reasoning'");
  }
}

function verifyThoughts(item: Body, param: string): void {
  if ((item['encrypted_content'] ?? undefined) === undefined) return;
  const sealed = requireText(item, 'encrypted_content', param);
  if (unseal(sealed, 'responses') !== undefined) return;
  throw invalid(
    `${param}.encrypted_content`,
    `The encrypted content ${sealed.slice(0, 12)}... could not be verified. Reason: Encrypted content could not be decrypted or parsed.`,
    'invalid_encrypted_content',
  );
}

function readMessage(item: Body, param: string): Turn {
  const { role } = item;
  const parts = readContent(item['content'], `${param}.content`);
  if (role === 'system' || role === 'developer') return { role: 'system', parts };
  if (role === 'user' || role === 'assistant') return { role, parts };
  throw unknownValue(`${param}.role`, role, "'assistant', 'system', 'developer', and 'user'");
}

function readContent(content: unknown, param: string): Part[] {
  if (typeof content === 'string') return [{ kind: 'text', text: content }];
  return requireObjects(content, param).map((part, index) => readPart(part, `${param}[${index}]`));
}

function readPart(part: Body, param: string): Part {
  const { type } = part;
  switch (type) {
    case 'input_text':
    case 'output_text':
    case 'text':
      return { kind: 'text', text: requireText(part, 'text', param) };
    case 'refusal':
      return { kind: 'text', text: requireText(part, 'refusal', param) };
    case 'input_image':
      if (typeof part['file_id'] === 'string') return mediaFromId('image', part['file_id']);
      return readUrl('image', requireText(part, 'image_url', param), `${param}.image_url`);
    case 'input_file':
      return readFile(part, param);
    case 'input_audio': {
      const audio = isObject(part['input_audio']) ? part['input_audio'] : {};
      const [data, format] = ['data', 'format'].map((name) => requireText(audio, name, `${param}.input_audio`));
      return readData('sound', `audio/${format}`, data ?? '', `${param}.input_audio.data`);
    }
    default:
      throw unknownValue(
        `${param}.type`,
        type,
        "'input_text', 'input_image', 'output_text', 'refusal', and 'input_file'",
      );
  }
}

/** The tools of a body, and which of them may or must be called. */
export function readTools(body: Body): Pick<Conversation, 'tools' | 'toolChoice'> {
  const tools = requireObjects(body['tools'] ?? [], 'tools').flatMap(readAnyTool);
  return { tools, toolChoice: readChoice(body['tool_choice'], tools, chosenNames) };
}

/** A tool that the caller runs; one that the provider would run is never called. */
function readAnyTool(tool: Body, index: number): Tool[] {
  const { type } = tool;
  if (type === 'function' || type === 'custom') return [readTool(tool, `tools[${index}]`, type === 'custom')];
  if (typeof type === 'string' && type !== '') return [];
  throw unknownValue(`tools[${index}].type`, type, "'function' and 'custom'");
}

/** `{type: "function", name}`, or such objects in `tools`; none for a tool that the provider would run. */
function chosenNames(choice: Body): string[] {
  const list = choice['type'] === 'allowed_tools' ? requireObjects(choice['tools'], 'tool_choice.tools') : [choice];
  const run = list.filter(({ type }) => type === 'function' || type === 'custom');
  return run.map((item) => requireText(item, 'name', 'tool_choice'));
}
