// The tools of the Responses format that the client runs and whose calls are items of their own: what they are as functions, and back.
import type { ForeignTool, FunctionTool } from '../conversation/conversation.ts';
import type { ToolCallPart } from '../conversation/parts.ts';
import { type JsonObject, listOf, objectOf, parseObject, textOf, writeJson } from '../json/json.ts';

interface ClientTool {
  /** The type of the tool, and its name as a function. */
  readonly name: string;
  /** The beginning of the ids of its calls. */
  readonly prefix: string;
  /** The member of a call that holds the input. */
  readonly member: string;
  /** Members of a call that are the same in each. */
  readonly always: JsonObject;
  /** Members of the input that clients find in each call; not told to the model. */
  readonly usual: JsonObject;
  readonly description: string;
  readonly parameters: JsonObject;
}

const text = { type: 'string' };
const number = { type: 'integer' };

function inputOf(properties: JsonObject, required: readonly string[]): JsonObject {
  return { type: 'object', properties, required };
}

/** By the types of their calls. */
const clientTools: ReadonlyMap<string, ClientTool> = new Map(
  (
    [
      {
        name: 'local_shell',
        prefix: 'lsh_',
        member: 'action',
        always: {},
        usual: { type: 'exec', env: {} },
        description: 'Runs a command on the computer of the user and returns its output.',
        parameters: inputOf(
          {
            command: { type: 'array', items: text, description: 'The program and its arguments.' },
            working_directory: text,
            timeout_ms: number,
          },
          ['command'],
        ),
      },
      {
        name: 'shell',
        prefix: 'sh_',
        member: 'action',
        always: {},
        usual: { timeout_ms: null, max_output_length: null },
        description: 'Runs commands in a shell and returns what each has written and its exit code.',
        parameters: inputOf(
          {
            commands: { type: 'array', items: text, description: 'The commands, each a line of the shell.' },
            timeout_ms: number,
            max_output_length: number,
          },
          ['commands'],
        ),
      },
      {
        name: 'apply_patch',
        prefix: 'apc_',
        member: 'operation',
        always: {},
        usual: {},
        description: 'Creates, changes or deletes one file.',
        parameters: inputOf(
          {
            type: { type: 'string', enum: ['create_file', 'update_file', 'delete_file'] },
            path: text,
            diff: {
              type: 'string',
              description:
                'The change as a V4A diff: lines that begin with "@@", " ", "+" or "-"; of a new file each line behind "+". Left out to delete.',
            },
          },
          ['type', 'path'],
        ),
      },
      {
        name: 'tool_search',
        prefix: 'tsc_',
        member: 'arguments',
        always: { execution: 'client' },
        usual: {},
        description: 'Searches for further tools and makes them available.',
        parameters: inputOf({ query: text }, ['query']),
      },
    ] satisfies readonly ClientTool[]
  ).map((tool) => [`${tool.name}_call`, tool]),
);

/** The type of the calls of a tool that the client runs; undefined: the provider runs it, or its calls are those of functions. */
export function callTypeOf({ dialect, name, value }: ForeignTool): string | undefined {
  const type = `${name}_call`;
  if (dialect !== 'responses' || !clientTools.has(type)) return undefined;
  if (name === 'tool_search') return value['execution'] === 'client' ? type : undefined;
  const place = objectOf(value['environment'])?.['type'] ?? 'local';
  return place === 'local' ? type : undefined;
}

/** A tool that the client runs as a function with another name. `item`: the type of its calls. */
export function clientFunction({ value, place }: ForeignTool, item: string, name: string): FunctionTool | undefined {
  const tool = clientTools.get(item);
  if (tool === undefined) return undefined;
  return {
    kind: 'function',
    name,
    description: [textOf(value['description']) ?? tool.description, ...skillsOf(value)].join('\n\n'),
    parameters: objectOf(value['parameters']) ?? tool.parameters,
    place,
    calledAs: { item },
  };
}

/** The skills on the user's computer, which the model may read. */
function skillsOf(tool: JsonObject): readonly string[] {
  const skills = listOf(objectOf(tool['environment'])?.['skills']) ?? [];
  return skills.length === 0 ? [] : [`Skills, each described by the file at its path: ${writeJson(skills)}`];
}

/** The name and the input of such a call; undefined: it is an item of another type. */
export function readClientCall(item: JsonObject): { readonly name: string; readonly input: JsonObject } | undefined {
  const tool = clientTools.get(textOf(item['type']) ?? '');
  const input = tool && objectOf(item[tool.member]);
  if (tool === undefined || input === undefined) return undefined;
  const isSaid = ([key, value]: [string, JsonObject[string]]): boolean =>
    value !== null && value !== undefined && writeJson(value) !== writeJson(tool.usual[key] ?? null);
  return { name: tool.name, input: Object.fromEntries(Object.entries(input).filter(isSaid)) };
}

/** The beginning of the id of a call's item. */
export function clientPrefix(item: string): string {
  return clientTools.get(item)?.prefix ?? 'item_';
}

/** The item of a call. A model that has written no object has called with nothing. */
export function clientItem(
  item: string,
  id: string,
  status: 'in_progress' | 'completed' | 'incomplete',
  call: ToolCallPart,
): JsonObject {
  const tool = clientTools.get(item);
  const input = parseObject(call.input) ?? {};
  const members = tool === undefined ? {} : { ...tool.always, [tool.member]: { ...tool.usual, ...input } };
  return { id, type: item, status, call_id: call.id, ...members };
}
