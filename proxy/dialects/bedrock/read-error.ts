// Reads an error body of Bedrock, and an exception of its stream.
import { readError as readAnyError } from '../chat/read/read-error.ts';
import type { ProviderWords } from '../dialect.ts';
import { parseObject, textOf } from '../json/json.ts';

/**
 * Reads `{"message": …}` and `{"Message": …}`, each with or without `__type`, whose namespace is left out. Anything else is read as the
 * error of an OpenAI-compatible server, such as a gateway before Bedrock.
 */
export function readError(text: string): ProviderWords {
  const body = parseObject(text);
  if (body === undefined) return readAnyError(text);
  const { message, Message, __type, ...further } = body;
  const said = textOf(message) ?? textOf(Message) ?? textOf(body['originalMessage']);
  const type = textOf(__type);
  if (said === undefined && type === undefined) return readAnyError(text);
  return {
    message: said ?? `${type}`,
    code: null,
    param: null,
    type: type === undefined ? null : bareName(type),
    further,
  };
}

/** `ThrottlingException` of `com.amazon.coral.availability#ThrottlingException:http://…`. */
function bareName(type: string): string {
  return type.slice(type.lastIndexOf('#') + 1).split(':', 1)[0] ?? type;
}
