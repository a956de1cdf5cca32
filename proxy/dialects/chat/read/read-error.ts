// Reads an error body of OpenAI-compatible servers, and of gateways before them, in every known shape.
import type { ProviderWords } from '../../dialect.ts';

type Members = Readonly<Record<string, unknown>>;

/**
 * Reads `{"error": {…}}` (OpenAI), `{"error": "…"}` (xAI with a `code` beside it), `{"error": ["…"]}`, `[{"error": {…}}]` (Google), `{"object": "error", "message": …}` (vLLM),
 * `{"detail": …}` (FastAPI: a text, or a list of what is wrong with the request; Mistral puts it into `message`), `{"errors": […]}` and
 * `{"message": …}`. Any other text is the message itself.
 */
export function readError(text: string): ProviderWords {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return words(text);
  }
  const body = membersOf(firstOf(value));
  if (body === undefined) return words(text);
  const { error, detail, errors, message } = body;
  if (typeof error === 'string') return { ...words(asText(message) ?? error), code: asText(body['code']) };
  for (const said of [firstOf(error), firstOf(errors)]) {
    if (typeof said === 'string') return words(said);
    const members = membersOf(said);
    if (members !== undefined) return ofMembers(members, text);
  }
  const wrong = message === undefined ? detail : membersOf(message)?.['detail'];
  if (wrong !== undefined) return ofDetail(wrong, text);
  if (typeof message !== 'string') return words(text);
  return body['object'] === 'error' ? ofMembers(body, text) : { ...ofMembers(body, text), further: {} };
}

function words(message: string): ProviderWords {
  return { message, code: null, param: null, type: null, further: {} };
}

function ofMembers(members: Members, text: string): ProviderWords {
  const { message, code, param, type, object: _, ...further } = members;
  return {
    message: saidBehind(members) ?? asText(message) ?? text,
    code: asText(code),
    param: asText(param),
    type: asText(type),
    further,
  };
}

/** The message of the server behind OpenRouter, where OpenRouter's own message has no cause. */
function saidBehind({ message, metadata }: Members): string | undefined {
  const raw = membersOf(metadata)?.['raw'];
  const isEmpty = message === undefined || message === '' || asText(message)?.startsWith('Provider returned');
  return isEmpty && typeof raw === 'string' && raw !== '' ? readError(raw).message : undefined;
}

/** Of a list of `{loc, msg, type}` every entry is told, and the first one gives the code and the place. */
function ofDetail(detail: unknown, text: string): ProviderWords {
  if (typeof detail === 'string') return words(detail);
  if (!Array.isArray(detail)) {
    const members = membersOf(detail);
    return members === undefined ? words(text) : { ...ofMembers(members, text), further: {} };
  }
  const entries = detail.flatMap((entry: unknown) => {
    const { loc, msg, type } = membersOf(entry) ?? {};
    if (typeof msg !== 'string') return [];
    // The first step only says that it is about the body.
    const place = Array.isArray(loc) ? loc.filter((step, index) => index > 0 || step !== 'body').join('.') : '';
    return [{ message: place === '' ? msg : `${place}: ${msg}`, place, type: asText(type) }];
  });
  const [first] = entries;
  if (first === undefined) return words(text);
  const message = entries.map((entry) => entry.message).join('; ');
  return { ...words(message), code: first.type, param: first.place || null };
}

function membersOf(value: unknown): Members | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Members) : undefined;
}

function firstOf(value: unknown): unknown {
  return Array.isArray(value) ? value[0] : value;
}

function asText(value: unknown): string | null {
  if (typeof value === 'string') return value;
  return typeof value === 'number' ? String(value) : null;
}
