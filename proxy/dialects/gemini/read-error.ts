// Reads an error body of Google: `{"error": {code, message, status, details}}`, alone or in a list.
import type { ProviderWords } from '../dialect.ts';
import {
  isObject,
  type JsonObject,
  type JsonValue,
  listOf,
  numberOf,
  objectOf,
  parseJson,
  textOf,
} from '../json/json.ts';

/**
 * The words of an error body; any other text is the message itself. `type` is Google's status (`RESOURCE_EXHAUSTED`);
 * `code` the reason of its details (`API_KEY_INVALID`), else the number; `param` the first field in its details.
 */
export function readError(text: string): ProviderWords {
  const error = errorIn(text);
  const message = typeof error === 'string' ? error : text;
  return objectOf(error) === undefined ? { ...nothing, message } : wordsOf(objectOf(error) ?? {}, text);
}

/** The words of an error object. `otherwise`: the message when it has none. */
export function wordsOf(error: JsonObject, otherwise: string = ''): ProviderWords {
  const { message, code, status, details, ...others } = error;
  const infos = (listOf(details) ?? []).filter(isObject);
  const retryDelay = member(infos, 'RetryInfo', 'retryDelay');
  const violation = objectOf(listOf(member(infos, 'BadRequest', 'fieldViolations'))?.[0]);
  return {
    message: textOf(message) ?? otherwise,
    code: textOf(member(infos, 'ErrorInfo', 'reason')) ?? asText(code),
    param: textOf(violation?.['field']) ?? null,
    type: textOf(status) ?? null,
    // In front, because further members have little room and the details may be long.
    further: {
      ...(retryDelay === undefined ? {} : { retryDelay }),
      ...others,
      ...(details === undefined ? {} : { details }),
    },
  };
}

const nothing = { code: null, param: null, type: null, further: {} } as const;

function errorIn(text: string): JsonValue | undefined {
  try {
    const body = parseJson(text);
    return objectOf(listOf(body)?.[0] ?? body)?.['error'];
  } catch {
    return undefined;
  }
}

/** A member of the detail whose type ends so (`type.googleapis.com/google.rpc.RetryInfo`). */
function member(infos: readonly JsonObject[], type: string, key: string): JsonValue | undefined {
  return infos.find((info) => textOf(info['@type'])?.endsWith(`.${type}`))?.[key];
}

function asText(value: JsonValue | undefined): string | null {
  const number = numberOf(value);
  return textOf(value) ?? (number === undefined ? null : String(number));
}
