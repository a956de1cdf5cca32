// What many managed keys cost, each with its user path and its rule, × few of them: both planes of both sides are up at the same time.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { openFileReader } from '../../store/records/file/reader.ts';
import { waitFor } from '../support/wait-for.ts';
import { type BothPlanes, startBothPlanes } from './both-planes.ts';
import { measureSlice, shortSlice, turned } from './contest.ts';
import { cpuBetweenMs, markCpu } from './cpu-time.ts';
import { fillState, manualRule } from './filled-state.ts';
import { startReading } from './measure.ts';
import type { Options } from './options.ts';
import { progress, type Session } from './session.ts';
import { median, type Pair, ratioOfLaunches } from './statistics.ts';
import { renderTable } from './table.ts';
import { keySecret, type Workload } from './workload.ts';

/** Keys of each side, each with a rule on its user path. */
const KEYS = { few: 10, many: 10_000 } as const;
type Side = keyof typeof KEYS;
/** What is kept of each request: a usage record, or also an audit entry. */
const RECORDS = ['usage', 'audit'] as const;

/** Of many keys, × few of them; and CPU microseconds that a record may take in the control plane, without an audit entry. */
const MOST = { ratio: 1.2, perRecordUs: 25 };
const SLICE_SECONDS = 1;
/** Each key of many is used twice. */
const WARM_REQUESTS = 2 * KEYS.many;
const MOST_WARM_SECONDS = 30;
const DRAIN_MS = 60_000;
/** Between two looks at the journal: a look costs no plane anything. Milliseconds. */
const LOOK_MS = 50;

/** CPU microseconds per request in one round. */
type Round = Readonly<Record<Side, { readonly proxy: number; readonly controlPlane: number }>>;

export interface ManyKeys {
  readonly records: (typeof RECORDS)[number];
  readonly workload: Workload;
  /** By launch. */
  readonly launches: Round[][];
  /** Cores that others kept busy, by round. */
  readonly foreignCores: number[];
  failures: number;
}

/** Both planes of one side, and their journal. */
interface Served extends BothPlanes {
  readonly side: Side;
  readonly data: string;
}

/** Measures each workload with each kind of records. */
export async function measureManyKeys(
  session: Session,
  { workloads, pairs, launches }: Pick<Options, 'workloads' | 'pairs' | 'launches'>,
): Promise<ManyKeys[]> {
  const all = workloads.flatMap((workload) =>
    RECORDS.map((records): ManyKeys => ({ records, workload, launches: [], foreignCores: [], failures: 0 })),
  );
  for (let launch = 0; launch < launches; launch += 1)
    for (const records of turned(RECORDS, launch)) {
      const folder = join(session.folder, `${records}-${launch}`);
      const running = [await open(session, join(folder, 'few'), 'few', records)];
      running.push(await open(session, join(folder, 'many'), 'many', records));
      for (const cost of all.filter((one) => one.records === records))
        await measureLaunch(session, cost, running, pairs);
      for (const { controlPlane, proxy } of running) {
        await session.client.close(proxy.url);
        await proxy.stop();
        await controlPlane.stop();
      }
    }
  progress('');
  return all;
}

async function open(
  { upstream, core }: Session,
  folder: string,
  side: Side,
  records: ManyKeys['records'],
): Promise<Served> {
  progress(`${KEYS[side]} keys: starting`);
  const data = join(folder, 'data');
  for (const path of [data, join(folder, 'config')]) mkdirSync(path, { recursive: true });
  const keys = Array.from({ length: KEYS[side] }, (_, index) => [keySecret(index), pathOf(index)] as const);
  const rules = keys.map(([, path]) => manualRule(path, { maxRequests: 1e9, mode: 'enforce', reason: 'bench' }));
  await fillState(data, { rules, keys: new Map(keys) });
  const recording = records === 'usage' ? 'off' : 'on';
  return { side, data, ...(await startBothPlanes(upstream.url, folder, { core, recording })) };
}

function pathOf(index: number): string {
  return `/team-${String(index % 100).padStart(2, '0')}/app-${String(index).padStart(5, '0')}`;
}

async function measureLaunch(
  session: Session,
  cost: ManyKeys,
  running: readonly Served[],
  rounds: number,
): Promise<void> {
  const { client, upstream } = session;
  for (const { side, proxy, data } of running) {
    progress(`${cost.workload}, ${cost.records}: warming up ${side}`);
    const slice = { ...shortSlice(cost.workload), keys: KEYS[side], requests: WARM_REQUESTS };
    await measureSlice(client, proxy, { ...slice, seconds: MOST_WARM_SECONDS });
    await drained(data);
  }
  const pids = running.flatMap(({ controlPlane, proxy }) => [controlPlane.pid, proxy.pid]);
  const measured: Round[] = [];
  for (let round = 0; round < rounds; round += 1) {
    progress(`${cost.workload}, ${cost.records}: round ${round + 1} of ${rounds}`);
    const end = startReading([upstream.pid, client.pid, ...pids]);
    const costs = new Map<Side, Round[Side]>();
    for (const served of turned(running, round)) costs.set(served.side, await costOf(session, served, cost));
    cost.foreignCores.push(end().foreignCores);
    measured.push(Object.fromEntries(costs) as Round);
  }
  cost.launches.push(measured);
}

/** What both planes used from the first request until the last record was kept. */
async function costOf(
  { client }: Session,
  { side, proxy, controlPlane, data }: Served,
  cost: ManyKeys,
): Promise<Round[Side]> {
  const marks = [proxy, controlPlane].map(({ pid }) => markCpu(pid));
  const slice = { ...shortSlice(cost.workload), seconds: SLICE_SECONDS, keys: KEYS[side] };
  const { load } = await measureSlice(client, proxy, slice);
  await drained(data);
  cost.failures += load.failures;
  const [ofProxy = Number.NaN, ofPlane = Number.NaN] = [proxy, controlPlane].map(({ pid }, index) => {
    const mark = marks[index];
    return mark === undefined ? Number.NaN : (cpuBetweenMs(mark, markCpu(pid)) * 1000) / load.requests;
  });
  return { proxy: ofProxy, controlPlane: ofPlane };
}

/** Records are in the journal after some milliseconds, and then in the store. */
async function drained(data: string): Promise<void> {
  const isEmpty = async (): Promise<boolean> => {
    await pause(LOOK_MS);
    // A reader remembers what it has seen: each look needs a new one.
    return (await openFileReader(data).backlog()) === 0;
  };
  await pause(LOOK_MS);
  await waitFor('the records to be kept', isEmpty, DRAIN_MS);
}

/** The table a person reads. */
export function renderManyKeys(all: readonly ManyKeys[]): string {
  const rows = all.flatMap(({ records, workload, launches, foreignCores, failures }) =>
    (['proxy', 'controlPlane'] as const).map((plane) => {
      const pairs = launches.map((rounds) =>
        rounds.map(({ few, many }): Pair => ({ before: few[plane], after: many[plane] })),
      );
      const { ratio, low, high } = ratioOfLaunches(pairs);
      const few = median(pairs.flat().map(({ before }) => before));
      const many = median(pairs.flat().map(({ after }) => after));
      const isProxy = plane === 'proxy';
      const isBounded = isProxy || records === 'usage';
      return [
        `${workload}, ${records}`,
        isProxy ? 'proxy' : 'control plane',
        few.toFixed(1),
        many.toFixed(1),
        ratio.toFixed(3),
        `${low.toFixed(3)} – ${high.toFixed(3)}`,
        isProxy ? `ratio ≤ ${MOST.ratio}` : isBounded ? `≤ ${MOST.perRecordUs} µs` : '',
        isBounded ? ((isProxy ? ratio <= MOST.ratio : many <= MOST.perRecordUs) ? 'yes' : 'NO') : '',
        median(foreignCores).toFixed(2),
        String(failures),
      ];
    }),
  );
  const header = ['records', '', `${KEYS.few} keys µs/req`, `${KEYS.many} keys µs/req`, 'ratio', '95 % interval'];
  return renderTable([[...header, 'target', 'met', 'other cores', 'failures'], ...rows]);
}
