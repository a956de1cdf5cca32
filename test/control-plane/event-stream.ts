// A client of a stream of server-sent events, which reads all that comes or nothing.
import { type IncomingMessage, request } from 'node:http';
import type { Teardown } from '../support/teardown.ts';
import { waitFor } from '../support/wait-for.ts';

export interface StreamEvent {
  readonly event: string;
  readonly id: string | undefined;
  readonly data: Record<string, unknown>;
}

export interface EventStream {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  /** In the order in which they came. */
  readonly events: readonly StreamEvent[];
  /** The last id, as a browser would send it when it connects again. */
  lastId(): string | undefined;
  /** How many comments came. */
  comments(): number;
  isOver(): boolean;
  /** Waits for so many events of this name; gives them all. */
  got(event: string, count?: number): Promise<readonly StreamEvent[]>;
  pause(): void;
  resume(): void;
  close(): void;
}

/** Opens the stream; closed when the test ends. */
export async function openStream(
  t: Teardown,
  url: string,
  headers: Readonly<Record<string, string>>,
): Promise<EventStream> {
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    const asked = request(url, { headers, agent: false }, resolve);
    asked.on('error', reject);
    asked.end();
    t.teardown(() => asked.destroy());
  });
  const events: StreamEvent[] = [];
  let rest = '';
  let lastId: string | undefined;
  let comments = 0;
  let isOver = false;
  response.setEncoding('utf8');
  response.on('data', (text: string) => {
    const blocks = (rest + text).split('\n\n');
    rest = blocks.pop() ?? '';
    for (const block of blocks) {
      const fields = new Map(block.split('\n').map((line) => [line.split(':', 1)[0], line.replace(/^[^:]*: ?/, '')]));
      lastId = fields.get('id') ?? lastId;
      if (fields.has('')) comments += 1;
      const [data, event] = [fields.get('data'), fields.get('event')];
      if (data === undefined || event === undefined) continue;
      events.push({ event, id: fields.get('id'), data: JSON.parse(data) as StreamEvent['data'] });
    }
  });
  response.on('close', () => {
    isOver = true;
  });
  response.on('error', () => undefined);
  return {
    status: response.statusCode ?? 0,
    headers: response.headers,
    events,
    lastId: () => lastId,
    comments: () => comments,
    isOver: () => isOver,
    got: (name, count = 1) =>
      waitFor(`${count} events ${name}`, () => {
        const found = events.filter(({ event }) => event === name);
        return found.length >= count && found;
      }),
    pause: () => void response.pause(),
    resume: () => void response.resume(),
    close: () => void response.destroy(),
  };
}
