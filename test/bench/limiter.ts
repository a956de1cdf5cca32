// Measures what admission costs with 10 and with 10,000 rules: `node test/bench/limiter.ts`.

import { compileRules, type RuleLists } from '../../domain/rules/rule.ts';
import { rateLimitHeaders } from '../../proxy/limits/headers.ts';
import { createLimiter, type Limiter } from '../../proxy/limits/limiter.ts';
import { reserveTokens } from '../../proxy/limits/reserve.ts';
import type { Limit } from '../../schemas/types.ts';

/** One cost, in nanoseconds per call: the median of the rounds, with 10 and with 10,000 rules. */
export interface LimiterCost {
  what: string;
  few: number;
  many: number;
}

/** What the limiter is to stay within: nanoseconds for three matching rules, and many rules relative to few. */
export const LIMITER_TARGETS = { admitNs: 150, manyToFew: 1.2 };

const FEW = 10;
const MANY = 10_000;
const PATHS = 512;
const CALLS = 100_000;
const ROUNDS = 9;

/** Measures in turn, so that a slow moment of the machine hits both rule sets alike. About 4 s. */
export function measureLimiter(): LimiterCost[] {
  const sets = [subjectOf(FEW), subjectOf(MANY)];
  return Object.entries(works).map(([what, work]) => {
    const samples = sets.map((): number[] => []);
    for (let round = 0; round < ROUNDS; round += 1) {
      for (const [index, set] of sets.entries()) samples[index]?.push(nanoseconds(work, set));
    }
    const [few = 0, many = 0] = samples.map((list) => list.sort((a, b) => a - b)[list.length >> 1] ?? 0);
    return { what, few, many };
  });
}

/** The table a person reads. */
export function renderLimiter(costs: readonly LimiterCost[]): string {
  const line = (what: string, few: string, many: string, ratio: string): string =>
    `${what.padEnd(58)}${few.padStart(9)}${many.padStart(14)}${ratio.padStart(8)}`;
  const rows = costs.map(({ what, few, many }) => line(what, few.toFixed(0), many.toFixed(0), (many / few).toFixed(2)));
  return [line('limiter, ns per call (median)', '10 rules', '10,000 rules', 'ratio'), ...rows].join('\n');
}

interface Subject {
  limiter: Limiter;
  paths: string[];
  nowMs: number;
}

const works: Record<string, (subject: Subject, index: number) => void> = {
  'admit + release, 3 matching rules': ({ limiter, nowMs }) => {
    const { lease } = limiter.admit(limiter.forUserPath('/team/app'), nowMs, 'reject');
    lease?.release();
  },
  'admit + release, 3 matching rules, 512 user paths in turn': ({ limiter, paths, nowMs }, index) => {
    const { lease } = limiter.admit(limiter.forUserPath(paths[index % PATHS] ?? '/'), nowMs, 'reject');
    lease?.release();
  },
  'admit + release, a user path never seen before': ({ limiter, nowMs }, index) => {
    const path = `/team/app/user-${nowMs}-${index}`;
    limiter.admit(limiter.forUserPath(path), nowMs, 'reject').lease?.release();
  },
  refusal: ({ limiter, nowMs }) => {
    limiter.admit(limiter.forUserPath('/full/app'), nowMs, 'reject');
  },
  'whole request: admit twice, headers, charge, release': ({ limiter, paths, nowMs }, index) => {
    const path = limiter.forUserPath(paths[index % PATHS] ?? '/');
    const target = limiter.forTarget('OpenAI', 'gpt-4o');
    const first = limiter.admit(path, nowMs, 'reject');
    const second = limiter.admit(target, nowMs, 'skip_target');
    rateLimitHeaders({ matches: target }, { matches: path }, nowMs);
    limiter.charge(path, 100, nowMs);
    limiter.charge(target, 100, nowMs);
    first.lease?.release();
    second.lease?.release();
  },
  'whole request with tokens set aside': ({ limiter, paths, nowMs }, index) => {
    const path = limiter.forUserPath(paths[index % PATHS] ?? '/');
    const target = limiter.forTarget('OpenAI', 'gpt-4o');
    const first = limiter.admit(path, nowMs, 'reject');
    const awaited = limiter.lengths.begin('openai/gpt-4o', '/team', 0.9);
    const wanted = 100 + (awaited.quantile ?? 0);
    if (first.lease !== undefined) reserveTokens(first.lease, path, wanted, nowMs);
    const second = limiter.admit(target, nowMs, 'skip_target', wanted);
    const told = { matches: path, lease: first.lease };
    rateLimitHeaders({ matches: target, lease: second.lease }, told, nowMs);
    limiter.charge(path, 100, nowMs);
    limiter.charge(target, 100, nowMs);
    first.lease?.release();
    second.lease?.release();
    awaited.end(100);
  },
};

/** Rules that match (/, /team, /team/app, a provider, a model), one that is used up, and bystanders up to the number. */
function subjectOf(count: number): Subject {
  const limiter = createLimiter();
  const cap = 2 ** 40;
  const minute: Limit = { period: 'minute', max_requests: cap, max_tokens: cap, mode: 'enforce' };
  const config: RuleLists = {
    enabled: true,
    user_paths: [
      { path: '/', per_child: false, limits: [minute] },
      { path: '/team', per_child: false, limits: [{ period: 'hour', max_requests: cap, mode: 'enforce' }] },
      { path: '/team/app', per_child: false, limits: [{ period: 'concurrent', max_requests: cap, mode: 'enforce' }] },
      { path: '/full', per_child: false, limits: [{ period: 'day', max_requests: 1, mode: 'enforce' }] },
    ],
    providers: [{ name: 'openai', limits: [minute] }],
    models: [{ model: 'gpt-4o', limits: [minute] }],
  };
  for (let index = 6; index < count; index += 1)
    config.user_paths.push({ path: `/team/other-${index}`, per_child: false, limits: [minute] });
  limiter.reconcile(compileRules(config));
  const nowMs = 1_800_000_000_000;
  limiter.admit(limiter.forUserPath('/full/app'), nowMs, 'reject');
  return { limiter, paths: Array.from({ length: PATHS }, (_, index) => `/team/app/user-${index}`), nowMs };
}

function nanoseconds(work: (subject: Subject, index: number) => void, subject: Subject): number {
  const started = process.hrtime.bigint();
  for (let index = 0; index < CALLS; index += 1) {
    if (index % 100 === 0) subject.nowMs += 1;
    work(subject, index);
  }
  return Number(process.hrtime.bigint() - started) / CALLS;
}

if (import.meta.main) process.stdout.write(`${renderLimiter(measureLimiter())}\n`);
