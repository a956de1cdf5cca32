// The demo provider's own endpoint, which no API has: it tells what has reached it, so that one sees what a gateway passes on.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { sendJson } from './demo-http.ts';

/** What providers tell about an account, and what is theirs alone; a gateway keeps the first to itself. */
const answerHeaders = {
  'set-cookie': 'demo_session=1; HttpOnly',
  'openai-organization': 'demo-organization',
  'x-ratelimit-remaining-requests': '9999',
  'x-demo-region': 'here',
};

/** Answers any method: the request line, every header as it came, and how long the body is. The body itself is read and dropped. */
export async function echo(request: IncomingMessage, response: ServerResponse): Promise<void> {
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Uint8Array>) bytes += chunk.length;
  for (const [name, value] of Object.entries(answerHeaders)) response.setHeader(name, value);
  const { method, url, headers } = request;
  sendJson(response, 200, { object: 'demo.echo', method, url, headers, body_bytes: bytes });
}
