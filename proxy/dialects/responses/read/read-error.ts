// Reads an error of the Responses format: OpenAI's error object, a failed response, or the event `error`.
import { readError as readErrorBody } from '../../chat/read/read-error.ts';
import type { ProviderWords } from '../../dialect.ts';
import { parseObject, textOf } from '../../json/json.ts';

/** The words in the text of an error body. Any text that is no error object is the message itself. */
export function readError(text: string): ProviderWords {
  const body = parseObject(text);
  const message = textOf(body?.['message']);
  // The event has its words at the top, and `type` is its own name.
  if (body === undefined || message === undefined || body['type'] !== 'error' || body['error'] !== undefined) {
    return readErrorBody(text);
  }
  const { code, param } = body;
  return { message, code: textOf(code) ?? null, param: textOf(param) ?? null, type: null, further: {} };
}
