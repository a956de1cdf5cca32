// Redis as fleets have it, of real servers on this machine: a primary with a replica that sentinels watch, and a cluster.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Redis } from 'ioredis';
import { freePort } from './ports.ts';
import { type RedisServer, type RedisServerOptions, startRedis } from './redis.ts';
import { type Teardown, temporaryDirectory } from './teardown.ts';
import { waitFor } from './wait-for.ts';

/** Faults are found out soon, and replicas follow at once. */
const prompt = ['--repl-diskless-sync-delay', '0', '--repl-ping-replica-period', '1'];

export interface SentinelFleet {
  /** The first is the primary at the beginning, the other its replica. */
  readonly servers: readonly [RedisServer, RedisServer];
  readonly sentinels: readonly RedisServer[];
  /** `redis-sentinel://…` of all sentinels. */
  readonly url: string;
  /** Makes the replica the primary at once, as an operator does. */
  failOver(): Promise<void>;
  /** Resolves when most sentinels name this server. */
  isPrimary(server: RedisServer): Promise<void>;
}

export interface SentinelOptions {
  /** Until sentinels take a silent server for dead; default 300. Milliseconds. */
  readonly downAfterMs?: number;
  /** Of the servers. */
  readonly server?: RedisServerOptions;
  /** More lines of the configuration of each sentinel. */
  readonly lines?: readonly string[];
  /** How to ask the sentinels. */
  readonly sentinelLogin?: readonly [username: string, password: string];
}

/** A primary, a replica and three sentinels that know them by the name `main`. */
export async function startSentinels(t: Teardown, options: SentinelOptions = {}): Promise<SentinelFleet> {
  const { server = {}, lines = [], sentinelLogin = [], downAfterMs = 300 } = options;
  const args = [...prompt, ...(server.args ?? [])];
  const primary = await startRedis(t, { ...server, args });
  const following = ['--replicaof', '127.0.0.1', `${primary.port}`];
  const replica = await startRedis(t, { ...server, args: [...args, ...following] });
  const replicating = replica.client();
  await waitFor('the replica', async () => (await linkOf(replicating)) === 'up');
  const directory = temporaryDirectory(t, 'gateway-sentinels');
  const sentinels = await Promise.all(
    [1, 2, 3].map((number) => {
      const file = join(directory, `sentinel-${number}.conf`);
      const main = [
        `sentinel monitor main 127.0.0.1 ${primary.port} 2`,
        `sentinel down-after-milliseconds main ${downAfterMs}`,
        'sentinel failover-timeout main 1000',
        ...(server.password === undefined ? [] : [`sentinel auth-pass main ${server.password}`]),
      ];
      writeFileSync(file, `${[...main, ...lines].join('\n')}\n`);
      return startRedis(t, { sentinel: file, ...(server.tls === undefined ? {} : { tls: server.tls }) });
    }),
  );
  const asked = sentinels.map((each) => each.client(...sentinelLogin));
  const askAll = (...words: string[]): Promise<unknown[]> =>
    Promise.all(asked.map((client) => client.call('SENTINEL', ...words)));
  // A failover needs the replica, and a majority of sentinels that know one another.
  await waitFor('the sentinels', async () => {
    const facts = (await askAll('MASTER', 'main')).map((view) => viewOf(view as string[]));
    return facts.every((fact) => fact['num-slaves'] === '1' && fact['num-other-sentinels'] === '2');
  });
  return {
    servers: [primary, replica],
    sentinels,
    url: `redis-sentinel://${sentinels.map(({ port }) => `127.0.0.1:${port}`).join(',')}/main`,
    async failOver() {
      await asked[0]?.call('SENTINEL', 'FAILOVER', 'main');
    },
    async isPrimary({ port }) {
      await waitFor('the failover', async () => {
        const named = await askAll('GET-MASTER-ADDR-BY-NAME', 'main');
        return named.filter((address) => (address as string[])[1] === `${port}`).length >= 2;
      });
    },
  };
}

export interface Cluster {
  /** Three primaries, then the replica of each. */
  readonly nodes: readonly RedisServer[];
  /** The node that owns the slot of the keys of the prefix `gateway` at the beginning, its replica, and a node without these keys. */
  readonly owner: RedisServer;
  readonly replica: RedisServer;
  readonly other: RedisServer;
  /** `redis-cluster://` of a node without our keys and another one. */
  readonly url: string;
}

const slots = 16_384;

export interface ClusterOptions extends Pick<RedisServerOptions, 'users' | 'tls'> {
  /** Until a silent node is taken for dead; default 500. */
  readonly nodeTimeoutMs?: number;
}

/** Three primaries with a replica each. */
export async function startCluster(t: Teardown, options: ClusterOptions = {}): Promise<Cluster> {
  const { nodeTimeoutMs = 500, ...server } = options;
  const secure = server.tls === undefined ? [] : ['--tls-cluster', 'yes'];
  const nodes = await Promise.all(
    Array.from({ length: 6 }, async () => {
      const own = [
        '--cluster-enabled',
        'yes',
        '--cluster-node-timeout',
        `${nodeTimeoutMs}`,
        '--cluster-port',
        `${await freePort()}`,
      ];
      return startRedis(t, {
        ...server,
        args: [...prompt, ...own, ...secure, '--cluster-replica-validity-factor', '0'],
      });
    }),
  );
  const clients = nodes.map((node) => node.client());
  const [first] = clients;
  const busPorts = await Promise.all(clients.map((client) => client.config('GET', 'cluster-port')));
  await Promise.all(
    clients.slice(0, 3).map(async (client, index) => {
      const [from, to] = [index, index + 1].map((part) => Math.floor((part * slots) / 3));
      await client.call('CLUSTER', 'SET-CONFIG-EPOCH', index + 1);
      await client.call('CLUSTER', 'ADDSLOTSRANGE', from ?? 0, (to ?? 0) - 1);
    }),
  );
  for (const [index, { port }] of nodes.entries()) {
    await first?.call('CLUSTER', 'MEET', '127.0.0.1', port, busPorts[index]?.[1] ?? '');
  }
  const known = async (): Promise<number[]> =>
    Promise.all(
      clients.map(
        async (client) =>
          String(await client.call('CLUSTER', 'NODES'))
            .trim()
            .split('\n').length,
      ),
    );
  await waitFor('the nodes to meet', async () => (await known()).every((count) => count === 6), 10_000);
  for (const [index, client] of clients.slice(0, 3).entries()) {
    const id = String(await client.call('CLUSTER', 'MYID'));
    await waitFor('the replica', async () =>
      clients[index + 3]?.call('CLUSTER', 'REPLICATE', id).then(
        () => true,
        () => false,
      ),
    );
  }
  await waitFor(
    'the cluster',
    async () => {
      const states = await Promise.all(clients.map((client) => client.call('CLUSTER', 'INFO')));
      const links = await Promise.all(clients.slice(3).map(linkOf));
      return (
        states.every((state) => String(state).includes('cluster_state:ok')) && links.every((link) => link === 'up')
      );
    },
    10_000,
  );
  const slot = Number(await first?.call('CLUSTER', 'KEYSLOT', '{gateway}'));
  const index = Math.floor((slot * 3) / slots);
  const [owner, replica, other, another] = [index, index + 3, (index + 1) % 3, (index + 2) % 3].map((at) => nodes[at]);
  if (!owner || !replica || !other || !another) throw new Error('the cluster has no such nodes');
  const url = `${server.tls === undefined ? 'redis' : 'rediss'}-cluster://127.0.0.1:${other.port},127.0.0.1:${another.port}`;
  return { nodes, owner, replica, other, url };
}

/** Whether a replica has reached its primary: `up` or `down`. */
async function linkOf(client: Redis): Promise<string | undefined> {
  return /master_link_status:(\w+)/.exec(await client.info('replication'))?.[1];
}

/** A list of names and values. */
function viewOf(list: readonly string[] | Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  if (!Array.isArray(list)) return list as Readonly<Record<string, string>>;
  return Object.fromEntries(list.flatMap((name: string, at) => (at % 2 === 0 ? [[name, String(list[at + 1])]] : [])));
}
