// Reads the tools of a request and what is chosen of them, in the forms of three generations.
import type { Tool, ToolChoice } from '../../conversation/conversation.ts';
import { isObject, type JsonObject, textOf } from '../../json/json.ts';
import {
  objectsIn,
  optionalFlag,
  optionalList,
  optionalObject,
  optionalText,
  pathOf,
  requiredObject,
  requiredText,
} from '../../json/members.ts';
import { placedTools } from '../../tools/foreign-tools.ts';
import { InvalidRequest } from '../../translation.ts';
import { membersBut } from '../own.ts';

export interface ChosenTools {
  readonly tools: readonly Tool[];
  readonly toolChoice?: ToolChoice | undefined;
}

/** `tools` and the older `functions`. Of a choice among allowed tools the others are left out. */
export function readTools(body: JsonObject): ChosenTools {
  const tools = objectsIn(optionalList(body, 'tools') ?? [], 'tools').map(({ value, at }) => readTool(value, at));
  const functions = objectsIn(optionalList(body, 'functions') ?? [], 'functions');
  const all = [...tools, ...functions.map(({ value, at }) => ({ ...readFunction(value, value, at), place: at }))];
  const choice = body['tool_choice'] ?? undefined;
  if (isObject(choice) && choice['type'] === 'allowed_tools') return readAllowed(choice, all);
  const legacy = body['function_call'] ?? undefined;
  if (choice !== undefined) return { tools: all, toolChoice: readChoice(choice, 'tool_choice') };
  return legacy === undefined ? { tools: all } : { tools: all, toolChoice: readChoice(legacy, 'function_call') };
}

function readTool(tool: JsonObject, at: string): Tool {
  const called = optionalObject(tool, 'function', at);
  const type = optionalText(tool, 'type', at) ?? (called === undefined ? undefined : 'function');
  if (type === undefined) throw new InvalidRequest(pathOf(at, 'type'), 'is missing; it must be a text');
  if (type === 'custom') return readFreeTextTool(tool, at);
  if (type !== 'function') return { kind: 'foreign', dialect: 'chat', name: type, value: tool };
  if (called === undefined) return readFunction(tool, tool, at);
  return readFunction(called, tool, pathOf(at, 'function'));
}

/** `tool`: what the function stands in; the function itself in the flat form. */
function readFunction(called: JsonObject, tool: JsonObject, at: string): Tool {
  const description = optionalText(called, 'description', at);
  const parameters = optionalObject(called, 'parameters', at);
  const strict = optionalFlag(called, 'strict', at);
  const mark = optionalObject(tool, 'cache_control', at);
  const members = {
    ...keyed('tool', called === tool ? {} : membersBut(tool, ['type', 'function', 'cache_control'])),
    ...keyed('function', membersBut(called, 'type cache_control name description parameters strict'.split(' '))),
  };
  return {
    kind: 'function',
    name: requiredText(called, 'name', at),
    ...(description === undefined ? {} : { description }),
    ...(parameters === undefined ? {} : { parameters }),
    ...(strict === undefined ? {} : { strict }),
    ...(mark === undefined ? {} : { cacheMark: mark }),
    ...(Object.keys(members).length === 0 ? {} : { own: { dialect: 'chat', members } as const }),
  };
}

function keyed(key: string, members: JsonObject): JsonObject {
  return Object.keys(members).length === 0 ? {} : { [key]: members };
}

/** The grammar stands one level deeper in chat than in the conversation. */
function readFreeTextTool(tool: JsonObject, at: string): Tool {
  const nested = optionalObject(tool, 'custom', at);
  const custom = nested ?? tool;
  const place = nested === undefined ? at : pathOf(at, 'custom');
  const description = optionalText(custom, 'description', place);
  const said = optionalObject(custom, 'format', place);
  const grammar = said === undefined ? undefined : optionalObject(said, 'grammar', pathOf(place, 'format'));
  const format = grammar === undefined ? said : { type: 'grammar', ...grammar };
  return {
    kind: 'free_text',
    name: requiredText(custom, 'name', place),
    ...(description === undefined ? {} : { description }),
    ...(format === undefined ? {} : { format }),
  };
}

const words: Readonly<Record<string, ToolChoice['kind'] | undefined>> = {
  auto: 'auto',
  none: 'none',
  required: 'required',
  any: 'required',
};

function readChoice(choice: unknown, at: string): ToolChoice {
  if (isObject(choice)) return { kind: 'tool', name: nameOf(choice, at) };
  const kind = typeof choice === 'string' && Object.hasOwn(words, choice) ? words[choice] : undefined;
  if (kind !== undefined && kind !== 'tool') return { kind };
  throw new InvalidRequest(at, 'must be auto, none, required or the name of a tool in an object');
}

/** The name of a tool: nested in `function` or `custom`, or flat. */
function nameOf(choice: JsonObject, at: string): string {
  const member = isObject(choice['custom']) ? 'custom' : 'function';
  if (choice[member] === undefined) return requiredText(choice, 'name', at);
  return requiredText(requiredObject(choice, member, at), 'name', pathOf(at, member));
}

function readAllowed(choice: JsonObject, tools: readonly Tool[]): ChosenTools {
  const nested = optionalObject(choice, 'allowed_tools', 'tool_choice');
  const allowed = nested ?? choice;
  const at = nested === undefined ? 'tool_choice' : 'tool_choice.allowed_tools';
  const entries = objectsIn(optionalList(allowed, 'tools', at) ?? [], pathOf(at, 'tools'));
  const names = new Set(entries.map(({ value, at: place }) => allowedName(value, place)));
  const toolChoice = readChoice(optionalText(allowed, 'mode', at) ?? 'auto', pathOf(at, 'mode'));
  const chosen = placedTools(tools).filter(({ name }) => names.has(name));
  return { tools: chosen, toolChoice };
}

/** Tools that a provider runs are named by their type. */
function allowedName(entry: JsonObject, at: string): string {
  const type = textOf(entry['type']) ?? 'function';
  return type === 'function' || type === 'custom' ? nameOf(entry, at) : type;
}
