// Attacks with bodies and scrapes, from outside: each floods a proxy until it is stopped, and says what came back.
import { connect, type Socket } from 'node:net';

/** An attack under way. */
export interface Flood {
  /** What has happened so far: sockets opened, and how answers began (`401`, `429` …). */
  readonly seen: { opened: number; readonly statuses: Map<string, number> };
  /** Ends it and every socket it holds. */
  stop(): Promise<void>;
}

/** What one socket of a flood does; called anew when its socket is gone. */
type Play = (socket: Socket) => void;

const mebibyte = 2 ** 20;
const piece = Buffer.alloc(64 * 1024, 0x20);
/** How long a socket that was cut waits before it comes again. Milliseconds. */
const againMs = 20;

/** Keeps so many sockets open, each replaced when it is cut. */
function flood(port: number, sockets: number, play: Play): Flood {
  const open = new Set<Socket>();
  const again = new Set<NodeJS.Timeout>();
  const seen: Flood['seen'] = { opened: 0, statuses: new Map() };
  let isStopped = false;
  const start = (): void => {
    if (isStopped) return;
    const socket = connect({ port, host: '127.0.0.1', noDelay: true });
    open.add(socket);
    seen.opened += 1;
    socket.on('data', (bytes: Buffer) => {
      const status = /^HTTP\/1\.1 (\d{3})/.exec(bytes.toString('latin1', 0, 16))?.[1];
      if (status !== undefined) seen.statuses.set(status, (seen.statuses.get(status) ?? 0) + 1);
    });
    socket.on('error', () => {});
    socket.on('close', () => {
      open.delete(socket);
      const timer = setTimeout(() => {
        again.delete(timer);
        start();
      }, againMs);
      again.add(timer);
    });
    socket.on('connect', () => play(socket));
  };
  for (let count = 0; count < sockets; count += 1) start();
  return {
    seen,
    async stop() {
      isStopped = true;
      for (const timer of again) clearTimeout(timer);
      const closed = [...open].map((socket) => new Promise((resolve) => socket.once('close', resolve)));
      for (const socket of open) socket.destroy();
      await Promise.all(closed);
    },
  };
}

/** Writes so many bytes as fast as they are taken, however long that is. */
function pour(socket: Socket, bytes: number): void {
  let left = bytes;
  const go = (): void => {
    while (left > 0 && socket.writable) {
      left -= piece.length;
      if (!socket.write(piece)) return;
    }
  };
  socket.on('drain', go);
  go();
}

/** Bodies of 1 MiB to `/admin/auth-keys` without a key, each held shortly before its end. */
export function floodAdminBodies(port: number, { sockets = 1_500 }: { sockets?: number } = {}): Flood {
  return flood(port, sockets, (socket) => {
    const lines = ['POST /admin/auth-keys HTTP/1.1', 'Host: a', 'Content-Type: application/json'];
    socket.write(`${[...lines, `Content-Length: ${mebibyte}`].join('\r\n')}\r\n\r\n`);
    pour(socket, mebibyte - piece.length);
  });
}

/** Large bodies with a right key of a consumer, each held shortly before its end. */
export function floodModelBodies(
  port: number,
  {
    key,
    userPath,
    sockets = 40,
    bytes = 32 * mebibyte,
  }: { key: string; userPath: string; sockets?: number; bytes?: number },
): Flood {
  return flood(port, sockets, (socket) => {
    const lines = [
      'POST /v1/chat/completions HTTP/1.1',
      'Host: a',
      `Authorization: Bearer ${key}`,
      `X-Gateway-User-Path: ${userPath}`,
      'Content-Type: application/json',
      `Content-Length: ${bytes}`,
    ];
    socket.write(`${lines.join('\r\n')}\r\n\r\n`);
    pour(socket, bytes - piece.length);
  });
}

/** Scrapes of `/metrics`: so many a second, over several connections. */
export function floodScrapes(
  port: number,
  { perSecond = 120, sockets = 6 }: { perSecond?: number; sockets?: number } = {},
): Flood {
  const request = 'GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n';
  return flood(port, sockets, (socket) => {
    const timer = setInterval(() => socket.write(request), (1_000 * sockets) / perSecond);
    socket.on('close', () => clearInterval(timer));
  });
}
