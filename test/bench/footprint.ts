// What a process holds in memory: idle, under load, and per stream that stays open.
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { warmUp } from './contest.ts';
import { cpuBetweenMs, cpuTicksMs, markCpu } from './cpu-time.ts';
import { memoryMiB, memoryOf, mostOpenFiles } from './measure.ts';
import { type Running, startBare, startGateway } from './processes.ts';
import { progress, type Session } from './session.ts';

/** Memory of a process in MiB: before the load, the most after a slice of small JSON requests at 50 connections, the
 *  most after any slice, the most ever; and its share of a core while idle. */
export interface Footprint {
  idleMiB: number;
  jsonMiB: number;
  loadedMiB: number;
  peakMiB: number;
  idleCores: number;
}

/** Many streams open at once, one event per second each, through one process. */
export interface Streams {
  readonly variant: 'bare' | 'gateway';
  readonly wanted: number;
  /** Why there are no figures, or what went wrong. */
  readonly problem?: string;
  readonly beforeMiB: number;
  readonly openMiB: number;
  readonly kibPerStream: number;
  readonly cpuUsPerEvent: number;
}

const IDLE_MS = 1500;
const SETTLE_MS = 1500;
const WATCH_SECONDS = 4;
// Files of a process besides those of its streams, and connections that are opened and closed meanwhile.
const OTHER_FILES = 200;

/** Waits while nothing is asked of the processes, and reads what they hold and do then. */
export async function readIdle(processes: readonly Running[]): Promise<Footprint[]> {
  const ticksMs = ({ pid, further = [] }: Running): number =>
    [pid, ...further].reduce((sum, each) => sum + cpuTicksMs(each), 0);
  const before = processes.map(ticksMs);
  await pause(IDLE_MS);
  return processes.map((server, index) => {
    const { now, peak } = memoryOf(server);
    const idleCores = (ticksMs(server) - (before[index] ?? 0)) / IDLE_MS;
    return { idleMiB: now, jsonMiB: 0, loadedMiB: now, peakMiB: peak, idleCores };
  });
}

/** Opens so many streams through a bare pass-through and through a gateway, each a process of its own. */
export async function measureStreams(session: Session, counts: readonly number[]): Promise<Streams[]> {
  const found: Streams[] = [];
  for (const variant of ['bare', 'gateway'] as const) {
    const { upstream, core, folder } = session;
    const server = await (variant === 'bare'
      ? startBare(upstream.url, core)
      : startGateway(upstream.url, join(folder, 'streams'), { core }));
    try {
      // Buffers and compiled code of the first requests are no cost of a stream.
      for (const workload of ['json', 'sse'] as const) {
        await warmUp(session.client, server, workload, 0.5);
      }
      await pause(SETTLE_MS);
      found.push(...(await streamsThrough(session, { variant, server }, counts)));
    } finally {
      await session.client.close(server.url);
      await server.stop();
    }
  }
  return found;
}

async function streamsThrough(
  { client, upstream }: Session,
  { variant, server }: { variant: Streams['variant']; server: Running },
  counts: readonly number[],
): Promise<Streams[]> {
  const beforeMiB = memoryMiB(server.pid).now;
  const found: Streams[] = [];
  let open = 0;
  for (const wanted of counts) {
    const none = {
      variant,
      wanted,
      beforeMiB,
      openMiB: Number.NaN,
      kibPerStream: Number.NaN,
      cpuUsPerEvent: Number.NaN,
    };
    const limit = filesMissing({ server, upstream, client: client.pid }, wanted);
    if (limit !== undefined) {
      found.push({ ...none, problem: limit });
      continue;
    }
    progress(`${wanted} open streams through ${variant}`);
    const held = await client.hold(server.url, wanted - open);
    open = wanted;
    if (held.open < wanted) {
      found.push({ ...none, problem: `only ${held.open} could be opened: ${held.problem ?? 'no reason known'}` });
      break;
    }
    await pause(SETTLE_MS);
    const mark = markCpu(server.pid);
    const watched = await client.watch(server.url, WATCH_SECONDS);
    const cpuMs = cpuBetweenMs(mark, markCpu(server.pid));
    const openMiB = memoryMiB(server.pid).now;
    const kibPerStream = ((openMiB - beforeMiB) * 1024) / wanted;
    const { problem } = watched;
    const figures = { ...none, openMiB, kibPerStream, cpuUsPerEvent: (cpuMs * 1000) / watched.events };
    found.push(problem === undefined ? figures : { ...figures, problem });
  }
  return found;
}

// A stream is a file of the client, one of the provider, and two of what stands between.
function filesMissing(
  { server, upstream, client }: { server: Running; upstream: Running; client: number },
  streams: number,
): string | undefined {
  const needs = [
    { name: server.name, pid: server.pid, files: streams * 2 + OTHER_FILES },
    { name: 'the provider', pid: upstream.pid, files: streams + OTHER_FILES },
    { name: 'the load client', pid: client, files: streams + OTHER_FILES },
  ];
  const short = needs.find(({ pid, files }) => mostOpenFiles(pid) < files);
  if (short === undefined) return undefined;
  return `${short.name} may open ${mostOpenFiles(short.pid)} files and needs ${short.files}: raise ulimit -n`;
}
