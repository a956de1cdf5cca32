// Reads the tools of a request, and which of them the model may or must call.
import type { FunctionTool, OwnMember, Tool, ToolChoice } from '../../conversation/conversation.ts';
import { isObject, type JsonObject, type JsonValue, listOf, textOf } from '../../json/json.ts';
import {
  objectsIn,
  optionalFlag,
  optionalList,
  optionalObject,
  optionalText,
  requiredText,
} from '../../json/members.ts';
import { placedTools } from '../../tools/foreign-tools.ts';
import { InvalidRequest } from '../../translation.ts';
import { restOf } from '../own-marks.ts';

export interface ReadTools {
  readonly tools: readonly Tool[];
  readonly toolChoice?: ToolChoice;
  readonly ownMembers: readonly OwnMember[];
}

/** `tools` and `tool_choice`. Throws an InvalidRequest. */
export function readTools(body: JsonObject): ReadTools {
  const list = optionalList(body, 'tools') ?? [];
  const read = objectsIn(list, 'tools').map(({ value, at }) => readTool(value, at));
  const tools = read.map(({ tool }) => tool);
  const ownMembers = read.flatMap((each) => each.ownMembers);
  const choice = body['tool_choice'] ?? undefined;
  if (choice === undefined) return { tools, ownMembers };
  if (isObject(choice) && choice['type'] === 'allowed_tools') return readAllowed(choice, { tools, ownMembers }, list);
  const toolChoice = readChoice(choice);
  if (toolChoice !== undefined) return { tools, toolChoice, ownMembers };
  return { tools, ownMembers: [...ownMembers, { path: ['tool_choice'], value: choice, isMeaning: true }] };
}

const functionMembers = new Set(['type', 'name', 'description', 'parameters', 'strict']);
const freeTextMembers = new Set(['type', 'name', 'description', 'format']);

/** A tool, and members of it that are told by their paths. Throws an InvalidRequest. */
export function readTool(value: JsonObject, at: string): { tool: Tool; ownMembers: readonly OwnMember[] } {
  const type = requiredText(value, 'type', at);
  if (type === 'function') return { tool: readFunction(value, at), ownMembers: [] };
  if (type !== 'custom') return { tool: { kind: 'foreign', dialect: 'responses', name: type, value }, ownMembers: [] };
  const description = optionalText(value, 'description', at);
  const format = optionalObject(value, 'format', at);
  const tool: Tool = {
    kind: 'free_text',
    name: requiredText(value, 'name', at),
    ...(description === undefined ? {} : { description }),
    ...(format === undefined ? {} : { format }),
  };
  const steps = at.split(/[.[\]]+/).filter((step) => step !== '');
  const further = Object.entries(restOf(value, freeTextMembers));
  const ownMembers = further.map(([key, member]) => ownMember([...steps, key], member ?? null));
  return { tool, ownMembers };
}

function ownMember(path: readonly string[], value: JsonValue): OwnMember {
  return { path, value, isMeaning: false };
}

function readFunction(value: JsonObject, at: string): FunctionTool {
  const description = optionalText(value, 'description', at);
  const parameters = optionalObject(value, 'parameters', at);
  const strict = optionalFlag(value, 'strict', at);
  const members = restOf(value, functionMembers);
  return {
    kind: 'function',
    name: requiredText(value, 'name', at),
    ...(description === undefined ? {} : { description }),
    ...(parameters === undefined ? {} : { parameters }),
    ...(strict === undefined ? {} : { strict }),
    ...(Object.keys(members).length === 0 ? {} : { own: { dialect: 'responses', members } }),
  };
}

/** Undefined: a tool is named that only this dialect knows. */
function readChoice(choice: JsonValue): ToolChoice | undefined {
  if (choice === 'auto' || choice === 'none' || choice === 'required') return { kind: choice };
  if (!isObject(choice)) throw new InvalidRequest('tool_choice', 'must be auto, none, required or an object');
  const type = requiredText(choice, 'type', 'tool_choice');
  if (type !== 'function' && type !== 'custom') return undefined;
  const namespace = optionalText(choice, 'namespace', 'tool_choice');
  const name = requiredText(choice, 'name', 'tool_choice');
  return { kind: 'tool', name, ...(namespace === undefined ? {} : { namespace }) };
}

/** Only some of the tools may be called: for others it is as if these were all. */
function readAllowed(choice: JsonObject, { tools, ownMembers }: ReadTools, list: readonly JsonValue[]): ReadTools {
  const mode = requiredText(choice, 'mode', 'tool_choice');
  if (mode !== 'auto' && mode !== 'required') throw new InvalidRequest('tool_choice.mode', 'must be auto or required');
  const named = objectsIn(optionalList(choice, 'tools', 'tool_choice') ?? [], 'tool_choice.tools');
  const names = new Set(named.map(({ value }) => allowedKey(value)));
  const allowed = placedTools(tools).flatMap((tool, index) => {
    const value = list[index];
    return isObject(value) ? allowedOf(tool, value, names) : [];
  });
  const all = allowed.length === tools.length ? ownMembers : [ownMember(['tools'], list)];
  return { tools: allowed, toolChoice: { kind: mode }, ownMembers: [...all, ownMember(['tool_choice'], choice)] };
}

/** The tool, or one with those tools of a namespace that may be called. */
function allowedOf(tool: Tool, value: JsonObject, names: ReadonlySet<string>): readonly Tool[] {
  if (names.has(allowedKey(value))) return [tool];
  if (tool.kind !== 'foreign' || tool.name !== 'namespace') return [];
  const namespace = value['name'] ?? null;
  const some = (listOf(value['tools']) ?? []).filter(
    (each) => isObject(each) && names.has(allowedKey({ ...each, namespace })),
  );
  return some.length === 0 ? [] : [{ ...tool, value: { ...value, tools: some } }];
}

/** Functions and the like are named; a tool of the provider is known by its type, and an MCP server by its label. */
export function allowedKey(tool: JsonObject): string {
  const name = textOf(tool['name']) ?? textOf(tool['server_label']) ?? '';
  return `${textOf(tool['type'])} ${textOf(tool['namespace']) ?? ''} ${name}`;
}
