// Another gateway beside this one: it runs already, asks the provider of the bench, and is found by the address that it listens on.
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { canPin, type Running } from './processes.ts';

/** A gateway of another project as the command line names it. */
export interface Peer {
  /** `http://127.0.0.1:PORT` */
  readonly url: string;
  /** Lines of the head that it needs of each request, such as `x-provider: openai`. */
  readonly headers: readonly string[];
}

/**
 * The peer with all its processes, on the core of the process under test from now on; nobody stops it. Throws when nothing of this user listens
 * there.
 */
export function findPeer({ url }: Peer, core: number | undefined): Running {
  const [pid, ...further] = listenersOf(Number(new URL(url).port || 80));
  if (pid === undefined) throw new Error(`no process of this user listens on ${url}`);
  if (core !== undefined && canPin)
    for (const each of [pid, ...further]) spawnSync('taskset', ['-acp', String(core), String(each)]);
  return { name: 'peer', pid, further, url, lastWords: () => '', stop: () => Promise.resolve() };
}

/** Name and value of each line of the head. */
export function headersOf(peer: Peer | undefined): [name: string, value: string][] {
  return (peer?.headers ?? []).map((line) => {
    const [name = '', ...value] = line.split(':');
    return [name.trim(), value.join(':').trim()];
  });
}

/** The processes that hold the listening socket of a port: workers of one parent share it, and so does the parent. */
function listenersOf(port: number): number[] {
  const sockets = new Set(['/proc/net/tcp', '/proc/net/tcp6'].flatMap((table) => inodesIn(table, port)));
  return readdirSync('/proc')
    .map(Number)
    .filter((pid) => pid > 0 && holds(pid, sockets));
}

function inodesIn(table: string, port: number): string[] {
  const hex = port.toString(16).toUpperCase().padStart(4, '0');
  const listening = '0A';
  return linesOf(table).flatMap((line) => {
    const [, local = '', , state, , , , , , inode = ''] = line.trim().split(/\s+/);
    return state === listening && local.endsWith(`:${hex}`) ? [`socket:[${inode}]`] : [];
  });
}

function linesOf(file: string): string[] {
  try {
    return readFileSync(file, 'latin1').split('\n');
  } catch {
    // Without IPv6 there is no table of it.
    return [];
  }
}

function holds(pid: number, sockets: ReadonlySet<string>): boolean {
  try {
    return readdirSync(`/proc/${pid}/fd`).some((file) => sockets.has(readlinkSync(`/proc/${pid}/fd/${file}`)));
  } catch {
    // It is gone, or belongs to another user.
    return false;
  }
}
