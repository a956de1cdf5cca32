// An edit of rate limits that are in use: rules are replaced, counters are kept. All tests share one gateway; each has a user path of its own.
import { t as suite, test } from 'tap';
import { ask, statusesOf, usageOf } from '../support/consumer.ts';
import { createGate, startFakeUpstream } from '../support/fake-upstream.ts';
import { startGateway } from '../support/gateway.ts';
import { waitFor } from '../support/wait-for.ts';

type Limit = Record<string, string | number>;

const minute = (max_requests: number): Limit => ({ period: 'minute', max_requests });

/** A consumer: the config that limits its path, its requests, and its limits. */
function consumerAt(path: string) {
  return {
    /** The whole config: these limits on the path, and whatever else `rate_limits` shall hold. */
    rules: (limits: readonly Limit[], rest: object = {}) => ({
      'gateway.yaml': { rate_limits: { user_paths: limits.length === 0 ? [] : [{ path, limits }], ...rest } },
    }),
    async ask() {
      const { status, text, headers } = await ask(gateway, path);
      const header = (name: string) => headers.get(`x-ratelimit-${name}`);
      return { status, text, limit: header('limit-requests'), left: header('remaining-requests') };
    },
    /** So many requests, one after the other; their statuses. */
    statuses: (times: number) => statusesOf(gateway, path, times),
    /** Every rule that covers the path, as `minute: 2 of 3, 26 tokens`. */
    async standing(): Promise<string[]> {
      const rows = await usageOf(gateway, path);
      return rows.map(
        ({ period_label, requests_used, max_requests = 'any', tokens_used }) =>
          `${period_label}: ${requests_used} of ${max_requests}, ${tokens_used} tokens`,
      );
    },
  };
}

const upstream = await startFakeUpstream({ t: suite });
const team = consumerAt('/team');
/** It starts with the variables that the first test is about; that test takes them away again. */
const variables = {
  SET_RATE_LIMIT_TEAM: 'rpm=3,tpm=900',
  SET_RATE_LIMIT_: '[{"period_seconds":300,"max_requests":40}]',
  SET_PROVIDER_RATE_LIMIT_FAKE: 'rpm=2,concurrent=5',
};
const gateway = await startGateway(suite, {
  upstream,
  files: team.rules([minute(50), { period: 'hour', max_requests: 100 }], {
    providers: [{ name: 'fake', limits: [minute(70), { period: 'hour', max_requests: 10 }] }],
  }),
  env: variables,
});

suite.beforeEach(() => upstream.behave({ kind: 'openai' }));

await test('variables take the place of what the files say of their path or provider', async (t) => {
  t.match(await team.ask(), { status: 200, limit: '2', left: '1' }, 'the provider has the least');
  t.strictSame(await team.standing(), ['300s: 1 of 40, 0 tokens', 'minute: 1 of 3, 13 tokens']);
  t.equal((await team.ask()).left, '0');
  t.match((await team.ask()).text, 'for provider fake: 2 requests per minute');

  await gateway.applyConfig(team.rules([minute(9)]));
  t.strictSame(await team.standing(), ['300s: 2 of 40, 0 tokens', 'minute: 2 of 3, 26 tokens'], 'no edit changes that');

  await gateway.restart(Object.fromEntries(Object.keys(variables).map((name) => [name, undefined])));
  t.strictSame(await team.standing(), ['minute: 2 of 9, 0 tokens'], 'the file again; the rule is the same one');
});

await test('caps change in place: what was used stays used', async (t) => {
  const caps = consumerAt('/caps');
  await gateway.applyConfig(caps.rules([{ ...minute(2), max_tokens: 500 }]));
  t.same(await caps.statuses(3), [200, 200, 429]);

  await gateway.applyConfig(caps.rules([{ ...minute(4), max_tokens: 500 }]));
  t.match(await caps.ask(), { status: 200, limit: '4', left: '1' }, 'raised: the next request passes');
  t.strictSame(await caps.standing(), ['minute: 3 of 4, 39 tokens']);

  await gateway.applyConfig(caps.rules([{ ...minute(1), max_tokens: 500 }]));
  t.match(await caps.ask(), { status: 429, limit: '1', left: '0' }, 'lowered below what is used');
  t.strictSame(await caps.standing(), ['minute: 3 of 1, 39 tokens']);

  await gateway.applyConfig(caps.rules([{ ...minute(9), max_tokens: 30 }]));
  t.match((await caps.ask()).text, '/caps: 30 tokens per minute');

  await gateway.applyConfig(caps.rules([{ ...minute(3), max_tokens: 30, mode: 'shadow' }]));
  t.match(await caps.ask(), { status: 200, limit: null }, 'watching only');
  await gateway.applyConfig(caps.rules([minute(9)]));
  t.strictSame(await caps.standing(), ['minute: 3 of 9, 0 tokens'], 'a shadow that would refuse takes nothing');

  await gateway.applyConfig(caps.rules([{ period_seconds: 60, max_requests: 9 }]));
  t.strictSame(await caps.standing(), ['minute: 3 of 9, 0 tokens'], 'another word for the same period');
});

await test('a rule that went and came back, or moved to another period, starts anew', async (t) => {
  const moved = consumerAt('/moved');
  await gateway.applyConfig(moved.rules([minute(2), { period: 'hour', max_requests: 50 }]));
  t.same(await moved.statuses(3), [200, 200, 429]);

  await gateway.applyConfig(moved.rules([{ period: 'hour', max_requests: 50 }]));
  t.match(await moved.ask(), { status: 200, limit: '50', left: '47' }, 'the other rule is untouched');
  await gateway.applyConfig(moved.rules([minute(2), { period: 'hour', max_requests: 50 }]));
  t.strictSame(await moved.standing(), ['minute: 0 of 2, 0 tokens', 'hour: 3 of 50, 0 tokens']);
  t.same(await moved.statuses(3), [200, 200, 429]);

  await gateway.applyConfig(
    moved.rules([
      { period_seconds: 61, max_requests: 2 },
      { period: 'hour', max_requests: 50 },
    ]),
  );
  t.strictSame(await moved.standing(), ['61s: 0 of 2, 0 tokens', 'hour: 5 of 50, 0 tokens']);
  await gateway.applyConfig({
    'gateway.yaml': {
      rate_limits: { user_paths: [{ path: '/moved/', limits: [{ period_seconds: 61, max_requests: 2 }] }] },
    },
  });
  t.equal((await moved.ask()).left, '1');
  await gateway.applyConfig({
    'gateway.yaml': {
      rate_limits: { user_paths: [{ path: 'moved', limits: [{ period_seconds: 61, max_requests: 3 }] }] },
    },
  });
  t.strictSame(await moved.standing(), ['61s: 1 of 3, 0 tokens'], 'another spelling is no other subject');
});

await test('a rule on slots that went and came back counts the requests still open, and is given each slot back once', async (t) => {
  const concurrent = (max_requests: number): Limit => ({ period: 'concurrent', max_requests });
  const slots = consumerAt('/slots');
  await gateway.applyConfig(slots.rules([concurrent(1)]));
  const gate = createGate();
  await upstream.behave({ kind: 'hold', gate });
  const held = slots.ask();
  await waitFor('a held request', () => gate.waiting === 1);
  t.equal((await slots.ask()).status, 429);
  await gateway.applyConfig(slots.rules([concurrent(2)]));
  const second = slots.ask();
  await waitFor('a second one', () => gate.waiting === 2);
  t.equal(await gateway.metric('gateway_rate_limit_in_flight'), 2);
  await gateway.applyConfig(slots.rules([minute(100)]));
  await gateway.applyConfig(slots.rules([concurrent(3)]));
  t.equal(await gateway.metric('gateway_rate_limit_in_flight'), 2, 'the two are still open');
  const third = slots.ask();
  await waitFor('a third one', () => gate.waiting === 3);
  t.equal((await slots.ask()).status, 429);
  gate.release();
  for (const answer of await Promise.all([held, second, third])) t.equal(answer.status, 200);
  t.equal(await gateway.metric('gateway_rate_limit_in_flight'), 0);
  t.equal((await slots.ask()).status, 200);
});

await test('a broken edit leaves rules and counters alone', async (t) => {
  const broken = consumerAt('/broken');
  await gateway.applyConfig(broken.rules([minute(3)]));
  t.equal((await broken.ask()).left, '2');
  gateway.writeConfig(broken.rules([minute(0)]));
  await waitFor('the refusal', async () => (await gateway.metric('gateway_config_last_reload_successful')) === 0);
  t.match(await broken.ask(), { limit: '3', left: '1' });
  await gateway.applyConfig(broken.rules([minute(5)]));
  t.match(await broken.ask(), { limit: '5', left: '2' });
});

await test('enabled: false switches every limit off, RATE_LIMITS_ENABLED decides over it', async (t) => {
  const switched = consumerAt('/switched');
  const concurrent = { period: 'concurrent', max_requests: 1 };
  const limited = {
    providers: [{ name: 'fake', limits: [minute(1)] }],
    models: [{ model: 'fake-small', limits: [minute(1)] }],
  };
  const on = switched.rules([minute(1), concurrent], limited);
  const off = switched.rules([minute(1), concurrent], { ...limited, enabled: false });
  await gateway.applyConfig(on);
  t.same(await switched.statuses(2), [200, 429]);

  const noLimits = async (why: string) => {
    for (let index = 0; index < 3; index += 1) t.match(await switched.ask(), { status: 200, limit: null }, why);
    t.strictSame(await switched.standing(), [], why);
    t.notOk(await gateway.metric('gateway_rate_limit_rule_info'), why);
  };
  await gateway.applyConfig(off);
  await noLimits('the file says off');
  await gateway.applyConfig(on);
  t.equal((await switched.ask()).status, 429, 'on again, nothing is forgotten');
  t.same(await switched.standing(), ['concurrent: 0 of 1, 0 tokens', 'minute: 1 of 1, 0 tokens']);

  await gateway.restart({ RATE_LIMITS_ENABLED: 'false' });
  await noLimits('the environment says off');
  await gateway.applyConfig(switched.rules([minute(1)], { enabled: true }));
  await noLimits('whatever the file says');
  await gateway.restart({ RATE_LIMITS_ENABLED: 'true' });
  await gateway.applyConfig(off);
  t.equal((await switched.ask()).status, 429, 'the environment says on, the file off; what was used before still is');
  t.equal((await switched.standing()).length, 2);
});
