// A real store that fails on order and limiters of a few rules, for the tests of counters.
import { t as suite } from 'tap';
import type { CounterRow } from '../../../domain/rules/counter-row.ts';
import type { Rule } from '../../../domain/rules/rule.ts';
import { createLimiter, type Limiter } from '../../../proxy/limits/limiter.ts';
import { type CounterKeeping, type KeptCounters, keepCounters } from '../../../proxy/store/counters.ts';
import { openStateStore } from '../../../store/state/open.ts';
import type { CounterBatch, StateStore } from '../../../store/state/state-store.ts';
import { temporaryDirectory } from '../../support/teardown.ts';
import { ruleOf } from '../limits/rule-of.ts';

export const start = Date.UTC(2026, 0, 5, 12);
export const hourly = ruleOf('user_path', '/', 3_600, { maxRequests: 1_000_000, maxTokens: 1_000_000 });
export const daily = ruleOf('user_path', '/', 86_400, { maxRequests: 1_000_000 });
export const children = ruleOf('user_path', '/c', 60, { perChild: true, maxRequests: 1_000_000, maxTokens: 1_000_000 });

/** A real store whose operations fail on order, before or after they were done, and that says what was asked of it. */
interface BreakableStore {
  /** Whose rows these are. Each test has a name of its own in a store that all of them share. */
  readonly instance: string;
  readonly store: StateStore;
  readonly keeping: CounterKeeping['store'];
  /** Every write that was tried, oldest first. */
  readonly batches: CounterBatch[];
  readonly mostAtOnce: () => number;
  /** What the next operations do; after them everything works. `late`: it is done, and fails all the same. */
  readonly next: ('fail' | 'late' | 'work')[];
  /** While set, every operation waits for it first. */
  gate: Promise<void> | undefined;
}

/** Nothing here is about deadlines: a busy machine gets its time. */
export const timeoutMs = 10_000;

export const directory = temporaryDirectory(suite, 'gateway-counters');
const store = openStateStore({ directory, timeoutMs });
suite.teardown(() => store.close());
let instances = 0;

export function openBreakable(): BreakableStore {
  instances += 1;
  const batches: CounterBatch[] = [];
  let atOnce = 0;
  let most = 0;
  const breakable: BreakableStore = {
    instance: `proxy-${instances}`,
    store,
    batches,
    mostAtOnce: () => most,
    next: [],
    gate: undefined,
    keeping: {
      loadCounters: (name, from) => run(() => store.loadCounters(name, from)),
      writeCounters: (name, batch) => {
        batches.push(batch);
        return run(() => store.writeCounters(name, batch));
      },
    },
  };
  async function run<Result>(work: () => Promise<Result>): Promise<Result> {
    atOnce += 1;
    most = Math.max(most, atOnce);
    try {
      await breakable.gate;
      const fault = breakable.next.shift() ?? 'work';
      if (fault === 'fail') throw new Error('the store is away');
      const result = await work();
      if (fault === 'late') throw new Error('the store was too slow');
      return result;
    } finally {
      atOnce -= 1;
    }
  }
  return breakable;
}

/** How many rows each write has. What was written is not kept: a heap full of it would make pauses of its own. */
export function recordPortions(): { keeping: CounterKeeping['store']; portions: number[] } {
  const portions: number[] = [];
  return {
    portions,
    keeping: {
      loadCounters: (name, from) => store.loadCounters(name, from),
      writeCounters(name, batch) {
        portions.push(batch.rows.length);
        return store.writeCounters(name, batch);
      },
    },
  };
}

export function limiterOf(...rules: Rule[]): Limiter {
  const limiter = createLimiter();
  limiter.reconcile(rules);
  return limiter;
}

/** So many requests of a consumer, with tokens. */
export function use(limiter: Limiter, path: string, requests: number, { tokens = 0, nowMs = start } = {}): void {
  const matches = limiter.forUserPath(path);
  for (let count = 0; count < requests; count += 1) limiter.admit(matches, nowMs).lease?.release();
  limiter.charge(matches, tokens, nowMs);
}

type Troubles = (string | undefined)[];

/** Keeps the counters without a timer: the tests say when. */
export async function keep(
  limiter: Limiter,
  { keeping, instance }: Pick<BreakableStore, 'keeping' | 'instance'>,
  more: Partial<CounterKeeping> = {},
): Promise<KeptCounters & { troubles: Troubles; warnings: string[] }> {
  const troubles: Troubles = [];
  const warnings: string[] = [];
  const kept = await keepCounters({
    store: keeping,
    limiter,
    instance,
    intervalMs: 0,
    nowMs: () => start,
    onTrouble: (trouble) => troubles.push(trouble?.message),
    warn: (sentence) => warnings.push(sentence),
    ...more,
  });
  return { ...kept, troubles, warnings };
}

export async function storedRows(name: string): Promise<CounterRow[]> {
  const rows: CounterRow[] = [];
  let from: string | undefined;
  do {
    const page = await store.loadCounters(name, from);
    rows.push(...page.rows);
    from = page.next;
  } while (from !== undefined);
  return rows;
}

/** What a process that starts now would find: rule key and child → requests and tokens. */
export async function stored({ instance }: BreakableStore, name = instance): Promise<Record<string, [number, number]>> {
  const rows = await storedRows(name);
  const sum = (pairs: readonly (readonly [number, number])[]) => pairs.reduce((total, [, count]) => total + count, 0);
  return Object.fromEntries(
    rows.map(({ key, child, requests, tokens }) => [`${key}${child && ` ${child}`}`, [sum(requests), sum(tokens)]]),
  );
}

export function usedUnder(limiter: Limiter, path = '/'): (number | undefined)[] {
  return limiter.report(limiter.forUserPath(path), start).map(({ requestsUsed }) => requestsUsed);
}

export function createBarrier(): { open: () => void; gate: Promise<void> } {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { open: resolve, gate: promise };
}
