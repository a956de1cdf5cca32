// Finds the node to connect to: the primary that the sentinels name, or the node of a cluster that owns the slot of our keys. All our
// keys share one hash tag and so one slot: a cluster is one server for us, at an address that may change.
import type { AbstractConnector, Redis } from 'ioredis';
import { nodeText, type RedisAddress, type RedisLogin, type RedisNode } from './address.ts';
import { openSocket, wordsOf } from './socket.ts';

/** Nobody named a node that can be used: the reason for each that was asked. */
export class NodeNotFound extends Error {
  /** The first reply of Redis among them, such as `WRONGPASS …`. */
  readonly reply: string | undefined;
  readonly code: unknown;

  constructor(failures: readonly Failure[]) {
    super(failures.map(({ said }) => said).join('; '));
    const errors = failures.map(({ error }) => error);
    this.reply = errors.find(({ name }) => name === 'ReplyError')?.message;
    this.code = errors.map((error) => (error as { code?: unknown }).code).find((code) => typeof code === 'string');
  }
}

/** The parts of the package that are used; it is loaded late. */
export interface Ioredis {
  readonly Redis: typeof Redis;
  readonly AbstractConnector: typeof AbstractConnector;
}

export interface FoundNode {
  readonly node: RedisNode;
  /** All nodes of the cluster, to be asked the next time. */
  readonly known: readonly RedisNode[];
}

export interface Search {
  readonly address: RedisAddress;
  /** The hash tag of our keys. */
  readonly tag: string;
  /** The nodes that are asked, at the same time. */
  readonly nodes: readonly RedisNode[];
}

interface Failure {
  readonly said: string;
  readonly error: Error;
}

/** For an answer of one that is asked. */
const patienceMs = 1_000;

/**
 * The node that more than half of those asked name; where no node has so many, the one that most name. So one that lags behind a
 * failover does not lead astray. Rejects with `NodeNotFound`.
 */
export async function findNode(ioredis: Ioredis, search: Search): Promise<FoundNode> {
  const found: FoundNode[] = [];
  const failures: Failure[] = [];
  const votesFor = ({ node }: FoundNode): number =>
    found.filter((other) => nodeText(other.node) === nodeText(node)).length;
  await new Promise<void>((resolve) => {
    let waiting = search.nodes.length;
    for (const asked of search.nodes) {
      void ask(ioredis, search, asked)
        .then(
          (answer) => void found.push(answer),
          (error: Error) => void failures.push({ said: sayFailure(search.address, asked, error), error }),
        )
        .then(() => {
          waiting -= 1;
          if (waiting === 0 || found.some((answer) => 2 * votesFor(answer) > search.nodes.length)) resolve();
        });
    }
  });
  const [best] = found.toSorted((one, other) => votesFor(other) - votesFor(one));
  if (best === undefined) throw new NodeNotFound(failures);
  return best;
}

async function ask(ioredis: Ioredis, search: Search, asked: RedisNode): Promise<FoundNode> {
  const { address, tag } = search;
  const isSentinel = address.kind === 'sentinel';
  const client = connectOnce(ioredis, search, asked);
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(new Error(`no answer within ${patienceMs} ms`)), patienceMs);
  try {
    const question: readonly [string, string[]] = isSentinel
      ? ['SENTINEL', ['GET-MASTER-ADDR-BY-NAME', address.master]]
      : ['CLUSTER', ['SLOTS']];
    const answer = await Promise.race([
      client.connect().then(() => client.call(...question)),
      failureOf(client),
      late.promise,
    ]);
    return isSentinel ? primaryIn(answer, address.master) : ownerIn(answer, tag, asked);
  } finally {
    clearTimeout(timer);
    client.disconnect();
  }
}

/** A client for one question, which does not connect again. */
function connectOnce(ioredis: Ioredis, { address }: Search, asked: RedisNode): Redis {
  const { username, password }: RedisLogin = address.kind === 'sentinel' ? address.sentinelLogin : address;
  class Connector extends ioredis.AbstractConnector {
    constructor() {
      super(patienceMs);
    }

    connect(): Promise<ReturnType<typeof openSocket>> {
      this.connecting = true;
      this.stream = openSocket(asked, address);
      return Promise.resolve(this.stream);
    }
  }
  return new ioredis.Redis({
    Connector,
    lazyConnect: true,
    ...(username === undefined ? {} : { username }),
    ...(password === undefined ? {} : { password }),
    ...(address.isTls ? { tls: {} } : {}),
    connectTimeout: patienceMs,
    enableReadyCheck: false,
    disableClientInfo: true,
    retryStrategy: () => null,
  });
}

/** What is wrong with a connection says more than that it was closed. */
function failureOf(client: Redis): Promise<never> {
  return new Promise((_resolve, reject) => {
    client.on('error', reject);
  });
}

function sayFailure({ kind }: RedisAddress, asked: RedisNode, error: Error): string {
  return `${kind === 'sentinel' ? 'sentinel' : 'node'} ${nodeText(asked)}: ${wordsOf(error)}`;
}

function primaryIn(answer: unknown, master: string): FoundNode {
  const [host, port] = Array.isArray(answer) ? (answer as unknown[]) : [];
  const node = nodeOf(host, port);
  if (node === undefined) throw new Error(`it knows no master with the name ${master}`);
  return { node, known: [] };
}

/** The owner of the slot of `tag` in an answer of CLUSTER SLOTS: `[first, last, [host, port, …], …replicas]` for each range. */
function ownerIn(answer: unknown, tag: string, asked: RedisNode): FoundNode {
  const slot = slotOf(tag);
  const known = new Map<string, RedisNode>();
  let owner: RedisNode | undefined;
  for (const range of Array.isArray(answer) ? (answer as unknown[]) : []) {
    const [first, last, ...members] = Array.isArray(range) ? (range as unknown[]) : [];
    const nodes = members.map((member) => {
      const [host, port] = Array.isArray(member) ? (member as unknown[]) : [];
      // A node that does not know its own name says nothing.
      return nodeOf(host === '' || host === null ? asked.host : host, port);
    });
    for (const node of nodes) if (node !== undefined) known.set(nodeText(node), node);
    if (Number(first) <= slot && slot <= Number(last)) owner = nodes[0];
  }
  if (owner === undefined) throw new Error(`no node of the cluster owns slot ${slot}, that of our keys {${tag}}`);
  return { node: owner, known: [...known.values()] };
}

function nodeOf(host: unknown, port: unknown): RedisNode | undefined {
  const number = Number(port);
  const isNode = typeof host === 'string' && host !== '' && Number.isInteger(number) && number > 0 && number < 65_536;
  return isNode ? { host, port: number } : undefined;
}

/** The slot of a cluster for a hash tag: CRC16 (XMODEM) of it, modulo 16,384. */
export function slotOf(tag: string): number {
  let sum = 0;
  for (const byte of Buffer.from(tag)) {
    sum ^= byte << 8;
    for (let bit = 0; bit < 8; bit += 1) sum = (sum & 0x80_00) === 0 ? sum << 1 : (sum << 1) ^ 0x1_10_21;
  }
  return sum % 16_384;
}
