// Uploads through the passthrough, byte by byte, and what is answered to them.
import { masterKey } from './gateway.ts';
import type { RawConnection, RawResponse } from './raw-http.ts';

/** The head of an upload of the consumer /slots. */
export function uploadHead(framing: string, provider = 'fake', ...more: readonly string[]): string {
  const key = `Authorization: Bearer ${masterKey}`;
  const lines = [`POST /p/${provider}/files HTTP/1.1`, 'Host: gateway.test', key, 'X-Gateway-User-Path: /slots'];
  return [...lines, framing, ...more, '', ''].join('\r\n');
}

export const ofLength = (bytes: number): string => `Content-Length: ${bytes}`;
export const inChunks = 'Transfer-Encoding: chunked';

export function chunk(body: string): string {
  return `${body.length.toString(16)}\r\n${body}\r\n`;
}

/** The first final answer, when it is complete. */
export function lastAnswer(connection: RawConnection): Promise<RawResponse> {
  return connection.waitFor(({ responses }) => responses.find(({ complete, status }) => complete && status >= 200));
}

/** Such as `200 ok` or `413 body_too_large`. */
export function inShort(answer: RawResponse | undefined): string {
  if (answer === undefined) return 'no answer';
  const { error } = answer.json() as { error?: { code: string | null } };
  return `${answer.status} ${error === undefined ? 'ok' : error.code}`;
}
