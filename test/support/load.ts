// A steady load of model calls, to show that clients are not affected by what a test does to a fleet.
import type { Test } from 'tap';
import { extent } from './extent.ts';
import type { FakeUpstream } from './fake-upstream.ts';
import type { Fleet } from './fleet.ts';
import { type Gateway, masterKey } from './gateway.ts';
import type { Teardown } from './teardown.ts';
import { Pool, request } from './undici.ts';
import { waitFor } from './wait-for.ts';

/** The figures of a load. */
export interface LoadFigures {
  readonly answered: number;
  /** The results other than an answer with status 200, and their counts. */
  readonly failures: Readonly<Record<string, number>>;
  /** Not sent, because too many were under way. */
  readonly leftOut: number;
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

/** A call that got no whole answer. */
export interface LostCall {
  /** `performance.now()` when it was sent. */
  readonly sentAtMs: number;
  readonly failure: string;
}

export interface Load {
  /** Since the last look, or the beginning. */
  look(): LoadFigures;
  /** Every call without a whole answer since the beginning. */
  lost(): readonly LostCall[];
  /** Resolves when every call that was sent until now has ended; more are sent meanwhile. */
  answered(): Promise<unknown>;
  /** Sends no more; of everything since the beginning, once the last answer is there. */
  end(): Promise<LoadFigures>;
}

export interface LoadOptions {
  /** Those that get it; default: all. */
  readonly proxies?: readonly Pick<Gateway, 'url'>[];
  /** Default 300 in full, 20 in short. */
  readonly perSecond?: number;
}

/** Limits that count a load and never refuse it, for all clients and for the provider `fake`; plus `more` rules of each kind. */
export function roomyConfig(...more: object[]): { rate_limits: object } {
  const plenty = 1_000_000_000;
  const limits = [
    { period: 'minute', max_requests: plenty, max_tokens: plenty },
    { period: 'concurrent', max_requests: 10_000 },
    ...more,
  ];
  return { rate_limits: { user_paths: [{ path: '/', limits }], providers: [{ name: 'fake', limits }] } };
}

const usualCall = JSON.stringify({ model: 'fake-small', messages: [{ role: 'user', content: 'Hello' }] });
export const usualPerSecond = extent(300, 20);
const mostUnderWay = 500;
/** Calls that each proxy gets at once at the start, so that the load has spare connections like a client that has run for a while. */
const firstCalls = extent(32, 8);

/**
 * Calls the model `fake-small` at a steady rate, whether answers come or not, each proxy in turn; until its end or the test's.
 * `nextCall` gives other chat completions, as JSON; a stream is whole when it ends with `[DONE]`.
 */
export function startLoad(
  t: Teardown,
  proxies: readonly Pick<Gateway, 'url'>[],
  perSecond = usualPerSecond,
  nextCall = () => usualCall,
): Load {
  const pools = proxies.map(({ url }) => new Pool(url, { connections: 64, pipelining: 1 }));
  const headers = { authorization: `Bearer ${masterKey}`, 'content-type': 'application/json' };
  const underWay = new Set<Promise<void>>();
  const answers: { sentAtMs: number; tookMs: number; failure: string | undefined }[] = [];
  const startedMs = performance.now();
  let due = -firstCalls * pools.length;
  let leftOut = 0;
  let seen = { answers: 0, leftOut: 0, atMs: startedMs };

  const send = async (pool: Pool | undefined): Promise<void> => {
    if (pool === undefined) throw new Error('a load needs a proxy');
    const sentAtMs = performance.now();
    const body = nextCall();
    const failure = await request(pool, {
      method: 'POST',
      path: '/v1/chat/completions',
      headers,
      body,
      headersTimeout: 5_000,
    })
      .then(async ({ statusCode, body: answer }) => {
        const text = await answer.text();
        const isWhole = !body.includes('"stream":true') || text.endsWith('data: [DONE]\n\n');
        return statusCode === 200 && isWhole ? undefined : `${statusCode} ${text.slice(-300)}`;
      })
      .catch((error: unknown) => String(error));
    answers.push({ sentAtMs, tookMs: performance.now() - sentAtMs, failure });
  };
  const timer = setInterval(() => {
    for (; due < ((performance.now() - startedMs) / 1000) * perSecond; due += 1) {
      if (underWay.size >= mostUnderWay) {
        leftOut += 1;
        continue;
      }
      const sent = send(pools[Math.abs(due % pools.length)]);
      underWay.add(sent);
      void sent.finally(() => underWay.delete(sent));
    }
  }, 10);
  t.teardown(() => {
    clearInterval(timer);
    return Promise.all(pools.map((pool) => pool.destroy()));
  });

  const figures = (from: typeof seen): LoadFigures => {
    const since = answers.slice(from.answers);
    const times = since.map(({ tookMs }) => tookMs).sort((a, b) => a - b);
    const failures: Record<string, number> = {};
    for (const { failure } of since) if (failure !== undefined) failures[failure] = (failures[failure] ?? 0) + 1;
    return {
      answered: since.length,
      failures,
      leftOut: leftOut - from.leftOut,
      perSecond: since.length / ((performance.now() - from.atMs) / 1000),
      p50Ms: times[Math.floor(times.length / 2)] ?? 0,
      p99Ms: times[Math.floor(times.length * 0.99)] ?? 0,
    };
  };
  return {
    look() {
      const found = figures(seen);
      seen = { answers: answers.length, leftOut, atMs: performance.now() };
      return found;
    },
    lost: () => answers.flatMap(({ sentAtMs, failure }) => (failure === undefined ? [] : [{ sentAtMs, failure }])),
    answered: () => Promise.all(underWay),
    async end() {
      clearInterval(timer);
      await Promise.all(underWay);
      return figures({ answers: 0, leftOut: 0, atMs: startedMs });
    },
  };
}

/**
 * Does something to the fleet under a steady load. Whatever it is, no model request fails, no proxy dies, and afterwards everything
 * is well again without help.
 */
export async function underLoad(
  t: Test,
  fleet: Fleet,
  work: (load: Load) => Promise<void>,
  { proxies = fleet.proxies, perSecond = usualPerSecond }: LoadOptions = {},
): Promise<void> {
  const load = startLoad(t, proxies, perSecond);
  await waitFor('the load to run', () => load.look().answered > 0);
  await work(load);
  const recoveredMs = await fleet.recovered();
  const all = await load.end();
  t.comment(`well again after ${recoveredMs.toFixed(0)} ms; ${describeLoad(all)}`);
  t.same(all.failures, {}, 'no model request fails');
  t.ok(all.answered > 0);
  for (const { process } of fleet.proxies) {
    t.ok(process.running);
    t.notMatch(process.lastLines(), /unexpected failure/);
  }
}

/** The figures of the load for the next `ms` milliseconds. */
export async function measured(load: Load, ms: number): Promise<LoadFigures> {
  load.look();
  const endMs = performance.now() + ms;
  await waitFor('a measure', () => performance.now() > endMs);
  return load.look();
}

/** One line. */
export function describeLoad({ answered, leftOut, perSecond, p50Ms, p99Ms }: LoadFigures): string {
  const times = `p50 ${p50Ms.toFixed(1)} ms, p99 ${p99Ms.toFixed(1)} ms`;
  return `${answered} requests, ${perSecond.toFixed(0)}/s, ${leftOut} left out, ${times}`;
}

/** Asserts that no process ended, no client got an unexpected answer, and the provider got only valid requests. */
export function checkUnharmed(t: Test, fleet: Fleet, upstream: Pick<FakeUpstream, 'malformed'>): void {
  for (const { process } of [...fleet.proxies, { process: fleet.controlPlane }]) {
    t.ok(process.running);
    t.notMatch([...process.stdout, ...process.stderr].join('\n'), /unexpected failure|uncaught|TypeError/i);
  }
  t.same(upstream.malformed, []);
}
