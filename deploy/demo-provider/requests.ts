// Reads what every request to the demo provider has, strictly; whatever is refused is a Refusal.
import type { IncomingMessage } from 'node:http';

export type Body = Readonly<Record<string, unknown>>;

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
  const bytes = await readBytes(request);
  let value: unknown;
  try {
    value = JSON.parse(bytes.toString());
  } catch {
    value = undefined;
  }
  if (!isObject(value)) throw new Refusal(400, 'The body of the request must be a JSON object.');
  return value;
}

/** The request body of at most 32 MiB; refuses (413) a longer one. */
export async function readBytes(request: IncomingMessage): Promise<Buffer<ArrayBuffer>> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Uint8Array>) {
    size += chunk.length;
    // The rest is read and dropped: a client that still sends would not see the refusal.
    if (size <= bodyLimitBytes) chunks.push(chunk);
  }
  if (size > bodyLimitBytes) throw new Refusal(413, 'The request body is larger than 32 MiB.');
  return Buffer.concat(chunks);
}

/** An optional integer of at least 1. */
export function readPositive(body: Body, name: string): number | undefined {
  const value = body[name] ?? undefined;
  if (value === undefined) return undefined;
  if (typeof value === 'number' && Number.isInteger(value) && value >= 1) return value;
  throw new Refusal(400, `'${name}' must be an integer of at least 1.`, name, 'invalid_value');
}

/** An optional text; null counts as left out. */
export function optionalText(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

export function isObject(value: unknown): value is Body {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function isList(value: unknown): value is unknown[] {
  return Array.isArray(value);
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
