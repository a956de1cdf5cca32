// Reads what an error body of Anthropic says, and of the clouds that serve its models in their own words.
import { readError as readErrorOfAny } from '../../chat/read/read-error.ts';
import type { StreamFailure } from '../../conversation/stream-event.ts';
import type { ProviderWords } from '../../dialect.ts';
import { isObject, type JsonObject, parseObject, textOf } from '../../json/json.ts';

/** `{"type": "error", "error": {"type": …, "message": …}, "request_id": …}`; any other text as the other dialects read it. */
export function readError(text: string): ProviderWords {
  const body = parseObject(text);
  const error = body?.['error'];
  if (body?.['type'] !== 'error' || !isObject(error)) return readErrorOfAny(text);
  const { message, type, code, param, ...further } = error;
  return {
    message: textOf(message) ?? text,
    type: textOf(type) ?? null,
    code: textOf(code) ?? null,
    param: textOf(param) ?? null,
    further,
  };
}

/** The failure in an error event of a stream; `text` is the message when it has none. */
export function readFailure(event: JsonObject, text: string): StreamFailure {
  const error = isObject(event['error']) ? event['error'] : event;
  const { message, type, code } = error;
  return { message: textOf(message) ?? text, code: textOf(code) ?? null, type: textOf(type) ?? null };
}
