// What several workers serve, × one proxy alone: by CPU per request on one core, so it needs no free core for each of them.
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { workersOf } from '../support/worker-processes.ts';
import { measureSlice, shortSlice, steadySlice, turned } from './contest.ts';
import { cpuBetweenMs, markCpu } from './cpu-time.ts';
import { startReading } from './measure.ts';
import type { Options } from './options.ts';
import { type Running, startGateway } from './processes.ts';
import { progress, type Session } from './session.ts';
import type { Slice } from './slice.ts';
import { median, type Pair, ratioOfLaunches } from './statistics.ts';
import { renderTable } from './table.ts';
import type { Workload } from './workload.ts';

/** Of two workers, × one, with a core for each. */
const LEAST_OF_TWO = 1.7;
/** Requests of each process until it is warm. */
const WARM_REQUESTS = 20_000;
const MOST_WARM_SECONDS = 30;
const READY_MS = 15_000;

/** CPU microseconds per request in one round. */
interface Round {
  /** Of a proxy alone. */
  readonly alone: number;
  /** Of all workers and their parent. */
  readonly all: number;
  readonly parent: number;
}

export interface WorkersCost {
  readonly workload: Workload;
  readonly workers: number;
  /** By launch. */
  readonly launches: Round[][];
  /** Cores that others kept busy, by round. */
  readonly foreignCores: number[];
  failures: number;
}

type Extent = Pick<Options, 'workers' | 'workloads' | 'pairs' | 'launches'>;

/** A gateway, and all of its processes: of several workers, the parent first. */
interface Served {
  readonly gateway: Running;
  readonly pids: readonly number[];
}

/**
 * Measures both side by side in each workload, with as many connections for each worker as for the proxy alone: with fewer, it would do less at
 * each turn of its event loop, which costs more. All processes share a core, and each others' caches, so the true ratio is no lower.
 */
export async function measureWorkers(
  session: Session,
  { workers, workloads, pairs, launches }: Extent,
): Promise<WorkersCost[]> {
  const all = workloads.map((workload): WorkersCost => {
    return { workload, workers, launches: [], foreignCores: [], failures: 0 };
  });
  for (let launch = 0; launch < launches; launch += 1) {
    progress('starting');
    const alone = await startServed(session, `alone-${launch}`, 1);
    const several = await startServed(session, `workers-${launch}`, workers);
    for (const cost of all) {
      const { workload } = cost;
      for (const side of [alone, several]) await warm(session, side, workload);
      const rounds: Round[] = [];
      for (let round = 0; round < pairs; round += 1) {
        progress(`${workload}: round ${round + 1} of ${pairs}`);
        const end = startReading([session.client.pid, session.upstream.pid, ...alone.pids, ...several.pids]);
        const costs = new Map<Served, readonly number[]>();
        for (const side of turned([alone, several], round)) costs.set(side, await costOf(session, side, cost));
        cost.foreignCores.push(end().foreignCores);
        rounds.push(roundOf(costs.get(alone) ?? [], costs.get(several) ?? []));
      }
      cost.launches.push(rounds);
    }
    for (const { gateway } of [alone, several]) {
      await session.client.close(gateway.url);
      await gateway.stop();
    }
  }
  progress('');
  return all;
}

async function startServed(session: Session, name: string, workers: number): Promise<Served> {
  const env = { GATEWAY_WORKERS: String(workers) };
  const options = { core: session.core, env };
  const gateway = { ...(await startGateway(session.upstream.url, join(session.folder, name), options)), name };
  if (workers === 1) return { gateway, pids: [gateway.pid] };
  const deadline = performance.now() + READY_MS;
  while (!gateway.lastWords().includes('"all workers serve"')) {
    if (performance.now() > deadline) throw new Error(`not all workers serve:\n${gateway.lastWords()}`);
    await pause(50);
  }
  return { gateway, pids: [gateway.pid, ...workersOf(gateway.pid).values()] };
}

async function warm(session: Session, { gateway, pids }: Served, workload: Workload): Promise<void> {
  progress(`${workload}: warming up ${gateway.name}`);
  const slice = sliceOf(shortSlice(workload), pids);
  const requests = WARM_REQUESTS * Math.max(1, pids.length - 1);
  await measureSlice(session.client, gateway, { ...slice, requests, seconds: MOST_WARM_SECONDS });
}

/** CPU microseconds per request of each process. */
async function costOf(session: Session, { gateway, pids }: Served, cost: WorkersCost): Promise<readonly number[]> {
  const before = pids.map(markCpu);
  const { load } = await measureSlice(session.client, gateway, sliceOf(steadySlice(cost.workload), pids));
  cost.failures += load.failures;
  return before.map((mark, index) => (cpuBetweenMs(mark, markCpu(pids[index] ?? 0)) * 1000) / load.requests);
}

function sliceOf<Part extends Omit<Slice, 'url'>>(slice: Part, pids: readonly number[]): Part {
  return { ...slice, connections: slice.connections * Math.max(1, pids.length - 1) };
}

function roundOf([alone = Number.NaN]: readonly number[], several: readonly number[]): Round {
  const [parent = Number.NaN] = several;
  return { alone, all: several.reduce((sum, us) => sum + us, 0), parent };
}

/** The table a person reads. */
export function renderWorkers(costs: readonly WorkersCost[]): string {
  const rows = costs.map(({ workload, workers, launches, foreignCores, failures }) => {
    const of = (read: (round: Round) => number): number => median(launches.flat().map(read));
    const pairs = launches.map((rounds) =>
      rounds.map(({ alone, all }): Pair => ({ before: all, after: alone * workers })),
    );
    const { ratio, low, high } = ratioOfLaunches(pairs);
    return [
      `${workload}, ${workers} workers`,
      of(({ alone }) => alone).toFixed(1),
      of(({ all }) => all).toFixed(1),
      of(({ parent }) => parent).toFixed(2),
      `${ratio.toFixed(2)} ×`,
      `${low.toFixed(2)} – ${high.toFixed(2)}`,
      workers === 2 ? `≥ ${LEAST_OF_TWO}` : '',
      workers === 2 ? (ratio >= LEAST_OF_TWO ? 'yes' : 'NO') : '',
      median(foreignCores).toFixed(2),
      String(failures),
    ];
  });
  const header = [
    '',
    'one, µs/req',
    'all workers, µs/req',
    'of that the parent',
    'serve',
    '95 % interval',
    'target',
    'met',
    'other cores',
    'failures',
  ];
  return `${renderTable([header, ...rows])}\n\nserve: requests per second with a core for each worker, × one proxy: workers × CPU per request of one / of all.`;
}
