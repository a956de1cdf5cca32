// The processes that every mode of the bench needs, where they run, and where its words go.
import { mkdtempSync, rmSync } from 'node:fs';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { keepAwake } from './awake.ts';
import { type LoadClient, startClient } from './load.ts';
import type { Peer } from './peer.ts';
import { canPin, type Running, startUpstream, stopAll } from './processes.ts';

/** Open from the start of a mode to its end. */
export interface Session {
  readonly client: LoadClient;
  readonly upstream: Running;
  /** Another gateway to be measured, too. */
  readonly peer: Peer | undefined;
  /** The core of the process under test; undefined where pinning is not possible. */
  readonly core: number | undefined;
  /** For configs and data; removed at the end. */
  readonly folder: string;
  /** A folder that outlives the session. */
  readonly keepFolder: () => void;
  /** Called at the end, even when the bench is interrupted. */
  readonly atEnd: (undo: () => void) => void;
}

interface SessionOptions {
  /** Keeps the core of the tools from halting, which only figures need. */
  readonly isAwake: boolean;
  readonly peer: Peer | undefined;
  /** Where the provider listens; 0: on any port. */
  readonly upstreamPort: number;
}

/** Starts load client and provider on the tool core. */
export async function openSession({
  isAwake,
  peer,
  upstreamPort,
}: SessionOptions): Promise<{ session: Session; close: () => Promise<void> }> {
  const toolCore = canPin ? 1 : undefined;
  const folder = mkdtempSync(join(tmpdir(), 'gateway-bench-'));
  const undoing = [(): void => rmSync(folder, { recursive: true, force: true })];
  const undoAll = (): void => {
    for (const undo of undoing.splice(0)) undo();
  };
  process.once('exit', undoAll);
  if (isAwake) undoing.push(keepAwake(toolCore));
  const client = startClient(toolCore, peer);
  const close = async (): Promise<void> => {
    await client.stop();
    await stopAll();
    undoAll();
    process.off('exit', undoAll);
  };
  try {
    const upstream = await startUpstream(toolCore, upstreamPort);
    const keepFolder = (): void => void undoing.shift();
    const atEnd = (undo: () => void): void => void undoing.push(undo);
    return { session: { client, upstream, peer, core: canPin ? 0 : undefined, folder, keepFolder, atEnd }, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Node, processors, and which of them do what. */
export function describeMachine(): string {
  const pinned = canPin ? 'process under test on core 0, tools on core 1' : 'not pinned (taskset missing)';
  return `Node ${process.versions.node}, ${cpus().length} × ${cpus()[0]?.model ?? 'CPU'}, ${pinned}`;
}

/** Prints a line of the result. */
export function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

/** Shows what is under way on a terminal, over what was shown before; an empty text clears the line. */
export function progress(text: string): void {
  if (process.stderr.isTTY) process.stderr.write(text === '' ? `\r${' '.repeat(70)}\r` : `\r${text.padEnd(70)}`);
}
