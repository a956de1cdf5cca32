// Compares this gateway with that of another commit: both run side by side on one core and are loaded in turns.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { measureSlice, shortSlice, turned } from './contest.ts';
import type { LoadClient } from './load.ts';
import { productionFlags, ROOT, type Running, startGateway } from './processes.ts';
import { median, type Pair, ratioOf, wordFor } from './statistics.ts';
import { renderTable } from './table.ts';
import type { Tree } from './tree.ts';
import type { Workload } from './workload.ts';

/** What a comparison needs besides the two trees. */
export interface Comparison {
  readonly client: LoadClient;
  readonly upstream: Running;
  readonly core: number | undefined;
  readonly workloads: readonly Workload[];
  /** Pairs of slices per workload and launch. */
  readonly pairs: number;
  /** How often both gateways are started anew: what a process keeps for life (addresses, compiled code) differs by launch. */
  readonly launches: number;
  readonly progress: (text: string) => void;
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

/** Measures all workloads. The processes it starts are gone when it settles. */
export async function compareWith(tree: Tree, comparison: Comparison): Promise<Compared[]> {
  const all = comparison.workloads.map((workload): Compared => ({ workload, pairs: [], disturbed: 0, failures: 0 }));
  for (let launch = 0; launch < comparison.launches; launch += 1) {
    const folder = mkdtempSync(join(tmpdir(), 'gateway-compare-'));
    const running: Running[] = [];
    try {
      // Who is started first changes with each launch, too.
      for (const side of turned(['before', 'after'] as const, launch)) {
        const options = side === 'before' ? { core: comparison.core, tree: tree.path } : { core: comparison.core };
        const gateway = await startGateway(comparison.upstream.url, join(folder, side), options);
        running.push({ ...gateway, name: side });
      }
      for (const compared of all) await measurePairs(compared, running, { ...comparison, launch });
    } finally {
      for (const gateway of running) await comparison.client.close(gateway.url).catch(() => {});
      for (const gateway of running) await gateway.stop();
      rmSync(folder, { recursive: true, force: true });
    }
  }
  return all;
}

/** The table a person reads. */
export function renderComparison(tree: Tree, all: readonly Compared[]): string {
  const rows = all.map(({ workload, pairs, disturbed }) => {
    const { ratio, low, high } = ratioOf(pairs);
    return [
      workload,
      wordFor({ ratio, low, high }),
      median(pairs.map(({ before }) => before)).toFixed(1),
      median(pairs.map(({ after }) => after)).toFixed(1),
      ratio.toFixed(3),
      `${low.toFixed(3)} – ${high.toFixed(3)}`,
      String(pairs.length),
      String(disturbed),
    ];
  });
  const header = ['workload', '', `${tree.name} µs/req`, 'now µs/req', 'ratio', '95 % interval', 'pairs', 'disturbed'];
  const lines = [renderTable([header, ...rows])];
  const [then, now] = [productionFlags(tree.path), productionFlags(ROOT)].map((flags) => flags.join(' '));
  if (then !== now) lines.push(`  Node flags differ: then ${then}, now ${now}`);
  const failures = all.filter((one) => one.failures > 0).map((one) => `${one.failures} of ${one.workload}`);
  if (failures.length > 0) lines.push(`  WARNING: requests failed: ${failures.join(', ')}`);
  return lines.join('\n');
}

async function measurePairs(
  compared: Compared,
  running: readonly Running[],
  { client, upstream, pairs, progress, launch }: Comparison & { launch: number },
): Promise<void> {
  const { workload } = compared;
  for (const gateway of running) {
    progress(`${workload}: warming up ${gateway.name}`);
    await measureSlice(client, gateway, shortSlice(workload, WARM_MS));
  }
  const measured: (Pair & { foreignCores: number })[] = [];
  const isQuiet = (pair: { foreignCores: number }): boolean => pair.foreignCores <= FOREIGN_CORES;
  // Pairs that others disturbed are measured again, at most as many as were wanted.
  while (measured.filter(isQuiet).length < pairs && measured.length < pairs * 2) {
    progress(`${workload}: launch ${launch + 1}, pair ${measured.length + 1}`);
    const cost: Record<string, number> = {};
    let foreignCores = 0;
    for (const gateway of turned(running, measured.length)) {
      const slice = await measureSlice(client, gateway, shortSlice(workload), [upstream]);
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
