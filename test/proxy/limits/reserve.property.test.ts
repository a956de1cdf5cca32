// Whatever becomes of requests and rules, what is set aside returns to zero, and no lease gives back twice.
import * as fc from 'fast-check';
import { test } from 'tap';
import type { Rule } from '../../../domain/rules/rule.ts';
import type { Lease } from '../../../proxy/limits/lease.ts';
import { createLimiter, type Limiter } from '../../../proxy/limits/limiter.ts';
import type { Matches } from '../../../proxy/limits/match.ts';
import { renewLease } from '../../../proxy/limits/renew.ts';
import { reserveTokens } from '../../../proxy/limits/reserve.ts';
import { runs } from '../../support/extent.ts';
import { start } from './limiter-calls.ts';
import { ruleOf } from './rule-of.ts';

const cap = 1_000;

/** Rules of every kind; each reconciliation puts some of them in force, in some epoch. */
const rules: readonly Rule[] = [
  ruleOf('user_path', '/', 60, { maxTokens: 2 * cap, maxRequests: 5 }),
  ruleOf('user_path', '/c', 60, { maxTokens: cap, perChild: true }),
  ruleOf('user_path', '/c/a', 3_600, { maxTokens: cap, mode: 'shadow' }),
  ruleOf('user_path', '/c/a', 0, { maxRequests: 3 }),
  ruleOf('model', 'p/m', 60, { maxTokens: cap }),
];

const ends = ['charge', 'release', 'refund', 'release twice', 'stay open'] as const;

const event = fc.record({
  ms: fc.integer({ min: 0, max: 30_000 }),
  path: fc.constantFrom('/c/a', '/c/b', '/x'),
  wanted: fc.integer({ min: 0, max: 1_500 }),
  used: fc.integer({ min: 0, max: 1_500 }),
  end: fc.constantFrom(...ends),
  isTarget: fc.boolean(),
  /** The rules in force from now on, as bits; 0: those of before. */
  inForce: fc.constantFrom(0, 0, 0, 0, 31, 21, 15, 30),
  epoch: fc.integer({ min: 0, max: 1 }),
});

interface Open {
  readonly lease: Lease;
  readonly matches: Matches;
}

function begin(
  limiter: Limiter,
  { path, wanted, isTarget }: typeof event extends fc.Arbitrary<infer E> ? E : never,
  nowMs: number,
): Open | undefined {
  const matches = isTarget ? limiter.forTarget('p', 'm') : limiter.forUserPath(path);
  const { lease } = limiter.admit(matches, nowMs, 'reject', isTarget ? wanted : 0);
  if (lease === undefined) return undefined;
  if (!isTarget) {
    const rejection = renewLease(lease, matches, nowMs + 1) ?? reserveTokens(lease, matches, wanted, nowMs + 1);
    if (rejection !== undefined) return undefined;
  }
  return { lease, matches };
}

/** Of each rule in force, what is set aside. */
function reservedOf(limiter: Limiter, nowMs: number): number[] {
  const ids = new Set(limiter.rules().map(({ id }) => id));
  return [...limiter.utilisationByRule(ids, nowMs)].flatMap(({ figures }) => figures.map(({ reserved }) => reserved));
}

await test('what is set aside returns to zero when all requests have ended', async (t) => {
  fc.assert(
    fc.property(fc.array(event, { maxLength: 60 }), (events) => {
      const limiter = createLimiter();
      limiter.reconcile(rules);
      let nowMs = start;
      const stillOpen: Open[] = [];
      for (const each of events) {
        nowMs += each.ms;
        if (each.inForce !== 0) {
          const kept = rules.filter((_, index) => (each.inForce >> index) % 2 === 1);
          limiter.reconcile(kept.map((rule) => ({ ...rule, epoch: each.epoch })));
        }
        const request = begin(limiter, each, nowMs);
        limiter.sweep(nowMs);
        if (request === undefined) continue;
        const { lease, matches } = request;
        if (each.end === 'stay open') stillOpen.push(request);
        if (each.end === 'charge') limiter.charge(matches, each.used, nowMs, lease);
        if (each.end === 'refund') lease.refund(nowMs);
        else if (each.end !== 'stay open') lease.release();
        if (each.end === 'release twice') lease.release();
      }
      for (const reserved of reservedOf(limiter, nowMs)) if (reserved < 0) throw new Error('given back twice');
      for (const { lease } of stillOpen.toReversed()) lease.release();
      if (reservedOf(limiter, nowMs).some((reserved) => reserved !== 0)) throw new Error('something stayed set aside');
    }),
    runs(1_000),
  );
  t.pass();
});

await test('with bounds set aside, no trailing window is over the cap where no request is larger', async (t) => {
  const call = fc.record({
    gapMs: fc.integer({ min: 0, max: 2_000 }),
    lastsMs: fc.integer({ min: 1, max: 20_000 }),
    tokens: fc.integer({ min: 1, max: 600 }),
  });
  fc.assert(
    fc.property(fc.array(call, { minLength: 20, maxLength: 120 }), (calls) => {
      const limiter = createLimiter();
      limiter.reconcile([ruleOf('user_path', '/', 60, { maxTokens: cap })], { reserveTokens: 'max' });
      const path = limiter.forUserPath('/');
      let open: { readonly endsMs: number; readonly tokens: number; readonly lease: Lease }[] = [];
      let nowMs = start;
      for (const { gapMs, lastsMs, tokens } of calls) {
        nowMs += gapMs;
        for (const { endsMs, tokens: used, lease } of open.filter((one) => one.endsMs <= nowMs)) {
          limiter.charge(path, used, endsMs, lease);
          lease.release();
        }
        open = open.filter(({ endsMs }) => endsMs > nowMs);
        const { lease } = limiter.admit(path, nowMs, 'reject', tokens);
        if (lease !== undefined) open.push({ endsMs: nowMs + lastsMs, tokens, lease });
        const [report] = limiter.report(path, nowMs);
        if ((report?.tokensUsed ?? 0) > cap) throw new Error(`${report?.tokensUsed} tokens in a window of ${cap}`);
      }
    }),
    runs(1_000),
  );
  t.pass();
});
