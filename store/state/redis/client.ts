// The client of Redis with its settings: it reports errors instead of hiding them, refuses replies of absurd length, can be cut off, and
// follows the primary of a replicated server or cluster. `Cluster` and the sentinels of ioredis are not used: with one hash tag there is
// one node to talk to, and this connector keeps the checks of every reply and the cut the same for all kinds of addresses.
import { Socket } from 'node:net';
import type { AbstractConnector, Redis } from 'ioredis';
import { nodeText, type RedisAddress, type RedisKind, type RedisNode } from './address.ts';
import { findNode, type Ioredis } from './find-node.ts';
import { openSocket } from './socket.ts';

export interface ConnectionSettings {
  readonly address: RedisAddress;
  readonly timeoutMs: number;
  /** More operations than this at once are refused; default 64: a plane has a handful. */
  readonly mostAtOnce?: number;
  /** The prefix of the keys that are asked for, by which a cluster is searched; default `gateway`. A wrong one costs a redirection. */
  readonly prefix?: string;
  /**
   * It is asked for a sign of life so often, so that a server without one is given up: for a client that only listens. Milliseconds;
   * default: never.
   */
  readonly signOfLifeMs?: number;
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
/** Where another node may be the primary at any moment. */
const longestSearchPauseMs = 400;
/** Nodes of a cluster that are asked at once who owns our keys. */
const mostAsked = 3;

/** What a node says that is no primary, or that is cut off from its replicas while sentinels promote one of them. */
const elsewhere: Readonly<Record<RedisKind, RegExp>> = {
  server: /^(READONLY|MASTERDOWN)\b/,
  sentinel: /^(READONLY|MASTERDOWN|NOREPLICAS)\b/,
  cluster: /^(READONLY|MASTERDOWN|NOREPLICAS|MOVED|CLUSTERDOWN)\b/,
};

/** The node did nothing of what it was asked, because another one may be the primary: the next connection leads to that one. */
export function isElsewhere({ kind }: RedisAddress, error: unknown): boolean {
  return error instanceof Error && elsewhere[kind].test(error.message);
}

/**
 * A client that reconnects for ever: soon at first, later once a second, each time to the node that is the primary then. The package
 * is loaded here, because it takes 20 MB that a gateway without Redis need not pay.
 */
export async function connectRedis(settings: ConnectionSettings, onError: (error: Error) => void): Promise<RedisLine> {
  const { address, timeoutMs } = settings;
  const ioredis = await import('./driver.ts');
  const route = new Route(ioredis, settings);
  let socket: Socket | undefined;
  let whyCut: Error | undefined;

  const Connector = connectorOn(ioredis, route, {
    ...settings,
    onError,
    onOpen(opened) {
      socket = opened;
    },
    onAbsurdAnswer(problem) {
      whyCut = problem;
    },
  });
  const mostPauseMs = address.kind === 'server' ? longestPauseMs : longestSearchPauseMs;
  const client = new ioredis.Redis({
    Connector,
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
    retryStrategy: (attempt) => Math.min(25 * 2 ** Math.min(attempt, 10), mostPauseMs),
    // After a failover the same address may lead to the new primary.
    reconnectOnError: (error) => {
      route.follow(error);
      return isElsewhere(address, error);
    },
  });
  client.on('error', (error: Error) => onError(route.at(error)));
  client.on('ready', () => {
    whyCut = undefined;
  });
  if (settings.signOfLifeMs !== undefined) askForSigns(client, settings.signOfLifeMs);
  return {
    client,
    cut(why) {
      whyCut = why;
      socket?.destroy();
    },
    whyCut: () => whyCut,
  };
}

/** What does not come lets the client give the connection up. */
function askForSigns(client: Redis, everyMs: number): void {
  let timer: NodeJS.Timeout | undefined;
  client.on('ready', () => {
    timer = setInterval(() => void client.ping().catch(() => undefined), everyMs);
  });
  client.on('close', () => clearInterval(timer));
}

interface ConnectorParts extends ConnectionSettings {
  readonly onError: (error: Error) => void;
  readonly onOpen: (socket: Socket) => void;
  readonly onAbsurdAnswer: (problem: Error) => void;
}

/** The class by which a client opens its sockets: each to the node that is the right one then. */
function connectorOn(ioredis: Ioredis, route: Route, parts: ConnectorParts): new () => AbstractConnector {
  const { address, timeoutMs, onError } = parts;
  return class extends ioredis.AbstractConnector {
    constructor() {
      super(timeoutMs);
    }

    async connect(): Promise<Socket> {
      this.connecting = true;
      const opened = await this.#open();
      // The client was closed meanwhile: it knows this sentence.
      if (!this.connecting) {
        opened.destroy();
        throw new Error('Connection is closed.');
      }
      this.stream = opened;
      parts.onOpen(opened);
      return opened;
    }

    /** Never rejects: the client tries again after a socket that failed, not without one. */
    async #open(): Promise<Socket> {
      try {
        const opened = openSocket(await route.next(), address, parts.onAbsurdAnswer);
        opened.once('error', (error: Error) => {
          this.firstError = error;
        });
        return opened;
      } catch (error) {
        this.firstError = error as Error;
        return new Socket().destroy();
      }
    }

    /** A replica gives no primary's answers; an old view of a failover may have led to it. */
    override check(info: { readonly role?: string }): boolean {
      const isMeant = address.kind === 'server' || info.role !== 'slave';
      if (!isMeant) onError(new Error(`${route.text} is a replica; the primary is searched for`));
      return isMeant;
    }
  };
}

/** Where the next connection goes. */
class Route {
  readonly #ioredis: Ioredis;
  readonly #address: RedisAddress;
  readonly #tag: string;
  /** Those that the cluster has named. */
  #known: readonly RedisNode[] = [];
  #searches = 0;
  #redirected: RedisNode | undefined;
  #last: RedisNode;

  constructor(ioredis: Ioredis, { address, prefix = 'gateway' }: ConnectionSettings) {
    this.#ioredis = ioredis;
    this.#address = address;
    this.#tag = prefix;
    this.#last = address.nodes[0];
  }

  /** The node that was connected to last. */
  get text(): string {
    return nodeText(this.#last);
  }

  async next(): Promise<RedisNode> {
    this.#last = this.#redirected ?? (await this.#find());
    this.#redirected = undefined;
    return this.#last;
  }

  /** Goes where a node of the cluster says: `MOVED <slot> <host>:<port>`, without the host when it is its own. */
  follow({ message }: Error): void {
    const [, host, port] = /^MOVED [0-9]+ (.*):([0-9]+)$/.exec(message) ?? [];
    if (this.#address.kind !== 'cluster' || host === undefined) return;
    this.#redirected = { host: host || this.#last.host, port: Number(port) };
  }

  /** The error, with the node that a refusal came from where the address does not name it. */
  at(error: Error): Error {
    return error.name === 'ReplyError' && this.#address.kind !== 'server'
      ? Object.assign(error, { node: this.text })
      : error;
  }

  async #find(): Promise<RedisNode> {
    const { kind, nodes } = this.#address;
    if (kind === 'server') return nodes[0];
    const search = { address: this.#address, tag: this.#tag };
    const asked = kind === 'sentinel' ? nodes : this.#some();
    const { node, known } = await findNode(this.#ioredis, { ...search, nodes: asked });
    this.#known = known;
    return node;
  }

  /** Others each time: with one that does not answer, or knows only what was, the next search succeeds. */
  #some(): readonly RedisNode[] {
    const all = new Map([...this.#address.nodes, ...this.#known].map((node) => [nodeText(node), node]));
    const list = [...all.values()];
    const first = (this.#searches * mostAsked) % list.length;
    this.#searches += 1;
    return [...list.slice(first), ...list.slice(0, first)].slice(0, mostAsked);
  }
}
