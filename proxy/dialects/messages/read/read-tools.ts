// Reads the tools of a request, and which of them must be called.
import type { Tool, ToolChoice } from '../../conversation/conversation.ts';
import type { JsonObject } from '../../json/json.ts';
import {
  objectsIn,
  optionalFlag,
  optionalList,
  optionalObject,
  optionalText,
  requiredObject,
  requiredText,
} from '../../json/members.ts';
import { InvalidRequest } from '../../translation.ts';
import { marksOf } from '../marks.ts';

const toolMembers = new Set(['type', 'name', 'description', 'input_schema', 'strict', 'cache_control']);

/** `tools`. A type other than `custom` is a tool that Anthropic runs or defines. Throws an InvalidRequest. */
export function readTools(body: JsonObject): readonly Tool[] {
  const list = optionalList(body, 'tools') ?? [];
  return objectsIn(list, 'tools').map(({ value, at }): Tool => {
    const type = optionalText(value, 'type', at) ?? 'custom';
    if (type !== 'custom') return { kind: 'foreign', dialect: 'messages', name: type, value };
    return {
      kind: 'function',
      name: requiredText(value, 'name', at),
      description: optionalText(value, 'description', at),
      parameters: requiredObject(value, 'input_schema', at),
      strict: optionalFlag(value, 'strict', at),
      ...marksOf(value, toolMembers, at),
    };
  });
}

export interface ReadChoice {
  readonly toolChoice?: ToolChoice | undefined;
  readonly parallelTools?: boolean | undefined;
}

/** `tool_choice` and its `disable_parallel_tool_use`. Throws an InvalidRequest. */
export function readToolChoice(body: JsonObject): ReadChoice {
  const choice = optionalObject(body, 'tool_choice');
  if (choice === undefined) return {};
  const isDisabled = optionalFlag(choice, 'disable_parallel_tool_use', 'tool_choice');
  return { toolChoice: choiceOf(choice), parallelTools: isDisabled === undefined ? undefined : !isDisabled };
}

function choiceOf(choice: JsonObject): ToolChoice {
  const type = requiredText(choice, 'type', 'tool_choice');
  switch (type) {
    case 'auto':
    case 'none':
      return { kind: type };
    case 'any':
      return { kind: 'required' };
    case 'tool':
      return { kind: 'tool', name: requiredText(choice, 'name', 'tool_choice') };
    default:
      throw new InvalidRequest('tool_choice.type', 'must be "auto", "any", "tool" or "none"');
  }
}
