// Items that only the Responses format has, in words that any model reads: what a provider's own tools did, and what a tool gave.
import type { Tool } from '../conversation/conversation.ts';
import type { ForeignPart, ToolResultPart } from '../conversation/parts.ts';
import { isObject, type JsonObject, listOf, objectOf, textOf, writeJson } from '../json/json.ts';
import { readResult } from './read/read-items.ts';

/** Members that say nothing to a model. */
const signs: ReadonlySet<string> = new Set(
  'type id call_id status created_by caller fingerprint container_id encrypted_content environment execution'.split(
    ' ',
  ),
);

/** The members of an item that tell something. */
export function resultItem(value: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(value).filter(([key, member]) => !signs.has(key) && member !== null && member !== undefined),
  );
}

/** Items whose names end otherwise, or mean nothing without their own model, are not told. */
const told = /_(?:call|output|request|response)$|^mcp_list_tools$|^program$/;

/** The item as a text; undefined: its meaning is not known. */
export function itemText({ name, value }: ForeignPart): string | undefined {
  if (!told.test(name)) return undefined;
  const members = resultItem(value);
  if (name === 'image_generation_call') {
    const { result: _, ...rest } = members;
    return bracketed(name, rest);
  }
  if (name !== 'mcp_list_tools') return bracketed(name, members);
  const tools = (listOf(value['tools']) ?? []).filter(isObject).map((tool) => tool['name'] ?? null);
  return bracketed(name, { ...members, tools });
}

function bracketed(name: string, members: JsonObject): string {
  return Object.keys(members).length === 0 ? `[${name}]` : `[${name}: ${writeJson(members)}]`;
}

/** The result of a tool call. `tools`: all known ones, which give found tools their names. Throws an InvalidRequest. */
export function resultOf(
  { name, value, place = 'input' }: ForeignPart,
  id: string,
  tools: readonly Tool[],
): ToolResultPart {
  const output = outputOf({ name, value, place }, tools);
  const result = readResult({ type: 'function_call_output', call_id: id, output }, place);
  const status = textOf(value['status']);
  return { ...result, own: undefined, isError: status === 'failed' };
}

function outputOf(
  { name, value, place }: Pick<ForeignPart, 'name' | 'value' | 'place'>,
  tools: readonly Tool[],
): JsonObject[string] {
  if (name === 'tool_search_output') {
    const found = tools.flatMap((tool) =>
      tool.kind !== 'foreign' && tool.place?.startsWith(`${place}.`) ? [tool.name] : [],
    );
    return found.length === 0 ? writeJson(resultItem(value)) : `Found: ${found.join(', ')}`;
  }
  const output = value['output'] ?? value['result'];
  const shown = objectOf(output);
  if (shown?.['type'] === 'computer_screenshot') return [{ ...shown, type: 'input_image' }];
  return output ?? textOf(value['status']) ?? '';
}
