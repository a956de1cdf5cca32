// Measures what one exchange of shared limits costs on each engine: `node test/bench/shared-limits.ts`.

import { counterKey, type ExchangeMessage } from '../../domain/limits/exchange.ts';
import type { LimitLine, LimitStore } from '../../store/state/limits/limit-store.ts';
import { openStateStore } from '../../store/state/open.ts';
import { attachMessage, exchangeMessage, limitGroup, limitItem } from '../support/limit-messages.ts';
import { type RedisServer, startRedis } from '../support/redis.ts';
import { temporaryDirectory } from '../support/teardown.ts';

/** One cost: milliseconds of round trip, and microseconds of CPU: of the server, or of this process with the thread of the file. */
export interface ExchangeCost {
  what: string;
  counters: number;
  cpuUs: number;
  p50Ms: number;
  p99Ms: number;
}

const ROUNDS = 15;
const EXCHANGES = 150;
const COUNTERS = [1, 5, 20];

type Kind = 'report and refill' | 'dry, 61 slices to walk';

/** Gives the CPU used so far, in microseconds. */
type CpuOf = () => Promise<number>;

/** What `end` is given is called when all is measured. */
async function measure(end: { teardown(work: () => unknown): void }): Promise<ExchangeCost[]> {
  const server = await startRedis(end);
  const client = server.client();
  const engines: [name: string, store: LimitStore, cpu: CpuOf][] = [
    ['Redis', opened(end, { directory: '/nonexistent', redisUrl: server.url }), () => cpuOfServer(client)],
    ['SQLite', opened(end, { directory: temporaryDirectory(end) }), async () => cpuOfProcess()],
  ];
  const costs: ExchangeCost[] = [];
  for (const [name, store, cpu] of engines) {
    const line = await new Promise<LimitLine>((ready, lost) => {
      store.connect({ ready, lost, told: () => undefined });
    });
    for (const kind of ['report and refill', 'dry, 61 slices to walk'] as const) {
      for (const counters of COUNTERS) {
        const rounds = [];
        for (let round = 0; round < ROUNDS; round += 1)
          rounds.push(await oneRound(line, { kind, counters, round }, cpu));
        // The round with the least: other work of the machine only adds to it.
        const [best] = rounds.sort((a, b) => a.cpuUs - b.cpuUs);
        if (best !== undefined) costs.push({ what: `${name}, ${kind}`, counters, ...best });
      }
    }
  }
  return costs;
}

interface Round {
  readonly kind: Kind;
  readonly counters: number;
  readonly round: number;
}

type Figures = Pick<ExchangeCost, 'cpuUs' | 'p50Ms' | 'p99Ms'>;

async function oneRound(line: LimitLine, { kind, counters, round }: Round, cpu: CpuOf): Promise<Figures> {
  const instance = `${kind} ${counters} ${round}`;
  const { session, now } = await line.attach(attachMessage(instance, { server: line.server }));
  const slice = Math.floor(now / 1_000);
  const keys = Array.from({ length: counters }, (_, index) => {
    return counterKey({ key: `${instance} ${index}`, epoch: 0, periodSeconds: 60 }, 'requests', '');
  });
  let sequence = 0;
  const say = async (more: Partial<ExchangeMessage>): Promise<void> => {
    sequence += 1;
    const answer = await line.exchange(exchangeMessage(session, { sequence, ...more }));
    if (answer.status !== 'done') throw new Error(`the store said ${answer.status}`);
  };
  const isDry = kind !== 'report and refill';
  const uses = Array.from({ length: isDry ? 61 : 1 }, (_, index) => [slice - index, 10] as const);
  await say({ items: keys.map((key) => limitItem(key, { cap: 610, uses })) });
  const usual = keys.map((key) => limitItem(key, { cap: 2 ** 40, held: 20, spare: 20, uses: [[slice, 3]], wish: 10 }));
  const asking = {
    items: keys.map((key) => limitItem(key, { cap: 610 })),
    groups: [limitGroup(1, [...keys.keys()])],
  };
  const waits: number[] = [];
  const before = await cpu();
  for (let exchange = 0; exchange < EXCHANGES; exchange += 1) {
    const started = process.hrtime.bigint();
    await say(isDry ? asking : { items: usual });
    waits.push(Number(process.hrtime.bigint() - started) / 1e6);
  }
  const cpuUs = ((await cpu()) - before) / EXCHANGES;
  waits.sort((a, b) => a - b);
  const at = (share: number): number => waits[Math.floor(share * waits.length)] ?? 0;
  return { cpuUs, p50Ms: at(0.5), p99Ms: at(0.99) };
}

function opened(
  end: { teardown(work: () => unknown): void },
  options: { readonly directory: string; readonly redisUrl?: string },
): LimitStore {
  const store = openStateStore(options);
  end.teardown(() => store.close());
  return store.limits;
}

async function cpuOfServer(client: ReturnType<RedisServer['client']>): Promise<number> {
  const text = await client.info('cpu');
  const of = (name: string): number => Number(new RegExp(`${name}:([0-9.]+)`).exec(text)?.[1]);
  return (of('used_cpu_user_main_thread') + of('used_cpu_sys_main_thread')) * 1e6;
}

function cpuOfProcess(): number {
  const { user, system } = process.cpuUsage();
  return user + system;
}

/** The table a person reads. */
export function renderExchanges(costs: readonly ExchangeCost[]): string {
  const line = (what: string, ...columns: string[]): string =>
    what.padEnd(36) + columns.map((column) => column.padStart(12)).join('');
  const rows = costs.map(({ what, counters, cpuUs, p50Ms, p99Ms }) =>
    line(what, String(counters), cpuUs.toFixed(0), p50Ms.toFixed(2), p99Ms.toFixed(2)),
  );
  return [line('one exchange (best of rounds)', 'counters', 'CPU, µs', 'p50, ms', 'p99, ms'), ...rows].join('\n');
}

if (import.meta.main) {
  const ends: (() => unknown)[] = [];
  const costs = await measure({ teardown: (work) => void ends.unshift(work) });
  process.stdout.write(`${renderExchanges(costs)}\n`);
  for (const end of ends) await end();
}
