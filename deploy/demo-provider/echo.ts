// The demo provider's own endpoint, which no API has: it tells what has reached it, so that one sees what a gateway passes on.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { sendJson } from './http.ts';

/** The headers of an answer: those of an account, which a gateway must not pass on, and the provider's own. */
const answerHeaders = {
  'set-cookie': 'demo_session=1; HttpOnly',
  'openai-organization': 'demo-organization',
  'x-ratelimit-remaining-requests': '9999',
  'x-demo-region': 'here',
};

/** Headers with keys: of these only the beginning is told. */
const secret = /^(authorization|api-key|x-api-key)$/;
const shown = 8;

/** Answers any method: the request line, the headers as they came, and how long the body is. The body itself is read and dropped. */
export async function echo(request: IncomingMessage, response: ServerResponse): Promise<void> {
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Uint8Array>) bytes += chunk.length;
  for (const [name, value] of Object.entries(answerHeaders)) response.setHeader(name, value);
  const { method, url } = request;
  const headers = Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, tell(name, value)]));
  sendJson(response, 200, { object: 'demo.echo', method, url, headers, body_bytes: bytes });
}

function tell(name: string, value: unknown): unknown {
  if (typeof value !== 'string' || !secret.test(name)) return value;
  const [, scheme = '', key = ''] = /^(\w+ )?(.*)$/s.exec(value) ?? [];
  return `${scheme}${key.slice(0, shown)}…`;
}
