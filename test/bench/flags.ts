// Compares flags of Node, and versions of Node, by what the gateway costs with them: one markdown table.
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { measureSlice, turned, warmUp } from './contest.ts';
import { memoryMiB } from './measure.ts';
import { NODE_FLAGS, type Running, startGateway } from './processes.ts';
import { progress, type Session } from './session.ts';
import type { Slice } from './slice.ts';
import { timeStart } from './starts.ts';
import { median, type Ratio, ratioOf } from './statistics.ts';

/** What is compared: a Node binary with some flags. */
interface Contender {
  readonly node: string;
  readonly version: string;
  readonly flags: readonly string[];
  readonly running: Running;
  readonly jsonUs: number[];
  readonly sseUs: number[];
  readonly p99Ms: number[];
  loadedMiB: number;
  startMs: number;
  /** Without the compile cache. */
  coldStartMs: number;
}

/** The flags that are compared; the first line is what the others are compared with. */
const FLAG_SETS: readonly (readonly string[])[] = [
  NODE_FLAGS,
  NODE_FLAGS.filter((flag) => flag !== '--no-allocation-site-pretenuring'),
  [],
  ['--max-semi-space-size=4'],
  ['--max-semi-space-size=8'],
  ['--max-semi-space-size=16'],
  ['--max-semi-space-size=32'],
  ['--heap-growing-percent=50'],
  ['--v8-pool-size=0'],
  ['--v8-pool-size=1'],
  ['--max-semi-space-size=4', '--heap-growing-percent=50', '--v8-pool-size=0', '--no-allocation-site-pretenuring'],
  ['--max-semi-space-size=8', '--heap-growing-percent=50', '--v8-pool-size=0', '--no-allocation-site-pretenuring'],
  ['--max-semi-space-size=16', '--heap-growing-percent=50', '--v8-pool-size=0', '--no-allocation-site-pretenuring'],
  ['--max-semi-space-size=16', '--heap-growing-percent=100', '--v8-pool-size=0', '--no-allocation-site-pretenuring'],
];

const SLICES = {
  jsonUs: { workload: 'json', connections: 50, seconds: 0.17 },
  p99Ms: { workload: 'json', connections: 10, seconds: 0.17 },
  sseUs: { workload: 'sse', connections: 50, seconds: 0.17 },
} as const satisfies Record<string, Omit<Slice, 'url'>>;
const STARTS = 3;
// JSON at 10 connections comes after JSON at 50.
const WARM_AGAIN_SHARE = 0.1;

/** Measures every set of flags with every binary, all of them side by side, and returns the table. */
export async function compareFlags(
  session: Session,
  { nodes, rounds, sets = FLAG_SETS }: { nodes: readonly string[]; rounds: number; sets?: typeof FLAG_SETS },
): Promise<string> {
  const contenders = await startContenders(session, nodes, sets);
  for (const [name, slice] of Object.entries(SLICES)) {
    const key = name as keyof typeof SLICES;
    for (const { running } of contenders) {
      progress(`${slice.workload} c=${slice.connections}: warming up ${running.name}`);
      await warmUp(session.client, running, slice.workload, key === 'p99Ms' ? WARM_AGAIN_SHARE : 1);
    }
    for (let round = 0; round < rounds; round += 1) {
      progress(`${slice.workload} c=${slice.connections}, round ${round + 1}`);
      for (const contender of turned(contenders, round)) {
        const { cpuUs, load } = await measureSlice(session.client, contender.running, slice);
        if (load.failures > 0) throw new Error(`${load.failures} requests failed with ${contender.running.name}`);
        contender[key].push(key === 'p99Ms' ? load.p99Ms : cpuUs);
        contender.loadedMiB = Math.max(contender.loadedMiB, memoryMiB(contender.running.pid).now);
      }
    }
  }
  for (const { running } of contenders) {
    await session.client.close(running.url);
    await running.stop();
  }
  await timeStarts(session, contenders);
  progress('');
  return renderFlags(contenders);
}

/** The version a Node binary says it is. Throws when it is none. */
export function versionOf(node: string): string {
  return execFileSync(node, ['--version'], { encoding: 'utf8' }).trim().replace(/^v/, '');
}

async function startContenders(
  { upstream, core, folder }: Session,
  nodes: readonly string[],
  sets: typeof FLAG_SETS,
): Promise<Contender[]> {
  const contenders: Contender[] = [];
  for (const node of nodes) {
    const version = versionOf(node);
    for (const flags of sets) {
      const name = `Node ${version} ${flags.join(' ')}`.trim();
      progress(`starting ${name}`);
      const own = join(folder, `flags-${contenders.length}`);
      const running = { ...(await startGateway(upstream.url, own, { core, node, nodeFlags: flags })), name };
      const empty = { jsonUs: [], sseUs: [], p99Ms: [], loadedMiB: 0, startMs: 0, coldStartMs: 0 };
      contenders.push({ node, version, flags, running, ...empty });
    }
  }
  return contenders;
}

// A start with the cache comes first and is not counted: it fills the cache.
async function timeStarts({ upstream, folder }: Session, contenders: readonly Contender[]): Promise<void> {
  for (const contender of contenders) {
    progress(`starts of ${contender.running.name}`);
    const { node, flags } = contender;
    const start = async (env: Record<string, string>): Promise<number> => {
      const launch = (): Promise<Running> =>
        startGateway(upstream.url, join(folder, 'flags-start'), { node, nodeFlags: flags, env });
      return (await timeStart(launch)).firstAnswerMs;
    };
    await start({});
    const warm: number[] = [];
    const cold: number[] = [];
    for (let index = 0; index < STARTS; index += 1) {
      warm.push(await start({}));
      cold.push(await start({ NODE_DISABLE_COMPILE_CACHE: '1' }));
    }
    contender.startMs = median(warm);
    contender.coldStartMs = median(cold);
  }
}

function renderFlags(contenders: readonly Contender[]): string {
  const [first] = contenders;
  if (first === undefined) return '';
  const times = ({ ratio, low, high }: Ratio): string => `${ratio.toFixed(2)} (${low.toFixed(2)} – ${high.toFixed(2)})`;
  const to = (contender: Contender, read: (one: Contender) => number[]): string =>
    times(ratioOf(read(first).map((before, round) => ({ before, after: read(contender)[round] ?? Number.NaN }))));
  const rows = contenders.map((one) => [
    one.version,
    one.flags.join(' ') || 'none',
    median(one.jsonUs).toFixed(1),
    one === first ? '1' : to(one, ({ jsonUs }) => jsonUs),
    median(one.p99Ms).toFixed(2),
    median(one.sseUs).toFixed(1),
    one === first ? '1' : to(one, ({ sseUs }) => sseUs),
    one.loadedMiB.toFixed(0),
    one.startMs.toFixed(0),
    one.coldStartMs.toFixed(0),
  ]);
  const header = [
    'Node',
    'flags',
    'JSON c=50 µs/req',
    '× first line (95 %)',
    'p99 c=10 ms',
    'SSE µs/stream',
    '× first line (95 %)',
    'loaded MiB',
    'start ms',
    'without cache',
  ];
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  return [header, header.map((_, column) => (column < 2 ? '---' : '--:')), ...rows].map(line).join('\n');
}
