// What translating costs: the same gateway and provider, asked by a client of the same format and by one of another, in turns.
import { join } from 'node:path';
import { measureSlice, shortSlice, warmUp } from './contest.ts';
import type { Options } from './options.ts';
import { startGateway } from './processes.ts';
import { progress, type Session } from './session.ts';
import { median, type Pair, ratioOfLaunches } from './statistics.ts';
import { renderTable } from './table.ts';
import { expectedEvents, type Workload } from './workload.ts';

/** A workload whose bytes are relayed, the translated one, and how many times its cost that may take. */
const CONTESTS = [
  { relayed: 'json', translated: 'translated', most: 1.4 },
  { relayed: 'sse', translated: 'translated-sse', most: 1.8 },
] as const satisfies readonly { relayed: Workload; translated: Workload; most: number }[];
type Contest = (typeof CONTESTS)[number];

/** The pairs of one contest by launch, in CPU microseconds per request. */
export interface Translation {
  readonly contest: Contest;
  readonly launches: Pair[][];
  failures: number;
}

const TURNS = ['relayed', 'translated', 'translated', 'relayed'] as const;

/** Measures both contests. */
export async function measureTranslation(
  { client, upstream, core, folder }: Session,
  { pairs, launches }: Pick<Options, 'pairs' | 'launches'>,
): Promise<Translation[]> {
  const all = CONTESTS.map((contest): Translation => ({ contest, launches: [], failures: 0 }));
  for (let launch = 0; launch < launches; launch += 1) {
    const gateway = await startGateway(upstream.url, join(folder, `translation-${launch}`), { core });
    for (const measured of all) {
      const { contest } = measured;
      for (const side of ['relayed', 'translated'] as const) {
        progress(`${contest[side]}: warming up`);
        await warmUp(client, gateway, contest[side], 0.5);
      }
      const found: Pair[] = [];
      for (let pair = 0; pair < pairs; pair += 1) {
        progress(`${contest.translated}: pair ${pair + 1} of ${pairs}`);
        const sums = { relayed: { cpuUs: 0, requests: 0 }, translated: { cpuUs: 0, requests: 0 } };
        for (const side of TURNS) {
          const { cpuUs, load } = await measureSlice(client, gateway, shortSlice(contest[side]));
          sums[side].cpuUs += cpuUs * load.requests;
          sums[side].requests += load.requests;
          measured.failures += load.failures;
        }
        const { relayed, translated } = sums;
        found.push({ before: relayed.cpuUs / relayed.requests, after: translated.cpuUs / translated.requests });
      }
      measured.launches.push(found);
    }
    await client.close(gateway.url);
    await gateway.stop();
  }
  progress('');
  return all;
}

/** The table a person reads. */
export function renderTranslation(all: readonly Translation[]): string {
  const rows = all.map(({ contest, launches, failures }) => {
    const { ratio, low, high } = ratioOfLaunches(launches);
    const pairs = launches.flat();
    const relayed = median(pairs.map(({ before }) => before));
    const translated = median(pairs.map(({ after }) => after));
    const events = expectedEvents(contest.relayed) || 1;
    return [
      contest.relayed,
      relayed.toFixed(1),
      translated.toFixed(1),
      ((translated - relayed) / events).toFixed(2),
      ratio.toFixed(2),
      `${low.toFixed(2)} – ${high.toFixed(2)}`,
      `≤ ${contest.most}`,
      ratio <= contest.most ? 'yes' : 'NO',
      String(failures),
    ];
  });
  const header = ['workload', 'relayed µs/req', 'translated µs/req', 'µs more per event', 'ratio', '95 % interval'];
  return renderTable([[...header, 'target', 'met', 'failures'], ...rows]);
}
