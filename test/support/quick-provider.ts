// Tens of thousands of calls in seconds: a provider that keeps nothing, and clients on few connections.
import { connect, createServer } from 'node:net';
import { chatCall } from './chat-call.ts';
import { listen } from './ports.ts';
import type { Teardown } from './teardown.ts';

const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
const answer = JSON.stringify({ id: 'a', object: 'chat.completion', choices: [], usage });
const answerBytes = `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: ${answer.length}\r\n\r\n${answer}`;
const lanes = 16;

/** Starts it; gives what belongs under `providers` in a config. Its only model is `quick`. */
export async function startQuickProvider(t: Teardown): Promise<{ type: string; base_url: string; models: string[] }> {
  const server = createServer({ noDelay: true }, (socket) => {
    let isNew = true;
    let missing = 0;
    socket.on('error', () => {});
    socket.on('data', (bytes) => {
      if (isNew) {
        const headEnd = bytes.indexOf('\r\n\r\n') + 4;
        missing = headEnd + Number(/content-length: (\d+)/i.exec(bytes.toString('latin1', 0, headEnd))?.[1]);
      }
      missing -= bytes.length;
      isNew = missing <= 0;
      if (isNew) socket.write(answerBytes);
    });
  });
  const port = await listen(server);
  t.teardown(() => server.close());
  return { type: 'openai', base_url: `http://127.0.0.1:${port}/v1`, models: ['quick'] };
}

/** A call of its model, as bytes. */
export function quickCall(userPath: string, body: string | object = { model: 'quick', messages: [] }): string {
  return chatCall(body, { 'X-Gateway-User-Path': userPath });
}

/** One call for each path, on 16 connections to the gateway; the statuses, counted. */
export async function callQuick(port: number, userPaths: readonly string[]): Promise<Map<number, number>> {
  const statuses = new Map<number, number>();
  let next = 0;
  const serveLane = (): Promise<void> =>
    new Promise((done, fail) => {
      const socket = connect({ port, host: '127.0.0.1', noDelay: true });
      let heard = '';
      const ask = (): void => {
        const userPath = userPaths[next];
        next += 1;
        if (userPath === undefined) socket.end(() => done());
        else socket.write(quickCall(userPath));
      };
      socket.on('error', fail);
      socket.on('connect', ask);
      socket.on('data', (bytes) => {
        heard += bytes.toString('latin1');
        const headEnd = heard.indexOf('\r\n\r\n');
        const length = Number(/\r\ncontent-length: (\d+)/i.exec(heard)?.[1]);
        if (headEnd < 0 || heard.length < headEnd + 4 + length) return;
        const status = Number(heard.slice(9, 12));
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
        heard = '';
        ask();
      });
    });
  await Promise.all(Array.from({ length: lanes }, serveLane));
  return statuses;
}
