// How alike launches are: many of the gateway under load, each beside a bare pass-through of the same moment.
import { join } from 'node:path';
import { type Collected, watchCollector } from './collector.ts';
import { measureSlice, steadySlice, turned, warmUp } from './contest.ts';
import { startReading } from './measure.ts';
import type { Options } from './options.ts';
import { type Running, startBare, startGateway } from './processes.ts';
import { keepTaking } from './records-cost.ts';
import { progress, type Session } from './session.ts';
import { median, quantile } from './statistics.ts';
import { renderTable } from './table.ts';
import type { Workload } from './workload.ts';

/** How much dearer the ninth of ten launches may be than the first, each × bare. */
const MOST_SPREAD = 1.15;

const RECORDED = ['on', 'off'] as const;
const VARIANTS = ['bare', ...RECORDED] as const;
type Variant = (typeof VARIANTS)[number];

/** One launch of one gateway under one workload. */
export interface Launch {
  readonly workload: Workload;
  readonly records: (typeof RECORDED)[number];
  readonly number: number;
  /** CPU microseconds per request. */
  readonly bareUs: number;
  readonly gatewayUs: number;
  readonly collected: Collected;
  readonly foreignCores: number;
  readonly failures: number;
}

type Extent = Pick<Options, 'workloads' | 'pairs' | 'launches'>;

/** Measures all launches, one after the other. */
export async function measureSpread(session: Session, { workloads, pairs, launches }: Extent): Promise<Launch[]> {
  const all: Launch[] = [];
  for (let number = 1; number <= launches; number += 1) {
    progress(`launch ${number} of ${launches}`);
    const running = await startAll(session, number);
    const endTaking = keepTaking(RECORDED.map((records) => folderOf(session, records, number)));
    for (const workload of workloads) {
      for (const variant of VARIANTS) {
        progress(`launch ${number}, ${workload}: warming up ${variant}`);
        await warmUp(session.client, running[variant], workload);
      }
      all.push(...(await measureLaunch(session, { running, workload, number }, pairs)));
    }
    endTaking();
    for (const server of Object.values(running)) {
      await session.client.close(server.url);
      await server.stop();
    }
  }
  progress('');
  return all;
}

type Servers = Readonly<Record<Variant, Running>>;

async function startAll(session: Session, number: number): Promise<Servers> {
  const { upstream, core } = session;
  const gateway = (recording: (typeof RECORDED)[number]): Promise<Running> =>
    startGateway(upstream.url, folderOf(session, recording, number), { core, recording });
  return { bare: await startBare(upstream.url, core), on: await gateway('on'), off: await gateway('off') };
}

function folderOf({ folder }: Session, records: string, number: number): string {
  return join(folder, `${records}-${number}`);
}

async function measureLaunch(
  session: Session,
  { running, workload, number }: { readonly running: Servers; readonly workload: Workload; readonly number: number },
  rounds: number,
): Promise<Launch[]> {
  const sums = { bare: nothing(), on: nothing(), off: nothing() };
  const ends = { on: await watchCollector(running.on), off: await watchCollector(running.off) };
  const watched = [...Object.values(running), session.upstream, session.client].map(({ pid }) => pid);
  const end = startReading(watched);
  for (let round = 0; round < rounds; round += 1) {
    progress(`launch ${number}, ${workload}: round ${round + 1} of ${rounds}`);
    for (const variant of turned(VARIANTS, round)) {
      const { cpuUs, load } = await measureSlice(session.client, running[variant], steadySlice(workload));
      const sum = sums[variant];
      sum.cpuUs += cpuUs * load.requests;
      sum.requests += load.requests;
      sum.failures += load.failures;
    }
  }
  const { foreignCores } = end();
  const perRequest = (variant: Variant): number => sums[variant].cpuUs / sums[variant].requests;
  return Promise.all(
    RECORDED.map(async (records) => ({
      workload,
      records,
      number,
      bareUs: perRequest('bare'),
      gatewayUs: perRequest(records),
      collected: await ends[records](sums[records].requests),
      foreignCores,
      failures: sums[records].failures,
    })),
  );
}

function nothing(): { cpuUs: number; requests: number; failures: number } {
  return { cpuUs: 0, requests: 0, failures: 0 };
}

/** The table a person reads: how far launches lie apart, and each that is slow, with what its collector did. */
export function renderSpread(all: readonly Launch[]): string {
  const groups = [...Map.groupBy(all, ({ workload, records }) => `${workload}, records ${records}`)];
  const spreads = groups.map(([name, launches]) => ({ name, launches, ...spreadOf(launches) }));
  const rows = spreads.map(({ name, launches, p10, p90 }) => [
    name,
    '',
    String(launches.length),
    median(launches.map(({ bareUs }) => bareUs)).toFixed(1),
    median(launches.map(({ gatewayUs }) => gatewayUs)).toFixed(1),
    p10.toFixed(2),
    median(launches.map(timesBare)).toFixed(2),
    p90.toFixed(2),
    (p90 / p10).toFixed(3),
    `≤ ${MOST_SPREAD}`,
    p90 / p10 <= MOST_SPREAD ? 'yes' : 'NO',
    String(launches.reduce((sum, { failures }) => sum + failures, 0)),
  ]);
  const header = ['', '', 'launches', 'bare µs/req', 'µs/req', '× bare p10', 'p50', 'p90', 'p90 / p10'];
  const spread = renderTable([[...header, 'target', 'met', 'failures'], ...rows]);
  const slow = spreads.flatMap(({ name, launches, p10 }) =>
    launches.map((launch) => ({ name, launch, isSlow: timesBare(launch) > p10 * MOST_SPREAD })),
  );
  return `${spread}\n\n${renderLaunches(slow)}`;
}

function renderLaunches(
  all: readonly { readonly name: string; readonly launch: Launch; readonly isSlow: boolean }[],
): string {
  const header = [
    'launch',
    '',
    'µs/req',
    '× bare',
    'collector µs/req',
    'requests/scavenge',
    'ms/scavenge',
    'full ones',
    'young MiB',
  ];
  const rows = all.map(({ name, launch, isSlow }) => [
    `${launch.number} ${name}`,
    isSlow ? 'SLOW' : '',
    launch.gatewayUs.toFixed(1),
    timesBare(launch).toFixed(2),
    launch.collected.usPerRequest.toFixed(1),
    launch.collected.requestsPerScavenge.toFixed(0),
    launch.collected.scavengeMs.toFixed(2),
    String(launch.collected.majors),
    launch.collected.youngMiB.toFixed(0),
    launch.foreignCores.toFixed(2),
  ]);
  return renderTable([[...header, 'other cores'], ...rows]);
}

function spreadOf(launches: readonly Launch[]): { p10: number; p90: number } {
  const ratios = launches.map(timesBare);
  return { p10: quantile(ratios, 0.1), p90: quantile(ratios, 0.9) };
}

function timesBare({ bareUs, gatewayUs }: Launch): number {
  return gatewayUs / bareUs;
}
