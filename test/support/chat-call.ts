// A model call and the events of its stream as bytes, for raw sockets and minimal providers.
import { masterKey } from './gateway.ts';

/** The first event of a stream, and the last. */
export const firstEvent = 'data: {"choices":[{"index":0,"delta":{"content":"one"}}]}\n\n';
export const lastEvent = 'data: [DONE]\n\n';

/** The head of a call whose body has that many bytes, or comes in chunks. */
export function chatHead(length: number | 'chunked', headers: Record<string, string> = {}): string {
  const lines = [
    'POST /v1/chat/completions HTTP/1.1',
    'Host: gateway.test',
    `Authorization: Bearer ${masterKey}`,
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
    'Content-Type: application/json',
    length === 'chunked' ? 'Transfer-Encoding: chunked' : `Content-Length: ${length}`,
  ];
  return `${lines.join('\r\n')}\r\n\r\n`;
}

export function chatCall(body: string | object, headers: Record<string, string> = {}): string {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return `${chatHead(Buffer.byteLength(text), headers)}${text}`;
}
