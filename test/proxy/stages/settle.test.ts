// A request gives back what it has set aside when what it has used is counted, and not a moment before; also when counting fails.

import { test } from 'tap';
import { Budgets } from '../../../proxy/budgets/budgets.ts';
import { createLimiter } from '../../../proxy/limits/limiter.ts';
import { compile } from '../../../proxy/snapshot/compile.ts';
import { Expected } from '../../../proxy/stages/expect.ts';
import { type SettledTrip, type SettleParts, settle } from '../../../proxy/stages/settle.ts';
import { TargetStates } from '../../../proxy/targets/target-states.ts';
import type { TokenUsage } from '../../../proxy/tokens/token-usage.ts';
import { ruleOf } from '../limits/rule-of.ts';
import { sampleConfig } from '../sample-config.ts';
import { exchangeOf, metricsOf, open } from '../stage-parts.ts';

const nowMs = 1_800_000_000_000;
const wanted = 600;
const usage: TokenUsage = { inputTokens: 5, outputTokens: 95, totalTokens: 100, source: 'reported' };

/** A request that holds `wanted` tokens of a cap of 1,000 and has used 100; `failure`: counting fails. */
function stand(failure?: Error) {
  const limiter = createLimiter();
  limiter.reconcile([ruleOf('user_path', '/', 60, { maxTokens: 1_000 })]);
  const matches = limiter.forUserPath('/');
  const { lease } = limiter.admit(matches, nowMs, 'reject', wanted);
  if (lease === undefined) throw new Error('there was no room');
  /** Whether another request of 900 tokens would be let in, looked at where time passes between the steps. */
  const seen: boolean[] = [];
  const look = (): void => {
    const { lease: other } = limiter.admit(matches, nowMs, 'reject', 900);
    seen.push(other !== undefined);
    other?.refund(nowMs);
  };
  const metrics = metricsOf(limiter);
  const parts: SettleParts = {
    accessLog: { trip: look },
    records: { trip: () => undefined },
    metrics,
    limiter: {
      countsTokens: (of) => limiter.countsTokens(of),
      charge(...charged) {
        look();
        if (failure !== undefined) throw failure;
        limiter.charge(...charged);
        look();
      },
    },
    reportFailure: () => undefined,
    targets: new TargetStates(),
    nowMs: () => nowMs,
    budgets: new Budgets(),
    usageEnabled: true,
  };
  const trip: SettledTrip = {
    path: '/v1/chat/completions',
    exchange: exchangeOf({}),
    snapshot: compile(sampleConfig({}), '', open),
    principal: undefined,
    consumer: { lease, matches },
    call: undefined,
    route: undefined,
    failed: [],
    accepted: undefined,
    expected: new Expected({ operation: 'chat', body: undefined, consumer: '/' }, limiter.lengths, 'p90'),
    money: undefined,
    remembered: undefined,
    usage: { usage: () => usage },
    ending: { status: 200, headers: [], refused: undefined },
  };
  const reserved = (): number | undefined => limiter.report(matches, nowMs)[0]?.tokensReserved;
  return { settled: () => settle(trip, { isOfClient: false, isSession: false }, parts), seen, reserved };
}

await test('what was used counts before the rest is given back', async (t) => {
  const { settled, seen, reserved } = stand();
  t.equal(reserved(), wanted);
  settled();
  t.equal(reserved(), 0);
  t.same(seen, [false, false, true], 'before, between, and after the two steps');
});

await test('nothing stays set aside when counting fails', async (t) => {
  const { settled, reserved } = stand(new Error('broken'));
  t.throws(settled, /broken/);
  t.equal(reserved(), 0);
});
