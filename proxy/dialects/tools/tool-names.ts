// The names of the tools that a request offers, as they are counted and allowed.
import { type EditableObject, editable, editableList, wordIn } from '../editing.ts';
import { type JsonValue, textOf } from '../json/json.ts';

/** Tools of the client; those of a provider are known by their type, whatever name they are given. */
const ownTypes: ReadonlySet<string> = new Set(['', 'function', 'custom']);

/** Whether a definition is of the client's own tool. */
export function isOwnTool(tool: EditableObject): boolean {
  return ownTypes.has(wordIn(tool, 'type'));
}

/** Those of chat and of Responses; of a tool with several names, each. */
export function toolNames(tools: JsonValue | undefined): string[] {
  return editableList(tools).flatMap((tool) => {
    const type = wordIn(tool, 'type');
    if (type === 'namespace') return toolNames(tool['tools']);
    if (!ownTypes.has(type)) return [type];
    const names = namesOf(tool['function'], tool['custom'], tool);
    return names.length === 0 ? [type] : names;
  });
}

/** The names of objects that have one. */
export function namesOf(...values: readonly (JsonValue | EditableObject | undefined)[]): string[] {
  return values.flatMap((value) => textOf(editable(value as JsonValue)?.['name']) ?? []);
}
