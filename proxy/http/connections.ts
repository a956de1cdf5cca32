// The connections of the server: how many there may be, in all and from one address, and what became of those that may not.
import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { getHeapStatistics } from 'node:v8';
import { Cut, type CutReason } from './cut.ts';

/** Counts of connections since the start; `open` is the present number. */
export interface ConnectionCounts {
  readonly open: number;
  /** Connections that were closed as soon as they came, by the setting they were too many for. */
  readonly refused: Readonly<Record<'max_connections' | 'max_connections_per_address', number>>;
  readonly cut: Readonly<Record<CutReason, number>>;
}

/** The settings of that name; undefined: not set. */
export interface ConnectionSettings {
  readonly most: number | undefined;
  readonly mostPerAddress: number | undefined;
}

export interface Connections {
  counts(): ConnectionCounts;
  /** Counts it when this one is cut: one with TLS, which is not the connection that was accepted. */
  countCut(socket: Socket): void;
  /** Puts the settings in force, for connections that come from now on. */
  limit(settings: ConnectionSettings): void;
}

/** Descriptors that are no connection's: the process's own (35 of them), stores, config files and what watches them. */
const ownDescriptors = 64;
/** A client's connection and the one to its provider. */
const descriptorsPerConnection = 2;
/** An idle connection holds 14 KiB of memory, one with half a head of 16 KiB about twice as much. */
const heapBytesPerConnection = 32 * 1024;

/** Counts and limits the connections of a server. `workers`: how many processes share what is configured in all. */
export function watchConnections(server: Server, workers: number = 1, room = roomOfProcess()): Connections {
  const perAddress = new Map<string, number>();
  const refused = { max_connections: 0, max_connections_per_address: 0 };
  const ended: Record<CutReason, number> = { pipelined: 0, tiny_chunks: 0, garbage: 0, unread: 0 };
  let open = 0;
  let mostPerAddress = Number.POSITIVE_INFINITY;

  const countCut = (socket: Socket): void => {
    socket.once('close', () => {
      if (socket.errored instanceof Cut) ended[socket.errored.reason] += 1;
    });
  };
  // Otherwise a worker that is full would hand a connection back to its parent, which would offer it to the full ones again and again.
  Object.assign(server, { dropMaxConnection: true });
  server.on('drop', () => {
    refused.max_connections += 1;
  });
  server.on('connection', (socket: Socket) => {
    const address = socket.remoteAddress ?? '';
    const fromThere = (perAddress.get(address) ?? 0) + 1;
    perAddress.set(address, fromThere);
    open += 1;
    socket.once('close', () => {
      open -= 1;
      const left = (perAddress.get(address) ?? 0) - 1;
      if (left > 0) perAddress.set(address, left);
      else perAddress.delete(address);
    });
    countCut(socket);
    if (fromThere <= mostPerAddress) return;
    refused.max_connections_per_address += 1;
    socket.destroy();
  });
  return {
    countCut,
    counts: () => ({ open, refused, cut: ended }),
    limit(settings) {
      server.maxConnections = Math.min(
        settings.most === undefined ? room.default : Math.ceil(settings.most / workers),
        room.most,
      );
      mostPerAddress = settings.mostPerAddress ?? Number.POSITIVE_INFINITY;
    },
  };
}

/** Connections a process has room for: `most` by its descriptors, as many as to providers; `default` by its heap, too. At least 1. */
export interface ConnectionRoom {
  readonly most: number;
  readonly default: number;
}

/** `openFiles`: the limit of descriptors, undefined where there is none; `heapBytes`: how large the heap may become. */
export function connectionRoom(openFiles: number | undefined, heapBytes: number): ConnectionRoom {
  const spare = (openFiles ?? Number.POSITIVE_INFINITY) - ownDescriptors;
  const byDescriptors = Math.max(1, Math.floor(spare / descriptorsPerConnection));
  return { most: byDescriptors, default: Math.min(byDescriptors, Math.floor(heapBytes / heapBytesPerConnection)) };
}

let ownRoom: ConnectionRoom | undefined;

/** The room of this process. */
export function roomOfProcess(): ConnectionRoom {
  ownRoom ??= measureRoom();
  return ownRoom;
}

/** Takes 5 ms: the report is large. */
function measureRoom(): ConnectionRoom {
  // Otherwise it looks up the names of all addresses.
  Object.assign(process.report, { excludeNetwork: true });
  const { userLimits } = process.report.getReport() as { userLimits?: { open_files?: { soft?: number | string } } };
  const openFiles = userLimits?.open_files?.soft;
  return connectionRoom(typeof openFiles === 'number' ? openFiles : undefined, getHeapStatistics().heap_size_limit);
}
