// How alike launches are: many of the gateway under load, each beside a bare pass-through of the same moment.
import { join } from 'node:path';
import { type Collected, watchCollector } from './collector.ts';
import { type Cost, measureSlice, steadySlice, turned, warmUp } from './contest.ts';
import { startReading } from './measure.ts';
import type { Options } from './options.ts';
import { type Running, startBare, startGateway } from './processes.ts';
import { keepTaking } from './records-cost.ts';
import { progress, type Session } from './session.ts';
import { median, quantile } from './statistics.ts';
import { renderTable } from './table.ts';
import type { Workload } from './workload.ts';

/** How much dearer the ninth of ten launches may be than the first. */
const MOST_SPREAD = 1.15;

const RECORDED = ['on', 'off'] as const;

/** One launch of one gateway under one workload. */
export interface Launch {
  readonly workload: Workload;
  readonly records: (typeof RECORDED)[number];
  readonly number: number;
  /** CPU microseconds per request. */
  readonly bareUs: number;
  readonly gatewayUs: number;
  /** The median over all rounds: of a bare pass-through, and of the median launch of the same kind, in the same round. */
  readonly timesBare: number;
  readonly timesUsual: number;
  readonly collected: Collected;
  readonly foreignCores: number;
  readonly failures: number;
}

type Extent = Pick<Options, 'workloads' | 'pairs' | 'launches'>;

/** Launches that run at once: what disturbs the machine disturbs all of them. */
const GROUP = 5;

/** Measures all launches, group by group. */
export async function measureSpread(session: Session, { workloads, pairs, launches }: Extent): Promise<Launch[]> {
  const all: Launch[] = [];
  for (let first = 1; first <= launches; first += GROUP) {
    const numbers = Array.from({ length: Math.min(GROUP, launches - first + 1) }, (_, index) => first + index);
    progress(`launches ${numbers.join(', ')} of ${launches}`);
    const bare = await startBare(session.upstream.url, session.core);
    const group: Started[] = [];
    for (const number of numbers) for (const records of RECORDED) group.push(await startOne(session, records, number));
    const endTaking = keepTaking(group.map(({ records, number }) => folderOf(session, records, number)));
    const servers = [bare, ...group.map(({ server }) => server)];
    for (const workload of workloads) {
      for (const server of servers) {
        progress(`launches ${numbers.join(', ')}, ${workload}: warming up ${server.name}`);
        await warmUp(session.client, server, workload);
      }
      all.push(...(await measureGroup(session, { bare, group, workload }, pairs)));
    }
    endTaking();
    for (const server of servers) {
      await session.client.close(server.url);
      await server.stop();
    }
  }
  progress('');
  return all;
}

interface Started {
  readonly records: Launch['records'];
  readonly number: number;
  readonly server: Running;
}

async function startOne(session: Session, records: Launch['records'], number: number): Promise<Started> {
  const { upstream, core } = session;
  const server = await startGateway(upstream.url, folderOf(session, records, number), { core, recording: records });
  return { records, number, server };
}

function folderOf({ folder }: Session, records: string, number: number): string {
  return join(folder, `${records}-${number}`);
}

interface Group {
  readonly bare: Running;
  readonly group: readonly Started[];
  readonly workload: Workload;
}

async function measureGroup(session: Session, { bare, group, workload }: Group, rounds: number): Promise<Launch[]> {
  const servers = [bare, ...group.map(({ server }) => server)];
  const costs = new Map(servers.map((server) => [server, [] as Cost[]]));
  const ends = await Promise.all(group.map(({ server }) => watchCollector(server)));
  const end = startReading([...servers, session.upstream, session.client].map(({ pid }) => pid));
  for (let round = 0; round < rounds; round += 1) {
    progress(`${workload}: round ${round + 1} of ${rounds}`);
    for (const server of turned(servers, round)) {
      costs.get(server)?.push(await measureSlice(session.client, server, steadySlice(workload)));
    }
  }
  const { foreignCores } = end();
  const costsOf = (server: Running): number[] => costs.get(server)?.map(({ cpuUs }) => cpuUs) ?? [];
  const bareUs = costsOf(bare);
  // The usual cost of a launch of the same kind in the same round.
  const usualUs = (records: Launch['records'], round: number): number =>
    median(group.filter((each) => each.records === records).map(({ server }) => costsOf(server)[round] ?? Number.NaN));
  return Promise.all(
    group.map(async ({ records, number, server }, index) => {
      const us = costsOf(server);
      const sum = (what: 'requests' | 'failures'): number =>
        costs.get(server)?.reduce((total, { load }) => total + load[what], 0) ?? 0;
      return {
        workload,
        records,
        number,
        bareUs: median(bareUs),
        gatewayUs: median(us),
        timesBare: median(us.map((each, round) => each / (bareUs[round] ?? Number.NaN))),
        timesUsual: median(us.map((each, round) => each / usualUs(records, round))),
        collected: await (ends[index] as (typeof ends)[number])(sum('requests')),
        foreignCores,
        failures: sum('failures'),
      };
    }),
  );
}

/**
 * The table a person reads: how far launches lie apart, and each that is slow, with what its collector did. A gateway uses more memory than a bare
 * pass-through, and suffers more where other programs keep the memory of the machine busy: then the launches of one moment say more.
 */
export function renderSpread(all: readonly Launch[]): string {
  const groups = [...Map.groupBy(all, ({ workload, records }) => `${workload}, records ${records}`)];
  const rows = groups.map(([name, launches]) => {
    const bare = spreadOf(launches.map(({ timesBare }) => timesBare));
    const usual = spreadOf(launches.map(({ timesUsual }) => timesUsual));
    return [
      name,
      '',
      String(launches.length),
      median(launches.map(({ bareUs }) => bareUs)).toFixed(1),
      median(launches.map(({ gatewayUs }) => gatewayUs)).toFixed(1),
      ...[bare.p10, bare.p50, bare.p90].map((value) => value.toFixed(2)),
      (bare.p90 / bare.p10).toFixed(3),
      (usual.p90 / usual.p10).toFixed(3),
      `≤ ${MOST_SPREAD}`,
      usual.p90 / usual.p10 <= MOST_SPREAD ? 'yes' : 'NO',
      String(launches.reduce((sum, { failures }) => sum + failures, 0)),
    ];
  });
  const header = [
    '',
    '',
    'launches',
    'bare µs/req',
    'µs/req',
    '× bare p10',
    'p50',
    'p90',
    'p90 / p10',
    'of one moment',
  ];
  return `${renderTable([[...header, 'target', 'met', 'failures'], ...rows])}\n\n${renderLaunches(groups.flatMap(([, launches]) => launches))}`;
}

function renderLaunches(all: readonly Launch[]): string {
  const header = [
    'launch',
    '',
    'µs/req',
    '× bare',
    '× launches of its moment',
    'collector µs/req',
    'requests/scavenge',
    'ms/scavenge',
    'full ones',
    'young MiB',
  ];
  const rows = all.map(({ number, workload, records, collected, ...launch }) => [
    `${number} ${workload}, records ${records}`,
    launch.timesUsual > MOST_SPREAD ? 'SLOW' : '',
    launch.gatewayUs.toFixed(1),
    launch.timesBare.toFixed(2),
    launch.timesUsual.toFixed(2),
    collected.usPerRequest.toFixed(1),
    collected.requestsPerScavenge.toFixed(0),
    collected.scavengeMs.toFixed(2),
    String(collected.majors),
    collected.youngMiB.toFixed(0),
    launch.foreignCores.toFixed(2),
  ]);
  return renderTable([[...header, 'other cores'], ...rows]);
}

function spreadOf(values: readonly number[]): { p10: number; p50: number; p90: number } {
  return { p10: quantile(values, 0.1), p50: quantile(values, 0.5), p90: quantile(values, 0.9) };
}
