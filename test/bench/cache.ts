// What the response cache costs and saves: a gateway with it beside one without, asked what nobody has asked, and what was asked before.
import { join } from 'node:path';
import { measureSlice, shortSlice, warmUp } from './contest.ts';
import type { Options } from './options.ts';
import { type Running, startGateway } from './processes.ts';
import { progress, type Session } from './session.ts';
import { median, type Pair, ratioOfLaunches } from './statistics.ts';
import { renderTable } from './table.ts';
import type { Workload } from './workload.ts';

/** One side of a contest: a workload, and whether the gateway keeps answers. */
interface Side {
  readonly workload: Workload;
  readonly isCached: boolean;
}

/**
 * What the second side may cost, × the first. Of a short JSON answer at least a third of the cost is the connection of its client, which
 * a hit has, too. A stream of 34 events at once is the worst case of a miss: reading it into the answer it makes costs nearly as much as
 * its events, of which there are usually more, each by itself.
 */
const CONTESTS = [
  { says: 'miss', ...contest('fresh', 'fresh', false), most: 1.08 },
  { says: 'miss, paced stream', ...contest('fresh-paced', 'fresh-paced', false), most: 1.08 },
  { says: 'miss, stream at once', ...contest('fresh-sse', 'fresh-sse', false), most: 1.08 },
  { says: 'hit', ...contest('fresh', 'json', true), most: 1 / 3 },
  { says: 'hit, stream', ...contest('fresh-sse', 'kept-sse', true), most: 1 / 3 },
] as const;
type Contest = (typeof CONTESTS)[number];

/** The pairs of one contest by launch, in CPU microseconds per request. */
export interface CacheCost {
  readonly contest: Contest;
  readonly launches: Pair[][];
  failures: number;
}

const TURNS = ['first', 'second', 'second', 'first'] as const;

/** The second side is always with the cache; `isCached`: the first one is, too. */
function contest(
  first: Workload,
  second: Workload,
  isCached: boolean,
): { readonly first: Side; readonly second: Side } {
  return { first: { workload: first, isCached }, second: { workload: second, isCached: true } };
}

/** Measures all contests. */
export async function measureCache(
  { client, upstream, core, folder }: Session,
  { pairs, launches }: Pick<Options, 'pairs' | 'launches'>,
): Promise<CacheCost[]> {
  const all = CONTESTS.map((each): CacheCost => ({ contest: each, launches: [], failures: 0 }));
  for (let launch = 0; launch < launches; launch += 1) {
    const start = (isCached: boolean): Promise<Running> =>
      startGateway(upstream.url, join(folder, `cache-${launch}-${isCached}`), { core, isCached });
    const gateways = { with: await start(true), without: await start(false) };
    const gatewayOf = ({ isCached }: Side): Running => (isCached ? gateways.with : gateways.without);
    for (const measured of all) {
      const { first, second, says } = measured.contest;
      for (const side of [first, second]) {
        progress(`${says}: warming up`);
        await warmUp(client, gatewayOf(side), side.workload, 0.5);
      }
      const found: Pair[] = [];
      for (let pair = 0; pair < pairs; pair += 1) {
        progress(`${says}: pair ${pair + 1} of ${pairs}`);
        const sums = { first: { cpuUs: 0, requests: 0 }, second: { cpuUs: 0, requests: 0 } };
        for (const turn of TURNS) {
          const side = measured.contest[turn];
          const { cpuUs, load } = await measureSlice(client, gatewayOf(side), shortSlice(side.workload));
          sums[turn].cpuUs += cpuUs * load.requests;
          sums[turn].requests += load.requests;
          measured.failures += load.failures;
        }
        found.push({ before: sums.first.cpuUs / sums.first.requests, after: sums.second.cpuUs / sums.second.requests });
      }
      measured.launches.push(found);
    }
    for (const gateway of Object.values(gateways)) {
      await client.close(gateway.url);
      await gateway.stop();
    }
  }
  progress('');
  return all;
}

/** The table a person reads. */
export function renderCache(all: readonly CacheCost[]): string {
  const rows = all.map(({ contest: { says, most, first }, launches, failures }) => {
    const { ratio, low, high } = ratioOfLaunches(launches);
    const pairs = launches.flat();
    return [
      says,
      `${first.isCached ? 'a miss' : 'no cache'} ${median(pairs.map(({ before }) => before)).toFixed(1)}`,
      median(pairs.map(({ after }) => after)).toFixed(1),
      ratio.toFixed(2),
      `${low.toFixed(2)} – ${high.toFixed(2)}`,
      `≤ ${most.toFixed(2)}`,
      ratio <= most ? 'yes' : 'NO',
      String(failures),
    ];
  });
  const header = ['', 'beside, µs/req', 'µs/req', 'ratio', '95 % interval', 'target', 'met', 'failures'];
  return renderTable([header, ...rows]);
}
