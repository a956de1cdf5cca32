// Loads servers in short slices one right after the other, and reads what each slice cost the server that answered it.
import type { CountInstructions } from './instructions.ts';
import type { LoadClient } from './load.ts';
import { isAlive, startReading } from './measure.ts';
import type { Running } from './processes.ts';
import type { LoadResult, Slice } from './slice.ts';
import { isJson, type Workload } from './workload.ts';

/** A slice, and what it cost. */
export interface Cost {
  readonly load: LoadResult;
  /** CPU of the server per completed request. Microseconds. */
  readonly cpuUs: number;
  /** Instructions of the server per completed request, when they were counted. */
  readonly instructions?: number;
  /** Cores the load client kept busy. */
  readonly clientCores: number;
  /** Cores the other watched processes kept busy, in the order given. */
  readonly otherCores: readonly number[];
  /** Cores kept busy by everybody else on the machine. */
  readonly foreignCores: number;
}

// Streams of the paced workload last half a second: each connection takes one.
const PACED_STREAMS = 100;
const CONNECTIONS = 50;
const SHORT_SECONDS = 0.05;
const STEADY_SECONDS = 0.3;
// Requests until V8 has compiled what is hot: the cost of the gateway falls until about 15,000 small ones.
const WARM_REQUESTS = { json: 20_000, others: 12_000, paced: 2 * PACED_STREAMS };
const MOST_WARM_SECONDS = 6;

/** The slice of a workload that is short enough to be one of many. */
export function shortSlice(workload: Workload): Omit<Slice, 'url'> {
  if (workload.endsWith('paced')) return { workload, connections: PACED_STREAMS, seconds: 5, requests: PACED_STREAMS };
  return { workload, connections: CONNECTIONS, seconds: SHORT_SECONDS };
}

/**
 * The same where what a server does behind requests counts, too: timers, flushes, garbage collection. It is long enough to spread that over
 * as many requests as there are under load; of short slices, bodies that are recorded seem to cost twice as much.
 */
export function steadySlice(workload: Workload): Omit<Slice, 'url'> {
  const short = shortSlice(workload);
  return short.requests === undefined ? { ...short, seconds: STEADY_SECONDS } : short;
}

/** What is looked at besides the server: other processes, and its instructions. */
export interface Watch {
  readonly others?: readonly Running[];
  readonly count?: CountInstructions | undefined;
}

/** Loads one server for one slice. Rejects when the server ended or answered nothing. */
export async function measureSlice(
  client: LoadClient,
  server: Running,
  slice: Omit<Slice, 'url'>,
  { others = [], count }: Watch = {},
): Promise<Cost> {
  await client.open(server.url, slice.connections);
  const endCount = await count?.(server.pid);
  const further = server.further ?? [];
  const end = startReading([server.pid, ...further, client.pid, ...others.map(({ pid }) => pid)]);
  const load = await client.run({ ...slice, url: server.url });
  const reading = end();
  const instructions = await endCount?.();
  for (const { name, pid, lastWords } of [server, ...others]) {
    if (!isAlive(pid)) throw new Error(`${name} ended under load; its last words:\n${lastWords()}`);
  }
  if (load.requests === 0)
    throw new Error(`${server.name} answered no ${slice.workload} request; ${load.failures} failed`);
  const own = reading.cpuMs.slice(0, 1 + further.length).reduce((sum, ms) => sum + ms, 0);
  const [ofClient = 0, ...rest] = reading.cpuMs.slice(1 + further.length);
  const cores = (ms: number): number => ms / 1000 / reading.seconds;
  return {
    load,
    cpuUs: (own * 1000) / load.requests,
    ...(instructions === undefined ? {} : { instructions: instructions / load.requests }),
    clientCores: cores(ofClient),
    otherCores: rest.map(cores),
    foreignCores: reading.foreignCores,
  };
}

/** Loads a server until its code is warm, for some seconds at most; `share`: how much of that is enough. */
export async function warmUp(client: LoadClient, server: Running, workload: Workload, share = 1): Promise<void> {
  const { json, others, paced } = WARM_REQUESTS;
  const requests = isJson(workload) ? json : workload.endsWith('paced') ? paced : others;
  const { connections } = shortSlice(workload);
  const slice = { workload, connections, requests: Math.ceil(requests * share), seconds: MOST_WARM_SECONDS * share };
  await measureSlice(client, server, slice);
}

/** All items, the order turned by so many places, so that none always comes first. */
export function turned<Item>(items: readonly Item[], places: number): Item[] {
  const shift = places % Math.max(1, items.length);
  return [...items.slice(shift), ...items.slice(0, shift)];
}
