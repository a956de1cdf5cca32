// Sends the answers of the demo provider: JSON, or events at the pace of a model.
import type { ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';

/** A fixed moment (seconds since 1970) keeps answers equal from one run to the next. */
export const created = 1_767_225_600;

/** Now, for what is kept: seconds since 1970. */
export function nowSeconds(): number {
  return Math.floor(Date.now() / 1000);
}

/** An event; one that carries a token waits for its turn. */
export type Streamed = { readonly data: object; readonly isToken?: boolean };

/** How a dialect writes its events. */
export type StreamStyle = {
  /** Each event has the `type` of its data as a name. */
  readonly isNamed: boolean;
  /** The text after the last event. */
  readonly end: string;
};

export function sendJson(response: ServerResponse, status: number, value: object): void {
  const body = JSON.stringify(value);
  const length = Buffer.byteLength(body);
  response.writeHead(status, { 'content-type': 'application/json', 'content-length': length });
  response.end(body);
}

/** Sends a text or bytes whole. */
export function sendWhole(response: ServerResponse, type: string, body: string | Buffer): void {
  response.writeHead(200, { 'content-type': type, 'content-length': Buffer.byteLength(body) });
  response.end(body);
}

/** Sends events as they come, with `intervalMs` before each token; stops when the client has gone. */
export async function sendEvents(
  response: ServerResponse,
  events: Iterable<Streamed>,
  style: StreamStyle,
  intervalMs: number,
): Promise<void> {
  response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache' });
  for (const { data, isToken } of events) {
    if (isToken === true && intervalMs > 0) await sleep(intervalMs);
    if (response.destroyed) return;
    const name = style.isNamed && 'type' in data ? `event: ${String(data.type)}\n` : '';
    response.write(`${name}data: ${JSON.stringify(data)}\n\n`);
  }
  response.end(style.end);
}
