// What records cost: three gateways of this tree side by side, without records, with them, and with bodies, loaded in turns.
import { unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { journalDirectories, segmentPath, segmentsIn } from '../../store/records/file/segment-names.ts';
import { measureSlice, shortSlice, steadySlice, turned } from './contest.ts';
import { cpuBetweenMs, markCpu } from './cpu-time.ts';
import { RECORDINGS, type Recording } from './gateway-yaml.ts';
import { startReading } from './measure.ts';
import type { Options } from './options.ts';
import { type Running, startGateway } from './processes.ts';
import { progress, type Session } from './session.ts';
import { median, ratioOfLaunches } from './statistics.ts';
import { renderTable } from './table.ts';
import { isJson, type Workload } from './workload.ts';

/** How many times the cost without records that may take. */
const MOST = { on: 1.25, bodies: 1.25 } as const;
/** Requests until each gateway is warm: the cost of records falls longer than that of the rest. */
const WARM_REQUESTS = { json: 60_000, others: 15_000 };
const MOST_WARM_SECONDS = 30;
/** Slices of each gateway in one round: few, so that others disturb all of them alike. */
const TURNS = 2;
/** Records are written out so long after their request at the latest: what that costs belongs to the round. Milliseconds. */
const FLUSH_MS = 250;
const FOREIGN_CORES = 0.25;
/** A control plane takes what was written within a fraction of a second. Milliseconds. */
const TAKE_MS = 100;

/** CPU microseconds per request in one round, all threads of each gateway. */
type Round = Readonly<Record<Recording, number>>;

export interface RecordsCost {
  readonly workload: Workload;
  /** By launch. */
  readonly launches: Round[][];
  disturbed: number;
  failures: number;
}

type Extent = Pick<Options, 'workloads' | 'pairs' | 'launches'>;

/** Measures all workloads. */
export async function measureRecordsCost(session: Session, extent: Extent): Promise<RecordsCost[]> {
  const all = extent.workloads.map((workload): RecordsCost => ({ workload, launches: [], disturbed: 0, failures: 0 }));
  for (let launch = 0; launch < extent.launches; launch += 1) {
    const running: Running[] = [];
    const folders = RECORDINGS.map((recording) => join(session.folder, `${recording}-${launch}`));
    const endTaking = keepTaking(folders);
    for (const recording of turned(RECORDINGS, launch)) {
      progress(`starting with records ${recording}`);
      const folder = join(session.folder, `${recording}-${launch}`);
      const gateway = await startGateway(session.upstream.url, folder, { core: session.core, recording });
      running.push({ ...gateway, name: recording });
    }
    for (const cost of all) {
      await warm(session, running, cost.workload);
      await measureLaunch(session, { cost, running }, extent.pairs);
    }
    for (const gateway of running) {
      await session.client.close(gateway.url);
      await gateway.stop();
    }
    endTaking();
  }
  progress('');
  return all;
}

/**
 * Keeps removing the segments of journals that are full, as the control plane does, until the returned function is called. If they stayed, each
 * record would go into memory that the system has not used before; on a virtual machine that costs ten times as much as what is used again.
 */
export function keepTaking(folders: readonly string[]): () => void {
  const taking = setInterval(() => void Promise.all(folders.map(takeSegments)), TAKE_MS);
  return () => clearInterval(taking);
}

async function takeSegments(folder: string): Promise<void> {
  for (const directory of await journalDirectories(join(folder, 'data')))
    for (const segment of (await segmentsIn(directory)).slice(0, -1))
      await unlink(segmentPath(segment)).catch(() => undefined);
}

/** The table a person reads. */
export function renderRecordsCost(all: readonly RecordsCost[]): string {
  const rows = all.flatMap(({ workload, launches, disturbed, failures }) =>
    (['on', 'bodies'] as const).map((recording) => {
      const pairs = launches.map((rounds) => rounds.map((one) => ({ before: one.off, after: one[recording] })));
      const { ratio, low, high } = ratioOfLaunches(pairs);
      const off = median(pairs.flat().map(({ before }) => before));
      const more = median(pairs.flat().map(({ before, after }) => after - before));
      return [
        workload,
        recording,
        off.toFixed(1),
        more.toFixed(1),
        ratio.toFixed(3),
        `${low.toFixed(3)} – ${high.toFixed(3)}`,
        `≤ ${MOST[recording]}`,
        ratio <= MOST[recording] ? 'yes' : 'NO',
        String(launches.flat().length),
        String(disturbed),
        String(failures),
      ];
    }),
  );
  const header = ['workload', 'records', 'off µs/req', 'more µs/req', '× off', '95 % interval', 'target', 'met'];
  return renderTable([[...header, 'rounds', 'disturbed', 'failures'], ...rows]);
}

async function warm({ client }: Session, running: readonly Running[], workload: Workload): Promise<void> {
  const requests = isJson(workload) ? WARM_REQUESTS.json : WARM_REQUESTS.others;
  for (const gateway of running) {
    progress(`${workload}: warming up ${gateway.name}`);
    await measureSlice(client, gateway, { ...shortSlice(workload), requests, seconds: MOST_WARM_SECONDS });
  }
}

/** Rounds that others disturbed are measured again, at most as many as were wanted. */
async function measureLaunch(
  session: Session,
  { cost, running }: { cost: RecordsCost; running: readonly Running[] },
  rounds: number,
): Promise<void> {
  const measured: { readonly round: Round; readonly foreignCores: number }[] = [];
  while (measured.filter(isQuiet).length < rounds && measured.length < rounds * 2) {
    progress(`${cost.workload}: round ${measured.length + 1} of ${rounds}`);
    const end = startReading([...running, session.upstream, session.client].map(({ pid }) => pid));
    const round = await measureRound(session, cost, turned(running, measured.length));
    measured.push({ round, foreignCores: end().foreignCores });
  }
  const quietest = measured.toSorted((a, b) => a.foreignCores - b.foreignCores).slice(0, rounds);
  cost.launches.push(quietest.map(({ round }) => round));
  cost.disturbed += quietest.filter((one) => !isQuiet(one)).length;
}

function isQuiet({ foreignCores }: { readonly foreignCores: number }): boolean {
  return foreignCores <= FOREIGN_CORES;
}

/** The CPU of a round is all that its gateways used from its first slice until the last record was written. */
async function measureRound({ client }: Session, cost: RecordsCost, running: readonly Running[]): Promise<Round> {
  const marks = running.map(({ pid }) => markCpu(pid));
  const requests = running.map(() => 0);
  for (let turn = 0; turn < TURNS; turn += 1) {
    // Forwards and backwards in turns: who comes first differs.
    const order = turn % 2 === 0 ? running : running.toReversed();
    for (const gateway of order) {
      const { load } = await measureSlice(client, gateway, steadySlice(cost.workload));
      requests[running.indexOf(gateway)] = (requests[running.indexOf(gateway)] ?? 0) + load.requests;
      cost.failures += load.failures;
    }
  }
  await pause(FLUSH_MS);
  const used = new Map(
    running.map(({ name, pid }, index) => {
      const mark = marks[index];
      const ms = mark === undefined ? Number.NaN : cpuBetweenMs(mark, markCpu(pid));
      return [name, (ms * 1000) / (requests[index] ?? 0)];
    }),
  );
  const usedBy = (recording: Recording): number => used.get(recording) ?? Number.NaN;
  return { off: usedBy('off'), on: usedBy('on'), bodies: usedBy('bodies') };
}
