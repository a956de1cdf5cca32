// Starts the load client, a process of its own, and hands it one command at a time.
import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Peer } from './peer.ts';
import { MASTER_KEY, onCore } from './processes.ts';
import type { Command, HeldStreams, LoadResult, Reply, Slice } from './slice.ts';

/** The load client. Every method rejects when the client cannot do what it is asked, or has ended. */
export interface LoadClient {
  readonly pid: number;
  /** Opens connections ahead of a slice, so that the slice does not count their opening. */
  readonly open: (url: string, connections: number) => Promise<void>;
  readonly run: (slice: Slice) => Promise<LoadResult>;
  /** Opens streams that never end, beside those that are open. */
  readonly hold: (url: string, streams: number) => Promise<HeldStreams>;
  /** Counts the events of the held streams for a while. */
  readonly watch: (url: string, seconds: number) => Promise<HeldStreams>;
  /** Closes every connection to a target. */
  readonly close: (url: string) => Promise<void>;
  /** Ends the process; resolves when it is gone. */
  readonly stop: () => Promise<void>;
}

interface Waiting {
  readonly resolve: (done: LoadResult | HeldStreams | null) => void;
  readonly reject: (error: Error) => void;
}

/** Starts the load client on the given core. Requests to the peer have its headers. */
export function startClient(core?: number, peer?: Peer): LoadClient {
  const ofPeer = peer === undefined ? [] : ['--peer', peer.url, ...peer.headers.flatMap((line) => ['--header', line])];
  const words = [join(import.meta.dirname, 'client.ts'), '--token', MASTER_KEY, ...ofPeer];
  const [command, args] = onCore(core, process.execPath, words);
  const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'] });
  // A client that has ended breaks the pipe; who waits is told below.
  child.stdin.on('error', () => {});
  const waiting: Waiting[] = [];
  createInterface({ input: child.stdout }).on('line', (line) => {
    const reply: Reply = JSON.parse(line);
    const asked = waiting.shift();
    if ('done' in reply) asked?.resolve(reply.done);
    else asked?.reject(new Error(reply.error));
  });
  const gone = new Promise<void>((resolve) => {
    child.on('error', () => resolve());
    child.on('close', () => resolve());
  });
  void gone.then(() => {
    for (const { reject } of waiting.splice(0)) reject(new Error('the load client ended'));
  });
  const ask = <Done extends LoadResult | HeldStreams | null>(what: Command): Promise<Done> =>
    new Promise((resolve, reject) => {
      waiting.push({ resolve: (done) => resolve(done as Done), reject });
      tell(child, what);
    });
  return {
    pid: child.pid ?? 0,
    open: async (url, connections) => void (await ask<null>({ do: 'open', url, connections })),
    run: (slice) => ask<LoadResult>({ do: 'slice', slice }),
    hold: (url, streams) => ask<HeldStreams>({ do: 'hold', url, streams }),
    watch: (url, seconds) => ask<HeldStreams>({ do: 'watch', url, seconds }),
    close: async (url) => void (await ask<null>({ do: 'close', url })),
    stop: async () => {
      child.stdin.end();
      await gone;
    },
  };
}

function tell(child: ChildProcess, command: Command): void {
  child.stdin?.write(`${JSON.stringify(command)}\n`, () => {});
}
