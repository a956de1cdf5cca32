// Bodies in tiny chunks: six bytes on the wire cost the parser about two microseconds, so a client could stall the event loop with little.
import type { Socket } from 'node:net';
import { cut } from './cut.ts';

/** Chunks of a body before their size is checked: 4 milliseconds of parsing. */
const graceChunks = 2048;
/** Fewer bytes a chunk than this, on average, are tiny. A client that writes word by word sends more. */
const leastAverageBytes = 16;

/**
 * Meters one chunked body: call it with the length of every piece. It cuts the connection once the chunks are tiny on average. Bodies
 * with a Content-Length need no meter: their pieces are reads of the socket, of which a client must send a segment each.
 */
export function createChunkMeter(socket: Socket): (length: number) => void {
  let chunks = 0;
  let bytes = 0;
  return (length) => {
    chunks += 1;
    bytes += length;
    if (chunks > graceChunks && bytes < chunks * leastAverageBytes) cut(socket, 'tiny_chunks');
  };
}
