// What the response cache costs and saves: a gateway with it beside one without, asked what nobody has asked, and what was asked before.
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { measureSlice, shortSlice, steadySlice, turned } from './contest.ts';
import { cpuBetweenMs, markCpu } from './cpu-time.ts';
import { startReading } from './measure.ts';
import type { Options } from './options.ts';
import { type Running, startGateway } from './processes.ts';
import { progress, type Session } from './session.ts';
import { median, type Pair, ratioOfLaunches } from './statistics.ts';
import { renderTable } from './table.ts';
import type { Workload } from './workload.ts';

/** What is measured side by side: requests without cache, the same with one that does not have the answer, and what it has. */
interface Contest {
  readonly says: string;
  readonly fresh: Workload;
  readonly kept: Workload;
  /** Requests until both gateways are warm. */
  readonly warmRequests: number;
}

/** What a miss may cost, × a gateway without cache, and a hit, × a miss. */
const MOST = { miss: 1.08, hit: 1 / 3 };
/**
 * Of a short JSON answer a third of the cost is the connection of its client, which a hit has, too: a server of node:http that answers the
 * same bytes and does nothing else takes as much. A stream of 34 events at once is the worst case of a miss: its events cost little to relay;
 * of usual streams, each comes by itself.
 */
const CONTESTS = new Map<Workload, Contest>([
  ['json', { says: 'JSON', fresh: 'fresh', kept: 'json', warmRequests: 60_000 }],
  ['sse', { says: 'stream at once', fresh: 'fresh-sse', kept: 'kept-sse', warmRequests: 5_000 }],
  ['paced', { says: 'paced stream', fresh: 'fresh-paced', kept: 'kept-paced', warmRequests: 200 }],
]);
/** The workloads that have such a contest. */
export const CACHED: readonly Workload[] = [...CONTESTS.keys()];
const MOST_WARM_SECONDS = 30;
/** Slices of each gateway in one round: few, so that others disturb all of them alike. */
const TURNS = 2;
/** Records are written out so long after their request at the latest: what that costs belongs to the round. Milliseconds. */
const FLUSH_MS = 250;

/** CPU microseconds per request in one round. */
interface Round {
  readonly off: number;
  readonly miss: number;
  readonly hit: number;
}
type Side = keyof Round;

export interface CacheCost {
  readonly contest: Contest;
  /** By launch. */
  readonly launches: Round[][];
  /** Cores that others kept busy, by round. */
  readonly foreignCores: number[];
  failures: number;
}

type Extent = Pick<Options, 'workloads' | 'pairs' | 'launches'>;

/** Measures all contests that are asked for. */
export async function measureCache(session: Session, { workloads, pairs, launches }: Extent): Promise<CacheCost[]> {
  const contests = workloads.flatMap((workload) => CONTESTS.get(workload) ?? []);
  const all = contests.map((contest): CacheCost => ({ contest, launches: [], foreignCores: [], failures: 0 }));
  for (let launch = 0; launch < launches; launch += 1) {
    progress('starting');
    const start = async (side: Side): Promise<Running> => {
      const folder = join(session.folder, `cache-${launch}-${side}`);
      const isCached = side !== 'off';
      return { ...(await startGateway(session.upstream.url, folder, { core: session.core, isCached })), name: side };
    };
    const gateways = { off: await start('off'), miss: await start('miss'), hit: await start('hit') };
    for (const cost of all) {
      const sides = sidesOf(cost.contest, gateways);
      for (const side of sides) await warm(session, side, cost.contest);
      const rounds: Round[] = [];
      for (let round = 0; round < pairs; round += 1) {
        progress(`${cost.contest.says}: round ${round + 1} of ${pairs}`);
        rounds.push(await measureRound(session, cost, turned(sides, round)));
      }
      cost.launches.push(rounds);
    }
    for (const gateway of Object.values(gateways)) {
      await session.client.close(gateway.url);
      await gateway.stop();
    }
  }
  progress('');
  return all;
}

/** The table a person reads. */
export function renderCache(all: readonly CacheCost[]): string {
  const rows = all.flatMap(({ contest, launches, foreignCores, failures }) => {
    const others = median(foreignCores).toFixed(2);
    const row = (says: Side & keyof typeof MOST, beside: Side): string[] => {
      const pairs = launches.map((rounds) => rounds.map((one): Pair => ({ before: one[beside], after: one[says] })));
      const { ratio, low, high } = ratioOfLaunches(pairs);
      const costs = [median(pairs.flat().map(({ before }) => before)), median(pairs.flat().map(({ after }) => after))];
      const most = MOST[says];
      return [
        `${contest.says}, ${says}`,
        `${beside} ${costs[0]?.toFixed(1)}`,
        costs[1]?.toFixed(1) ?? '',
        ratio.toFixed(3),
        `${low.toFixed(3)} – ${high.toFixed(3)}`,
        `≤ ${most.toFixed(2)}`,
        ratio <= most ? 'yes' : 'NO',
        others,
        String(failures),
      ];
    };
    return [row('miss', 'off'), row('hit', 'miss')];
  });
  const header = ['', 'beside, µs/req', 'µs/req', 'ratio', '95 % interval', 'target', 'met', 'other cores', 'failures'];
  return renderTable([header, ...rows]);
}

/** One gateway with one workload. */
interface Loaded {
  readonly side: Side;
  readonly gateway: Running;
  readonly workload: Workload;
}

/** Hits have a gateway of their own, so that what is written behind the requests is told apart. */
function sidesOf({ fresh, kept }: Contest, gateways: Readonly<Record<Side, Running>>): Loaded[] {
  return [
    { side: 'off', gateway: gateways.off, workload: fresh },
    { side: 'miss', gateway: gateways.miss, workload: fresh },
    { side: 'hit', gateway: gateways.hit, workload: kept },
  ];
}

/** The gateway of hits has misses, too, as it has in production. */
async function warm(
  { client }: Session,
  { side, gateway, workload }: Loaded,
  { says, fresh, warmRequests: requests }: Contest,
): Promise<void> {
  progress(`${says}: warming up ${side}`);
  for (const asked of new Set([fresh, workload]))
    await measureSlice(client, gateway, { ...shortSlice(asked), requests, seconds: MOST_WARM_SECONDS });
}

/** The CPU of a round is all that its gateways used from its first slice until the last record was written. */
async function measureRound(session: Session, cost: CacheCost, sides: readonly Loaded[]): Promise<Round> {
  const pids = sides.map(({ gateway }) => gateway.pid);
  const end = startReading([session.upstream.pid, session.client.pid, ...pids]);
  const marks = pids.map(markCpu);
  const requests = sides.map(() => 0);
  for (let turn = 0; turn < TURNS; turn += 1) {
    // Forwards and backwards in turns: who comes first differs.
    for (const one of turn % 2 === 0 ? sides : sides.toReversed()) {
      const { load } = await measureSlice(session.client, one.gateway, steadySlice(one.workload));
      const at = sides.indexOf(one);
      requests[at] = (requests[at] ?? 0) + load.requests;
      cost.failures += load.failures;
    }
  }
  await pause(FLUSH_MS);
  const round: Record<Side, number> = { off: Number.NaN, miss: Number.NaN, hit: Number.NaN };
  for (const [index, mark] of marks.entries()) {
    const { side = 'off', gateway } = sides[index] ?? {};
    const ms = gateway === undefined ? Number.NaN : cpuBetweenMs(mark, markCpu(gateway.pid));
    round[side] = (ms * 1000) / (requests[index] ?? 0);
  }
  cost.foreignCores.push(end().foreignCores);
  return round;
}
