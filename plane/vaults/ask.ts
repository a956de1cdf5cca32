// One HTTP request to a vault: on a connection of its own, bounded in time and size. Redirects are not followed.
import { request as requestPlain } from 'node:http';
import { request as requestSecure } from 'node:https';
import { VaultTrouble } from './read-secret.ts';

export interface Question {
  readonly url: string;
  /** Default: GET, and POST with a body. */
  readonly headers?: Readonly<Record<string, string>>;
  /** JSON. */
  readonly body?: string;
  /** Certificates (PEM) that are trusted in place of those of the system. */
  readonly authorities?: string | undefined;
  readonly signal: AbortSignal;
}

export interface Reply {
  readonly status: number;
  /** An empty object when the body is no object in JSON. */
  readonly body: Readonly<Record<string, unknown>>;
}

/** Longest answer that is read. Bytes. */
const mostBytes = 256 * 1024;

/** Rejects with a `VaultTrouble` when no whole answer comes. `vault`: its name, for that sentence. */
export function ask(vault: string, { url, headers = {}, body, authorities, signal }: Question): Promise<Reply> {
  const { promise, resolve, reject } = Promise.withResolvers<Reply>();
  const fail = (error: unknown): void => reject(new VaultTrouble(`cannot be read: ${vault} ${whyOf(error, signal)}`));
  const send = url.startsWith('https:') ? requestSecure : requestPlain;
  const options = {
    method: body === undefined ? 'GET' : 'POST',
    headers: {
      accept: 'application/json',
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    agent: false,
    signal,
    ...(authorities === undefined ? {} : { ca: authorities }),
  };
  const asked = send(url, options, (answer) => {
    const pieces: Buffer[] = [];
    let length = 0;
    answer.on('data', (piece: Buffer) => {
      length += piece.length;
      pieces.push(piece);
      if (length > mostBytes) answer.destroy(new Error('answers with more than 256 KiB'));
    });
    answer.on('error', fail);
    answer.on('end', () => resolve({ status: answer.statusCode ?? 0, body: objectIn(Buffer.concat(pieces)) }));
  });
  asked.on('error', fail);
  asked.end(body);
  return promise;
}

/** No text of the other side, which may repeat a token. */
function whyOf(error: unknown, signal: AbortSignal): string {
  if (signal.aborted) return 'does not answer in time';
  const { code, message } = error as NodeJS.ErrnoException;
  return code === undefined && message.startsWith('answers ')
    ? message
    : `does not answer (${code ?? 'unknown error'})`;
}

function objectIn(bytes: Buffer): Reply['body'] {
  try {
    const value: unknown = JSON.parse(bytes.toString('utf8'));
    return typeof value === 'object' && value !== null ? (value as Reply['body']) : {};
  } catch {
    return {};
  }
}
