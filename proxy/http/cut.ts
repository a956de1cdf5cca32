// Ends a connection at once, and keeps the reason with the socket, so that it can be counted when the socket closes.
import type { Socket } from 'node:net';

/**
 * Why the gateway ends a connection without an answer. `pipelined`: it holds too many requests; `tiny_chunks`: a body in chunks of a
 * few bytes; `garbage`: bytes that go on long after they stopped to be HTTP; `unread`: nothing of an answer was taken for write_idle.
 */
export type CutReason = 'pipelined' | 'tiny_chunks' | 'garbage' | 'unread';

/** The error of a socket that was cut. */
export class Cut extends Error {
  readonly reason: CutReason;
  constructor(reason: CutReason) {
    super(reason);
    this.reason = reason;
  }
}

/** Destroys the socket; does nothing when that has happened already. */
export function cut(socket: Socket, reason: CutReason): void {
  if (socket.destroyed) return;
  socket.destroy(new Cut(reason));
  silence(socket);
}

/**
 * Node's parser of a server's socket. It has no public name; where it is different, a cut connection only costs more.
 */
interface Parser {
  onIncoming?: unknown;
  [callback: number]: unknown;
}

/** Where node's parser has its callback for a piece of a body. */
const onBody = 3;
/** The result of `onIncoming` with which the parser ignores its further bytes, as behind an upgrade. */
const leaveTheRest = 2;

/**
 * The parser goes on with the bytes it has, up to 64 KiB, although the socket is destroyed: 1,900 requests or 10,900 pieces of bodies, each
 * of which would become objects, for 20 ms and more. The parser is node's again before the next connection gets it.
 */
function silence(socket: Socket): void {
  const { parser } = socket as Socket & { readonly parser?: Parser | null };
  if (!parser) return;
  parser.onIncoming = () => leaveTheRest;
  const callback = parser[onBody];
  if (typeof callback !== 'function' || callback.name !== 'parserOnBody') return;
  parser[onBody] = undefined;
  socket.prependOnceListener('close', () => {
    parser[onBody] = callback;
  });
}
