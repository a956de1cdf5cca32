// Everything that a gateway and its stores hold, as bytes: what a search for secrets looks through.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Redis } from 'ioredis';
import type { PostgresServer } from './postgres.ts';
import type { RedisServer } from './redis.ts';

/** The bytes of every file below a directory, by its path in there; each byte is a character. */
export function filesBelow(directory: string): Map<string, string> {
  const entries = readdirSync(directory, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  const paths = entries.map((entry) => join(entry.parentPath, entry.name));
  const read = paths.map((path) => [path.slice(directory.length + 1), bytesOf(path)] as const);
  // A file that is being written gets its name at the end: all of them are read again.
  return read.some(([, bytes]) => bytes === undefined)
    ? filesBelow(directory)
    : new Map(read.map(([name, bytes = '']) => [name, bytes]));
}

/** Every command that changed an append-only Redis, and what it holds, by key. */
export async function bytesOfRedis(redis: RedisServer): Promise<Map<string, string>> {
  const client = redis.client();
  const [, directory = ''] = await client.config('GET', 'dir');
  const all = filesBelow(directory);
  for (const key of await client.keys('*')) {
    const type = await client.type(key);
    const read = readers[type];
    if (read === undefined) throw new Error(`${key} is of the type ${type}, which this cannot read`);
    all.set(`${type} ${key}`, storedJson(await read(client, key)));
  }
  return all;
}

const readers: Readonly<Record<string, (client: Redis, key: string) => Promise<unknown>>> = {
  string: (client, key) => client.getBuffer(key),
  hash: (client, key) => client.hgetallBuffer(key),
  stream: (client, key) => client.xrangeBuffer(key, '-', '+'),
  list: (client, key) => client.lrangeBuffer(key, 0, -1),
  set: (client, key) => client.smembersBuffer(key),
  zset: (client, key) => client.zrangeBuffer(key, '-inf', '+inf', 'BYSCORE'),
};

/** Every row of every table of a database, by the name of the table. */
export async function rowsOfPostgres(server: PostgresServer, url: string): Promise<Map<string, string>> {
  const listed = `SELECT schemaname || '.' || tablename AS name FROM pg_tables WHERE schemaname LIKE 'gateway%'`;
  const all = new Map<string, string>();
  for (const { name } of await server.query(url, listed)) {
    all.set(String(name), storedJson(await server.query(url, `SELECT * FROM ${String(name)}`)));
  }
  return all;
}

/** As JSON, in which bytes are text. */
function storedJson(value: unknown): string {
  return JSON.stringify(value, (_, each: unknown) => {
    const bytes = (each as { data?: number[]; type?: string } | null)?.type === 'Buffer';
    return bytes ? Buffer.from((each as { data: number[] }).data).toString('latin1') : each;
  });
}

/** Undefined: it is gone. */
function bytesOf(path: string): string | undefined {
  try {
    return readFileSync(path, 'latin1');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}
