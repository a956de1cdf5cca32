// 50 clients at once at a token cap, by a clock of the test: how far windows go over it, and how much of it is used.
import { test } from 'tap';
import { scanObject } from '../../../proxy/bytes/scan.ts';
import type { ReserveTokens } from '../../../proxy/limits/enforcement.ts';
import { createLimiter, type Limiter } from '../../../proxy/limits/limiter.ts';
import { reserveTokens } from '../../../proxy/limits/reserve.ts';
import { Expected } from '../../../proxy/stages/expect.ts';
import { extent } from '../../support/extent.ts';
import { createRandom } from '../../support/random.ts';
import { start } from './limiter-calls.ts';
import { ruleOf } from './rule-of.ts';

const periodSeconds = 2;
const lastsMs = 4_000;
const clients = 50;
const [shortest, longest] = [10, 8_000];
const seeds = extent(200, 20);
const target = { upstream: { name: 'p' }, model: 'm' };

/** Does what is due, in order of time. */
class Agenda {
  nowMs = start;
  readonly #due: { readonly atMs: number; readonly work: () => void }[] = [];

  in(ms: number, work: () => void): void {
    this.#due.push({ atMs: this.nowMs + Math.round(ms), work });
  }

  run(): void {
    for (;;) {
      const next = this.#due.reduce(
        (first, { atMs }, index) => (atMs < (this.#due[first]?.atMs ?? 0) ? index : first),
        0,
      );
      const [due] = this.#due.splice(next, 1);
      if (due === undefined) return;
      this.nowMs = due.atMs;
      due.work();
    }
  }
}

interface Load {
  readonly seed: number;
  readonly cap: number;
  /** What is set aside; none: nothing. */
  readonly reserve: ReserveTokens;
  /** The share of requests that say a `max_tokens`. */
  readonly bounded: number;
}

/** An answer of so many tokens to a request that bounds it, or not. */
const bodyOf = (most: number | undefined): Buffer =>
  Buffer.from(JSON.stringify(most === undefined ? {} : { max_tokens: most }));

function expect(limiter: Limiter, consumer: string, most: number | undefined): Expected | undefined {
  const body = bodyOf(most);
  const { lengths, reserveTokens: reserve } = limiter;
  if (reserve === 'none') return undefined;
  return new Expected({ operation: 'chat', body: { body, members: scanObject(body) }, consumer }, lengths, reserve);
}

/** The worst window and the use, as shares of what the cap allows. */
function run({ seed, cap, reserve, bounded }: Load): { readonly worst: number; readonly used: number } {
  const random = createRandom(seed);
  const agenda = new Agenda();
  const limiter = createLimiter();
  limiter.reconcile([ruleOf('user_path', '/', periodSeconds, { maxTokens: cap })], { reserveTokens: reserve });
  const path = limiter.forUserPath('/');
  let [worst, used] = [0, 0];
  const lengthOf = (): number => Math.round(shortest * (longest / shortest) ** random());
  for (let answer = 0; answer < 60; answer += 1) {
    const before = expect(limiter, '/before', undefined);
    before?.at(target);
    before?.end(target, lengthOf());
  }

  const client = (): void => {
    if (agenda.nowMs >= start + lastsMs) return;
    const length = lengthOf();
    const expected = expect(
      limiter,
      '/a',
      random() < bounded ? length + Math.round(random() * (longest - length)) : undefined,
    );
    const { lease } = limiter.admit(path, agenda.nowMs);
    if (lease === undefined || reserveTokens(lease, path, expected?.at(target) ?? 0, agenda.nowMs) !== undefined) {
      expected?.end();
      agenda.in(200 + 200 * random(), client);
      return;
    }
    agenda.in(30 + length / 20, () => {
      limiter.charge(path, length, agenda.nowMs, lease);
      lease.release();
      expected?.end(target, length);
      used += length;
      worst = Math.max(worst, limiter.report(path, agenda.nowMs)[0]?.tokensUsed ?? 0);
      client();
    });
  };
  for (let index = 0; index < clients; index += 1) agenda.in(20 * random(), client);
  agenda.run();
  return { worst: worst / cap, used: used / (cap * ((agenda.nowMs - start) / 1000 / periodSeconds)) };
}

const percent = (share: number): string => `${(100 * share).toFixed(0)} %`;

await test(`${clients} clients with answers of ${shortest} to ${longest} tokens`, async (t) => {
  const rows: (Omit<Load, 'seed'> & { readonly most: number })[] = [
    { cap: 160_000, reserve: 'none', bounded: 0.6, most: 3 },
    { cap: 160_000, reserve: 'p50', bounded: 0.6, most: 3 },
    // The longest answer is a tenth of it.
    { cap: 80_000, reserve: 'p90', bounded: 0.6, most: 1.2 },
    { cap: 160_000, reserve: 'p90', bounded: 0.6, most: 1.15 },
    { cap: 80_000, reserve: 'max', bounded: 1, most: 1 },
    { cap: 160_000, reserve: 'max', bounded: 1, most: 1 },
  ];
  for (const { most, ...load } of rows) {
    const runs = Array.from({ length: seeds }, (_, index) => run({ ...load, seed: index + 1 }));
    const worst = Math.max(...runs.map((one) => one.worst));
    const used = runs.reduce((sum, one) => sum + one.used, 0) / seeds;
    t.comment(`cap ${load.cap}, ${load.reserve}: worst window ${percent(worst)}, used ${percent(used)}`);
    t.ok(worst <= most, `${load.reserve} at a cap of ${load.cap}: ${percent(worst)}`);
    t.ok(used > 0.75, `${load.reserve} at a cap of ${load.cap} uses ${percent(used)}`);
  }
});
