// Reads the requests of the demo provider strictly; its errors have the words of the OpenAI API.
import type { IncomingMessage } from 'node:http';
import type { ChatMessage } from './demo-answers.ts';

export type Body = Readonly<Record<string, unknown>>;
export type ChatRequest = { messages: ChatMessage[]; limit: number; stream: boolean; wantsUsage: boolean };
export type EmbeddingInput = string | number[];

const bodyLimitBytes = 32 * 1024 * 1024;

/** Refuses (405) any method but `method`. */
export function requireMethod(request: IncomingMessage, method: string): void {
  if (request.method !== method) {
    throw new Refusal(
      405,
      `Not allowed to ${request.method} on ${request.url}; use ${method}.`,
      null,
      'method_not_allowed',
    );
  }
}

/** The model name, when it is one of `known`; refuses (400, 404) anything else. */
export function requireModel(model: unknown, known: readonly string[]): string {
  if (typeof model !== 'string' || model === '') {
    throw new Refusal(400, 'You must provide a model parameter.', 'model', 'missing_required_parameter');
  }
  if (!known.includes(model)) {
    throw new Refusal(404, `The model \`${model}\` does not exist or cannot do this.`, 'model', 'model_not_found');
  }
  return model;
}

/** The request body as a JSON object of at most 32 MiB; refuses (400, 413) anything else. */
export async function readBody(request: IncomingMessage): Promise<Body> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Uint8Array>) {
    size += chunk.length;
    if (size > bodyLimitBytes) throw new Refusal(413, 'The request body is larger than 32 MiB.');
    chunks.push(chunk);
  }
  let value: unknown;
  try {
    value = JSON.parse(Buffer.concat(chunks).toString());
  } catch {
    value = undefined;
  }
  if (!isObject(value)) throw new Refusal(400, 'The body of the request must be a JSON object.');
  return value;
}

/** The members of a chat request that the demo uses; `limit` is the most tokens of the answer. */
export function readChat(body: Body): ChatRequest {
  const messages = body['messages'];
  if (!isList(messages) || messages.length === 0 || !messages.every(isObject)) {
    throw new Refusal(400, "'messages' must be a list of at least one message.", 'messages', 'invalid_type');
  }
  if ((body['n'] ?? 1) !== 1) throw new Refusal(400, 'The demo models give one choice only.', 'n', 'invalid_value');
  const limit = readPositive(body, 'max_completion_tokens') ?? readPositive(body, 'max_tokens');
  const options = body['stream_options'];
  return {
    messages,
    limit: limit ?? Number.POSITIVE_INFINITY,
    stream: body['stream'] === true,
    wantsUsage: isObject(options) && options['include_usage'] === true,
  };
}

/** The texts (or lists of token ids) to embed. */
export function readInputs(input: unknown): EmbeddingInput[] {
  const list = isList(input) && !isTokenIds(input) ? input : [input];
  const isUsable = (item: unknown): item is EmbeddingInput =>
    isTokenIds(item) || (typeof item === 'string' && item !== '');
  if (list.length > 0 && list.every(isUsable)) return list;
  throw new Refusal(400, "'input' must be text, token ids, or a list of either; none empty.", 'input', 'invalid_type');
}

/** An optional integer of at least 1. */
export function readPositive(body: Body, name: string): number | undefined {
  const value = body[name] ?? undefined;
  if (value === undefined) return undefined;
  if (typeof value === 'number' && Number.isInteger(value) && value >= 1) return value;
  throw new Refusal(400, `'${name}' must be an integer of at least 1.`, name, 'invalid_value');
}

function isObject(value: unknown): value is Body {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isList(value: unknown): value is unknown[] {
  return Array.isArray(value);
}

function isTokenIds(value: unknown): value is number[] {
  return isList(value) && value.length > 0 && value.every(Number.isInteger);
}

/** An answer other than 200, to be thrown. */
export class Refusal extends Error {
  readonly status: number;
  readonly param: string | null;
  readonly code: string | null;
  constructor(status: number, message: string, param: string | null = null, code: string | null = null) {
    super(message);
    this.status = status;
    this.param = param;
    this.code = code;
  }
}
