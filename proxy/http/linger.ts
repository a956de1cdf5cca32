// Ends an answer whose client is still sending: its connection is closed only behind that, or the client would lose the answer.
import type { ServerResponse } from 'node:http';
import { createChunkMeter } from './chunk-meter.ts';
import type { Exchange } from './exchange.ts';
import { holdSocket } from './hold-socket.ts';

/** How long a refused client may go on sending before the connection is cut. */
const lingerMs = 500;
/** How much of that is read, of all of them together: a client that sends all before it reads gets its answer, a flood costs little. */
const lingerBytes = 16 * 1024 * 1024;
/**
 * The number of refused clients that are read at a time. Others wait unread, and longer, because a client that floods
 * comes back at once.
 */
const mostRead = 16;
const unreadLingerMs = 3_000;
/** The longest body, in bytes, that is copied into the text of its head. */
const longestText = 8 * 1024;
/** Clients that are answered and still send. */
let lingering = 0;

/** Ends an answer whose head has been written, with these last bytes. */
export function endAnswer(exchange: Exchange, body: string | Buffer = ''): void {
  const { request, response } = exchange;
  if (!request.complete) linger(exchange, body);
  else if (body.length > 0) endAtOnce(response, body);
  else response.end();
}

/** Head and body leave as one text: two pieces would cost the system call for several, and more objects. */
function endAtOnce(response: ServerResponse, body: string | Buffer): void {
  if (typeof body === 'string' || body.length > longestText) response.end(body);
  else response.end(body.toString('latin1'), 'latin1');
}

/**
 * The client is still sending. Its answer is complete, but the exchange ends only with its body: closing before would reset the
 * connection and lose the answer, and what comes must not be taken for the next request.
 */
export function linger({ request, response, head }: Exchange, body: string | Buffer): void {
  if (body.length > 0) response.write(body);
  lingering += 1;
  let isOver = false;
  const finish = (): void => {
    if (isOver) return;
    isOver = true;
    lingering -= 1;
    clearTimeout(timer);
    response.end();
  };
  // A connection that stays is read to the end of its body, which is short.
  const isCut = !response.shouldKeepAlive;
  let isRead = !isCut || lingering <= mostRead;
  const timer = isCut ? setTimeout(finish, isRead ? lingerMs : unreadLingerMs) : undefined;
  if (!isRead) holdSocket(request.socket);
  const meter = head.chunked ? createChunkMeter(request.socket) : undefined;
  let dropped = 0;
  request.on('data', (chunk: Buffer) => {
    meter?.(chunk.length);
    dropped += chunk.length;
    if (!(isCut && isRead) || dropped * lingering <= lingerBytes) return;
    isRead = false;
    holdSocket(request.socket);
  });
  request.once('end', finish).once('close', finish);
}
