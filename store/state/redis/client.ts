// The client of Redis with its settings: it reports errors instead of hiding them, refuses replies of absurd length, and can be cut off.
import { connect as connectPlain, type Socket } from 'node:net';
import { connect as connectSecure } from 'node:tls';
import type { Redis } from 'ioredis';
import type { RedisAddress } from './address.ts';
import { AbsurdAnswer, ReplyGuard } from './guard.ts';

export interface ConnectionSettings {
  readonly address: RedisAddress;
  readonly timeoutMs: number;
  /** More operations than this at once are refused; default 64: a plane has a handful. */
  readonly mostAtOnce?: number;
}

/** One client, whatever its connection is at the moment. */
export interface RedisLine {
  readonly client: Redis;
  /** Cuts the connection, so that no answer to what was asked on it can arrive; the next one is made at once. */
  cut(why: Error): void;
  /** Why this side has cut the connection, until another one works. */
  whyCut(): Error | undefined;
}

const longestPauseMs = 1_000;

/**
 * A client that reconnects for ever: soon at first, later once a second. The package is loaded here, because it takes 20 MB that a
 * gateway without Redis need not pay.
 */
export async function connectRedis(
  { address, timeoutMs }: ConnectionSettings,
  onError: (error: Error) => void,
): Promise<RedisLine> {
  const ioredis = await import('ioredis');
  let socket: Socket | undefined;
  let whyCut: Error | undefined;

  function openSocket(): Socket {
    const target = { host: address.host, port: address.port };
    const opened: Socket = address.isTls ? connectSecure(target) : connectPlain(target);
    guard(opened, (problem) => {
      whyCut = problem;
    });
    socket = opened;
    return opened;
  }

  class Connector extends ioredis.AbstractConnector {
    constructor() {
      super(timeoutMs);
    }

    connect(): Promise<Socket> {
      this.connecting = true;
      this.stream = openSocket();
      this.stream.once('error', (error: Error) => {
        this.firstError = error;
      });
      return Promise.resolve(this.stream);
    }
  }

  const client = new ioredis.Redis({
    Connector,
    host: address.host,
    port: address.port,
    db: address.database,
    ...(address.username === undefined ? {} : { username: address.username }),
    ...(address.password === undefined ? {} : { password: address.password }),
    // It waits for the handshake.
    ...(address.isTls ? { tls: {} } : {}),
    connectTimeout: Math.max(1_000, timeoutMs),
    // A server that is silent for so long is given up, with everything that waits for it.
    socketTimeout: Math.max(500, 2 * timeoutMs),
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    // It would subscribe by itself, and a rejected subscription would be caught nowhere.
    autoResubscribe: false,
    disableClientInfo: true,
    retryStrategy: (attempt) => Math.min(25 * 2 ** Math.min(attempt, 10), longestPauseMs),
    // After a failover the same name may lead to the new primary.
    reconnectOnError: (error) => error.message.startsWith('READONLY'),
  });
  client.on('error', onError);
  client.on('ready', () => {
    whyCut = undefined;
  });
  return {
    client,
    cut(why) {
      whyCut = why;
      socket?.destroy();
    },
    whyCut: () => whyCut,
  };
}

/** Bytes that the guard rejects never reach the socket's stream, so they cannot be read. */
function guard(socket: Socket, onRefusal: (problem: Error) => void): void {
  const replies = new ReplyGuard();
  const push = socket.push.bind(socket);
  socket.push = (chunk: Uint8Array | null, encoding) => {
    const problem = chunk === null ? undefined : replies.take(chunk);
    if (problem === undefined) return push(chunk, encoding);
    const error = new AbsurdAnswer(problem);
    onRefusal(error);
    socket.destroy(error);
    return false;
  };
}
