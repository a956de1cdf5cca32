// How a fleet shares a cap when nothing fails, simulated: how many decisions are made at once, how often the store is asked, how long the others
// wait, and what is refused though there is room. The real limiter and the real book; the network and the clocks are simulated.
//   node test/bench/shared-limits.ts              the whole table: minutes
//   node test/bench/shared-limits.ts 1000         the rows of one cap

import { Traffic } from '../proxy/limits/fleet/traffic.ts';
import { FleetWorld } from '../proxy/limits/fleet/world.ts';
import { ruleOf } from '../proxy/limits/rule-of.ts';
import { createRandom } from '../support/random.ts';

interface Row {
  readonly cap: number;
  readonly demand: number;
  readonly proxies: number;
}

const periodSeconds = 60;
const seconds = 190;
const seeds = [1, 2, 3];

const rows: readonly Row[] = [
  { cap: 3, demand: 2, proxies: 8 },
  ...[0.5, 0.95, 2].map((demand) => ({ cap: 100, demand, proxies: 8 })),
  ...[0.5, 0.95, 2].map((demand) => ({ cap: 1_000, demand, proxies: 8 })),
  ...[0.5, 0.95, 2].map((demand) => ({ cap: 1_000, demand, proxies: 1 })),
  ...[0.5, 0.95, 2].map((demand) => ({ cap: 10_000, demand, proxies: 8 })),
  ...[0.5, 0.95, 2].map((demand) => ({ cap: 60_000, demand, proxies: 8 })),
  ...[0.5, 0.95, 2].map((demand) => ({ cap: 60_000, demand, proxies: 50 })),
];

/** Runs a row with one seed; all requests end at once. */
async function measure({ cap, demand, proxies }: Row, seed: number): Promise<{ world: FleetWorld; traffic: Traffic }> {
  const random = createRandom(seed);
  const rules = [ruleOf('user_path', '/team', periodSeconds, { maxRequests: cap })];
  const settings = { random, proxies, rules, onStoreLoss: 'closed', latencyMs: 0.25, mostAheadMs: 5_000 } as const;
  const world = new FleetWorld({ ...settings, isExact: true });
  const traffic = new Traffic(world, 'all');
  const rate = (cap * demand) / periodSeconds / 1_000;
  const request = { path: '/team', lastsMs: 0, isRefunded: false, wanted: 0, tokens: 0 };
  const come = (): void => {
    const proxy = world.proxies[Math.floor(random() * proxies)];
    if (proxy !== undefined) traffic.ask(proxy, request);
    world.timeline.in(-Math.log(1 - random()) / rate, come);
  };
  world.timeline.at(500, come);
  await world.run(seconds * 1_000);
  return { world, traffic };
}

function quantile(values: readonly number[], part: number): string {
  const sorted = values.toSorted((one, other) => one - other);
  return (sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? 0).toFixed(1);
}

async function line(row: Row): Promise<string> {
  const waits: number[] = [];
  const sum = { asked: 0, admitted: 0, ideal: 0, refused: 0, wrong: 0, exact: 0, timed: 0, asks: 0 };
  let room = 0;
  let window = 0;
  const faults: string[] = [];
  for (const seed of seeds) {
    const { world, traffic } = await measure(row, seed);
    sum.asked += traffic.asked;
    sum.admitted += traffic.admitted;
    sum.ideal += traffic.ideal;
    sum.refused += traffic.refused;
    sum.wrong += traffic.wrong;
    sum.exact += traffic.exactSeconds;
    sum.timed += traffic.timed;
    sum.asks += world.exchanges - 2 * row.proxies * seconds;
    if (traffic.wrong > 0) room = Math.max(room, traffic.worstRoom + 1 / row.cap);
    for (const account of world.accounts.values()) window = Math.max(window, account.worstWindow());
    for (const waitedMs of traffic.waits) waits.push(waitedMs);
    faults.push(...world.faults.values());
  }
  const percent = (part: number): string => `${(100 * part).toFixed(2)} %`;
  const cells = [
    row.cap,
    row.proxies,
    `${row.demand} ×`,
    percent(1 - waits.length / sum.asked),
    Math.max(0, sum.asks / sum.asked).toFixed(3),
    `${quantile(waits, 0.99)} / ${quantile(waits, 0.999)}`,
    window,
    percent(sum.admitted / sum.ideal),
    `${sum.wrong} of ${sum.refused}`,
    percent(Math.max(0, room)),
    sum.timed === 0 ? '' : percent(sum.exact / sum.timed),
    faults.join('; '),
  ];
  return `| ${cells.join(' | ')} |`;
}

const wanted = process.argv[2];
console.log(
  '| cap | proxies | demand | decided at once | asks per request | wait p99 / p99.9 ms | worst window | admitted, of one limiter | wrongly refused | room at a refusal, worst | Retry-After right | faults |',
);
console.log('|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|---|');
for (const row of rows) if (wanted === undefined || String(row.cap) === wanted) console.log(await line(row));
