// Compares the gateways of two trees: both run side by side on one core and are loaded in turns.
import { join } from 'node:path';
import { measureSlice, shortSlice, turned } from './contest.ts';
import { productionFlags, type Running, startGateway } from './processes.ts';
import { progress, type Session } from './session.ts';
import { median, type Pair, ratioOf, wordFor } from './statistics.ts';
import { renderTable } from './table.ts';
import type { Tree } from './tree.ts';
import type { Workload } from './workload.ts';

/** The trees compared; the ratio is that of `after` to `before`. */
export type Trees = Readonly<Record<'before' | 'after', Tree>>;

/** What is measured, and how often. */
export interface Extent {
  readonly workloads: readonly Workload[];
  /** Pairs of slices per workload and launch. */
  readonly pairs: number;
  /** How often both gateways are started anew: what a process keeps for life (addresses, compiled code) differs by launch. */
  readonly launches: number;
  /** How long each gateway is warmed up for each workload. */
  readonly warmMs?: number;
}

/** All pairs of one workload, in CPU microseconds per request; how many of them others disturbed; failed requests. */
export interface Compared {
  readonly workload: Workload;
  readonly pairs: Pair[];
  disturbed: number;
  failures: number;
}

const WARM_MS = 1500;
const FOREIGN_CORES = 0.25;

/** Measures all workloads. */
export async function compareTrees(session: Session, trees: Trees, extent: Extent): Promise<Compared[]> {
  const all = extent.workloads.map((workload): Compared => ({ workload, pairs: [], disturbed: 0, failures: 0 }));
  for (let launch = 0; launch < extent.launches; launch += 1) {
    const running: Running[] = [];
    // Who is started first changes with each launch, too.
    for (const side of turned(['before', 'after'] as const, launch)) {
      const { path, name } = trees[side];
      progress(`starting ${name}`);
      const folder = join(session.folder, `${side}-${launch}`);
      const gateway = await startGateway(session.upstream.url, folder, { core: session.core, tree: path });
      running.push({ ...gateway, name: side });
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
  const rows = all.map(({ workload, pairs, disturbed }) => {
    const { ratio, low, high } = ratioOf(pairs);
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
  { client }: Session,
  { compared, running }: { compared: Compared; running: readonly Running[] },
  { pairs, warmMs = WARM_MS }: Extent,
): Promise<void> {
  const { workload } = compared;
  for (const gateway of running) {
    progress(`${workload}: warming up ${gateway.name}`);
    await measureSlice(client, gateway, shortSlice(workload, warmMs));
  }
  const measured: (Pair & { foreignCores: number })[] = [];
  const isQuiet = (pair: { foreignCores: number }): boolean => pair.foreignCores <= FOREIGN_CORES;
  // Pairs that others disturbed are measured again, at most as many as were wanted.
  while (measured.filter(isQuiet).length < pairs && measured.length < pairs * 2) {
    progress(`${workload}: pair ${measured.length + 1} of ${pairs}`);
    const cost: Record<string, number> = {};
    let foreignCores = 0;
    for (const gateway of turned(running, measured.length)) {
      const slice = await measureSlice(client, gateway, shortSlice(workload));
      cost[gateway.name] = slice.cpuUs;
      foreignCores = Math.max(foreignCores, slice.foreignCores);
      compared.failures += slice.load.failures;
    }
    measured.push({ before: cost['before'] ?? Number.NaN, after: cost['after'] ?? Number.NaN, foreignCores });
  }
  const quietest = measured.toSorted((a, b) => a.foreignCores - b.foreignCores).slice(0, pairs);
  compared.pairs.push(...quietest);
  compared.disturbed += quietest.filter((pair) => !isQuiet(pair)).length;
}
