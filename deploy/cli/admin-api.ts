// Asks the admin API of a gateway that runs.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

export const connectionHelp = `  --url URL   the gateway; default http://GATEWAY_HOST:GATEWAY_PORT, without these http://127.0.0.1:8080
The key is GATEWAY_MASTER_KEY, or lies in the file GATEWAY_MASTER_KEY_FILE, or in master-key in GATEWAY_DATA (default ./data).`;

/** Of parseArgs. */
export const connectionOptions = { url: { type: 'string' } } as const;

const timeoutMs = 10_000;
/** Of an answer of any length. */
const silentMs = 60_000;
const mostBytes = 4 * 2 ** 30;
/** Of any other answer. Bytes. */
const mostShort = 64 * 2 ** 20;

interface Question {
  readonly method?: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** Below `/admin/`. */
  readonly path: string;
  readonly body?: object;
}

/**
 * The body of an answer, as it comes. Rejects as `askAdmin` does; so does reading on when nothing has come for a minute, or more than is good for a
 * disk.
 */
export async function readAdmin(url: string | undefined, path: string): Promise<AsyncIterable<Uint8Array>> {
  const silence = new AbortController();
  const timer = setTimeout(() => silence.abort(new Error(`nothing has come for ${silentMs / 1_000} s`)), silentMs);
  try {
    const { origin, answer } = await ask(url, { path }, silence.signal);
    if (answer.ok && answer.body !== null) return boundedBody(answer.body, silence, timer);
    throw refusalOf(origin, answer.status, await shortBody(origin, answer));
  } catch (error) {
    clearTimeout(timer);
    throw error;
  }
}

async function* boundedBody(
  body: AsyncIterable<Uint8Array>,
  silence: AbortController,
  timer: NodeJS.Timeout,
): AsyncGenerator<Uint8Array> {
  let bytes = 0;
  try {
    for await (const chunk of body) {
      bytes += chunk.length;
      if (bytes > mostBytes)
        throw new Error(`the answer has more than ${mostBytes / 2 ** 30} GiB: ask for less time, or for a share`);
      yield chunk;
      timer.refresh();
    }
  } finally {
    clearTimeout(timer);
    silence.abort();
  }
}

/** Gives the body of the answer. Throws with the message of the gateway when it refuses, and with the address when it does not answer. */
export async function askAdmin(url: string | undefined, question: Question): Promise<unknown> {
  const { origin, answer } = await ask(url, question, AbortSignal.timeout(timeoutMs));
  const text = await shortBody(origin, answer);
  const read = parse(text);
  if (answer.status === 204 || (answer.ok && read !== undefined)) return read;
  throw refusalOf(origin, answer.status, text);
}

async function shortBody(origin: string, { body }: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body ?? []) {
    bytes += chunk.length;
    if (bytes > mostShort) throw new Error(`${origin} answers with more than ${mostShort / 2 ** 20} MiB`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

async function ask(
  url: string | undefined,
  { method = 'GET', path, body }: Question,
  signal: AbortSignal | undefined,
): Promise<{ readonly origin: string; readonly answer: Response }> {
  const { GATEWAY_HOST: host, GATEWAY_PORT: port } = process.env;
  const origin = (url ?? `http://${host || '127.0.0.1'}:${port || '8080'}`).replace(/\/+$/, '');
  if (/^https?:\/\/[^/]*@/.test(origin))
    throw new Error('the address of the gateway has a name or a password in it: leave it out');
  const headers = { authorization: `Bearer ${masterKey()}`, 'content-type': 'application/json' };
  const sent = {
    method,
    headers,
    ...(signal === undefined ? {} : { signal }),
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  };
  const answer = await fetch(`${origin}/admin/${path}`, sent).catch((error: Error) => {
    const why = error.cause instanceof Error ? error.cause.message : error.message;
    throw new Error(`${origin} does not answer: ${why}; start the gateway, or name another with --url`);
  });
  return { origin, answer };
}

function refusalOf(origin: string, status: number, text: string): Error {
  const { message = `an answer that is not of a gateway: ${text.slice(0, 200)}` } = (parse(text) ?? {}) as {
    message?: string;
  };
  return new Error(`${origin} answered ${status}: ${message}`);
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function masterKey(): string {
  const { GATEWAY_MASTER_KEY: key, GATEWAY_MASTER_KEY_FILE: named, GATEWAY_DATA: data } = process.env;
  if (key) return key;
  const file = named || join(data || 'data', 'master-key');
  try {
    return readFileSync(file, 'utf8').trim();
  } catch {
    throw new Error(`no key: GATEWAY_MASTER_KEY is not set, and ${file} cannot be read`);
  }
}
