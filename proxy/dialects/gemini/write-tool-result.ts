// Writes what a tool gave back as a `functionResponse`, which must be a JSON object.
import type { ToolResultPart } from '../conversation/parts.ts';
import { isObject, type JsonObject, type JsonValue, parseObject } from '../json/json.ts';

/** `name`: of the function; `id`: of the call, where the server knows ids. `media`: images and files of the result. */
export function writeToolResult(
  part: ToolResultPart,
  {
    name,
    id,
    media,
  }: { readonly name: string; readonly id: string | undefined; readonly media: readonly JsonObject[] },
): JsonObject {
  const functionResponse = {
    ...(id === undefined ? {} : { id }),
    name,
    response: responseOf(part),
    ...(media.length === 0 ? {} : { parts: media }),
  };
  return { functionResponse };
}

/** An object as it is; any other text under the names that Google's models know, and so one with a reference. */
function responseOf({ content, isError }: ToolResultPart): JsonObject {
  const text = content.flatMap((part) => (part.kind === 'text' ? [part.text] : [])).join('\n');
  const parsed = parseObject(text);
  const object = mayRefer.test(text) && refers(parsed) ? undefined : parsed;
  if (isError) return { error: object ?? text };
  return object ?? { output: text };
}

/** Gemini takes a member of this name for the name of a file beside the result, and refuses one that is not there. */
const reference = '$ref';
const mayRefer = /\$ref|\\u/;

function refers(value: JsonValue | undefined): boolean {
  if (Array.isArray(value)) return value.some(refers);
  if (!isObject(value)) return false;
  return Object.hasOwn(value, reference) || Object.values(value).some(refers);
}
