// Writes what a tool gave back as a `functionResponse`, which must be a JSON object.
import type { ToolResultPart } from '../conversation/parts.ts';
import { type JsonObject, parseObject } from '../json.ts';

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

/** An object as it is; any other text under the names that Google's models know. */
function responseOf({ content, isError }: ToolResultPart): JsonObject {
  const text = content.flatMap((part) => (part.kind === 'text' ? [part.text] : [])).join('\n');
  const object = parseObject(text);
  if (isError) return { error: object ?? text };
  return object ?? { output: text };
}
