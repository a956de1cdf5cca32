// Compares the gateways of two trees: both run side by side on one core and are loaded in turns.
import { join } from 'node:path';
import { measureSlice, shortSlice, turned, warmUp } from './contest.ts';
import { startReading } from './measure.ts';
import { productionFlags, type Running, startGateway } from './processes.ts';
import { progress, type Session } from './session.ts';
import { median, type Pair, ratioOfLaunches, wordFor } from './statistics.ts';
import { renderTable } from './table.ts';
import type { Tree } from './tree.ts';
import type { Workload } from './workload.ts';

/** The trees compared; the ratio is that of `after` to `before`. */
export type Trees = Readonly<Record<'before' | 'after', Tree>>;

/** What is measured, and how often. */
export interface Extent {
  readonly workloads: readonly Workload[];
  /** Pairs per workload and launch; a pair is four short slices of each gateway. */
  readonly pairs: number;
  /** How often both gateways are started anew: what a process keeps for life (addresses, compiled code) differs by launch. */
  readonly launches: number;
  /** How much of the usual warm-up is enough. */
  readonly warmShare?: number;
}

/** All pairs of one workload, in CPU microseconds per request; how many of them others disturbed; failed requests. */
export interface Compared {
  readonly workload: Workload;
  /** By launch. */
  readonly launches: Pair[][];
  disturbed: number;
  failures: number;
}

// Who comes when in a pair: nobody comes first more often, nor before the other. A pair is long enough to hold the rare
// dear moments of each (a whole garbage collection), and its slices short enough that others disturb both alike.
const TURNS = [0, 1, 1, 0, 1, 0, 0, 1];
const PACED_TURNS = [0, 1];
const FOREIGN_CORES = 0.25;
// In turns, so that neither has idled for long when it is measured.
const WARM_TURNS = 4;

/** Measures all workloads with the gateways of both trees. */
export function compareTrees(session: Session, trees: Trees, extent: Extent): Promise<Compared[]> {
  const startTree: StartSide = (side, launch) => {
    const { path, name } = trees[side];
    progress(`starting ${name}`);
    const folder = join(session.folder, `${side}-${launch}`);
    return startGateway(session.upstream.url, folder, { core: session.core, tree: path });
  };
  return compareSides(session, startTree, extent);
}

/** Starts one of two gateways. */
export type StartSide = (side: keyof Trees, launch: number) => Promise<Running>;

/** Measures all workloads with two gateways. */
export async function compareSides(session: Session, startSide: StartSide, extent: Extent): Promise<Compared[]> {
  const all = extent.workloads.map((workload): Compared => ({ workload, launches: [], disturbed: 0, failures: 0 }));
  for (let launch = 0; launch < extent.launches; launch += 1) {
    const running: Running[] = [];
    // Who is started first changes with each launch, too.
    for (const side of turned(['before', 'after'] as const, launch)) {
      running.push({ ...(await startSide(side, launch)), name: side });
    }
    for (const compared of all) await measurePairs(session, { compared, running }, extent);
    for (const gateway of running) {
      await session.client.close(gateway.url);
      await gateway.stop();
    }
  }
  progress('');
  return all;
}

/** The table a person reads. */
export function renderComparison({ before, after }: Trees, all: readonly Compared[]): string {
  const rows = all.map(({ workload, launches, disturbed }) => {
    const { ratio, low, high } = ratioOfLaunches(launches);
    const pairs = launches.flat();
    return [
      workload,
      wordFor({ ratio, low, high }),
      median(pairs.map((pair) => pair.before)).toFixed(1),
      median(pairs.map((pair) => pair.after)).toFixed(1),
      ratio.toFixed(3),
      `${low.toFixed(3)} – ${high.toFixed(3)}`,
      String(pairs.length),
      String(disturbed),
    ];
  });
  const header = ['workload', '', `${before.name} µs/req`, `${after.name} µs/req`, 'ratio', '95 % interval'];
  const lines = [renderTable([[...header, 'pairs', 'disturbed'], ...rows])];
  lines.push(
    '  disturbed = pairs under which others used more than a quarter of a core; ratio below 1 = cheaper than before.',
  );
  const [then, now] = [before, after].map(({ path }) => productionFlags(path).join(' '));
  if (then !== now) lines.push(`  Node flags differ, each has its own: ${then} before, ${now} after`);
  const failures = all.filter((one) => one.failures > 0).map((one) => `${one.failures} of ${one.workload}`);
  if (failures.length > 0) lines.push(`  WARNING: requests failed: ${failures.join(', ')}`);
  return lines.join('\n');
}

async function measurePairs(
  session: Session,
  { compared, running }: { compared: Compared; running: readonly Running[] },
  { pairs, warmShare = 1 }: Extent,
): Promise<void> {
  const { workload } = compared;
  for (let turn = 0; turn < WARM_TURNS; turn += 1) {
    for (const gateway of running) {
      progress(`${workload}: warming up ${gateway.name}`);
      await warmUp(session.client, gateway, workload, warmShare / WARM_TURNS);
    }
  }
  const measured: (Pair & { foreignCores: number })[] = [];
  const isQuiet = (pair: { foreignCores: number }): boolean => pair.foreignCores <= FOREIGN_CORES;
  // Pairs that others disturbed are measured again, at most as many as were wanted.
  while (measured.filter(isQuiet).length < pairs && measured.length < pairs * 2) {
    progress(`${workload}: pair ${measured.length + 1} of ${pairs}`);
    const end = startReading([...running, session.upstream, session.client].map(({ pid }) => pid));
    const pair = await measurePair(session, compared, turned(running, measured.length));
    measured.push({ ...pair, foreignCores: end().foreignCores });
  }
  const quietest = measured.toSorted((a, b) => a.foreignCores - b.foreignCores).slice(0, pairs);
  compared.launches.push(quietest);
  compared.disturbed += quietest.filter((pair) => !isQuiet(pair)).length;
}

async function measurePair({ client }: Session, compared: Compared, running: readonly Running[]): Promise<Pair> {
  const { workload } = compared;
  const sums = new Map(running.map(({ name }) => [name, { cpuUs: 0, requests: 0 }]));
  for (const turn of workload === 'paced' ? PACED_TURNS : TURNS) {
    const gateway = running[turn];
    const sum = sums.get(gateway?.name ?? '');
    if (gateway === undefined || sum === undefined) continue;
    const { cpuUs, load } = await measureSlice(client, gateway, shortSlice(workload));
    sum.cpuUs += cpuUs * load.requests;
    sum.requests += load.requests;
    compared.failures += load.failures;
  }
  const perRequest = (name: string): number => {
    const { cpuUs = Number.NaN, requests = 0 } = sums.get(name) ?? {};
    return cpuUs / requests;
  };
  return { before: perRequest('before'), after: perRequest('after') };
}
