// An edit of rate limits that are in use: rules are replaced, counters are kept.
import { t as suite, test } from 'tap';
import { ask, usageOf } from '../support/consumer.ts';
import { createGate, startFakeUpstream } from '../support/fake-upstream.ts';
import { type Gateway, startGateway } from '../support/gateway.ts';
import { waitFor } from '../support/wait-for.ts';

const upstream = await startFakeUpstream({ t: suite });
suite.beforeEach(() => upstream.behave({ kind: 'openai' }));

type Limit = Record<string, string | number>;

const minute = (max_requests: number): Limit => ({ period: 'minute', max_requests });
/** The whole config: these limits on /team, and whatever else `rate_limits` shall hold. */
const rules = (limits: readonly Limit[], rest: object = {}) => ({
  'gateway.yaml': { rate_limits: { user_paths: limits.length === 0 ? [] : [{ path: '/team', limits }], ...rest } },
});

async function askTeam(gateway: Gateway) {
  const { status, text, headers } = await ask(gateway, '/team');
  const header = (name: string) => headers.get(`x-ratelimit-${name}`);
  return { status, text, limit: header('limit-requests'), left: header('remaining-requests') };
}

/** Every rule that covers /team, as `minute: 2 of 3, 26 tokens`. */
async function standing(gateway: Gateway): Promise<string[]> {
  const rows = await usageOf(gateway, '/team');
  return rows.map(
    ({ period_label, requests_used, max_requests = 'any', tokens_used }) =>
      `${period_label}: ${requests_used} of ${max_requests}, ${tokens_used} tokens`,
  );
}

await test('caps change in place: what was used stays used', async (t) => {
  const gateway = await startGateway(t, { upstream, files: rules([{ ...minute(2), max_tokens: 500 }]) });
  for (const status of [200, 200, 429]) t.equal((await askTeam(gateway)).status, status);

  await gateway.applyConfig(rules([{ ...minute(4), max_tokens: 500 }]));
  t.match(await askTeam(gateway), { status: 200, limit: '4', left: '1' }, 'raised: the next request passes');
  t.strictSame(await standing(gateway), ['minute: 3 of 4, 39 tokens']);

  await gateway.applyConfig(rules([{ ...minute(1), max_tokens: 500 }]));
  t.match(await askTeam(gateway), { status: 429, limit: '1', left: '0' }, 'lowered below what is used');
  t.strictSame(await standing(gateway), ['minute: 3 of 1, 39 tokens']);

  await gateway.applyConfig(rules([{ ...minute(9), max_tokens: 30 }]));
  t.match((await askTeam(gateway)).text, '/team: 30 tokens per minute');

  await gateway.applyConfig(rules([{ ...minute(3), max_tokens: 30, mode: 'shadow' }]));
  t.match(await askTeam(gateway), { status: 200, limit: null }, 'watching only');
  await gateway.applyConfig(rules([minute(9)]));
  t.strictSame(await standing(gateway), ['minute: 3 of 9, 0 tokens'], 'a shadow that would refuse takes nothing');

  await gateway.applyConfig(rules([{ period_seconds: 60, max_requests: 9 }]));
  t.strictSame(await standing(gateway), ['minute: 3 of 9, 0 tokens'], 'another word for the same period');
});

await test('a rule that went and came back, or moved to another period, starts anew', async (t) => {
  const gateway = await startGateway(t, { upstream, files: rules([minute(2), { period: 'hour', max_requests: 50 }]) });
  for (const status of [200, 200, 429]) t.equal((await askTeam(gateway)).status, status);

  await gateway.applyConfig(rules([{ period: 'hour', max_requests: 50 }]));
  t.match(await askTeam(gateway), { status: 200, limit: '50', left: '47' }, 'the other rule is untouched');
  await gateway.applyConfig(rules([minute(2), { period: 'hour', max_requests: 50 }]));
  t.strictSame(await standing(gateway), ['minute: 0 of 2, 0 tokens', 'hour: 3 of 50, 0 tokens']);
  for (const status of [200, 200, 429]) t.equal((await askTeam(gateway)).status, status);

  await gateway.applyConfig(
    rules([
      { period_seconds: 61, max_requests: 2 },
      { period: 'hour', max_requests: 50 },
    ]),
  );
  t.strictSame(await standing(gateway), ['61s: 0 of 2, 0 tokens', 'hour: 5 of 50, 0 tokens']);
  await gateway.applyConfig({
    'gateway.yaml': {
      rate_limits: { user_paths: [{ path: '/team/', limits: [{ period_seconds: 61, max_requests: 2 }] }] },
    },
  });
  t.equal((await askTeam(gateway)).left, '1');
  await gateway.applyConfig({
    'gateway.yaml': {
      rate_limits: { user_paths: [{ path: 'team', limits: [{ period_seconds: 61, max_requests: 3 }] }] },
    },
  });
  t.strictSame(await standing(gateway), ['61s: 1 of 3, 0 tokens'], 'another spelling is no other subject');
});

await test('a rule on slots that went and came back counts the requests still open, and is given each slot back once', async (t) => {
  const concurrent = (max_requests: number): Limit => ({ period: 'concurrent', max_requests });
  const gateway = await startGateway(t, { upstream, files: rules([concurrent(1)]) });
  const gate = createGate();
  await upstream.behave({ kind: 'hold', gate });
  const held = askTeam(gateway);
  await waitFor('a held request', () => gate.waiting === 1);
  t.equal((await askTeam(gateway)).status, 429);
  await gateway.applyConfig(rules([concurrent(2)]));
  const second = askTeam(gateway);
  await waitFor('a second one', () => gate.waiting === 2);
  t.equal(await gateway.metric('gateway_rate_limit_in_flight'), 2);
  await gateway.applyConfig(rules([minute(100)]));
  await gateway.applyConfig(rules([concurrent(3)]));
  t.equal(await gateway.metric('gateway_rate_limit_in_flight'), 2, 'the two are still open');
  const third = askTeam(gateway);
  await waitFor('a third one', () => gate.waiting === 3);
  t.equal((await askTeam(gateway)).status, 429);
  gate.release();
  for (const answer of await Promise.all([held, second, third])) t.equal(answer.status, 200);
  t.equal(await gateway.metric('gateway_rate_limit_in_flight'), 0);
  t.equal((await askTeam(gateway)).status, 200);
});

await test('a broken edit leaves rules and counters alone', async (t) => {
  const gateway = await startGateway(t, { upstream, files: rules([minute(3)]) });
  t.equal((await askTeam(gateway)).left, '2');
  gateway.writeConfig(rules([minute(0)]));
  await waitFor('the refusal', async () => (await gateway.metric('gateway_config_last_reload_successful')) === 0);
  t.match(await askTeam(gateway), { limit: '3', left: '1' });
  await gateway.applyConfig(rules([minute(5)]));
  t.match(await askTeam(gateway), { limit: '5', left: '2' });
});

await test('enabled: false switches every limit off, RATE_LIMITS_ENABLED decides over it', async (t) => {
  const concurrent = { period: 'concurrent', max_requests: 1 };
  const limited = {
    providers: [{ name: 'fake', limits: [minute(1)] }],
    models: [{ model: 'fake-small', limits: [minute(1)] }],
  };
  const on = rules([minute(1), concurrent], limited);
  const off = rules([minute(1), concurrent], { ...limited, enabled: false });
  const gateway = await startGateway(t, { upstream, files: on });
  for (const status of [200, 429]) t.equal((await askTeam(gateway)).status, status);

  const noLimits = async (why: string) => {
    for (let index = 0; index < 3; index += 1) t.match(await askTeam(gateway), { status: 200, limit: null }, why);
    t.strictSame(await standing(gateway), [], why);
    t.notOk(await gateway.metric('gateway_rate_limit_rule_info'), why);
  };
  await gateway.applyConfig(off);
  await noLimits('the file says off');
  await gateway.applyConfig(on);
  t.equal((await askTeam(gateway)).status, 429, 'on again, nothing is forgotten');
  t.same(await standing(gateway), ['concurrent: 0 of 1, 0 tokens', 'minute: 1 of 1, 0 tokens']);

  await gateway.restart({ RATE_LIMITS_ENABLED: 'false' });
  await noLimits('the environment says off');
  await gateway.applyConfig(rules([minute(1)], { enabled: true }));
  await noLimits('whatever the file says');
  await gateway.restart({ RATE_LIMITS_ENABLED: 'true' });
  await gateway.applyConfig(off);
  t.equal((await askTeam(gateway)).status, 429, 'the environment says on, the file off; what was used before still is');
  t.equal((await standing(gateway)).length, 2);
});

await test('variables take the place of what the files say of their path or provider', async (t) => {
  const files = rules([minute(50), { period: 'hour', max_requests: 100 }], {
    providers: [{ name: 'fake', limits: [minute(70), { period: 'hour', max_requests: 10 }] }],
  });
  const gateway = await startGateway(t, {
    upstream,
    files,
    env: {
      SET_RATE_LIMIT_TEAM: 'rpm=3,tpm=900',
      SET_RATE_LIMIT_: '[{"period_seconds":300,"max_requests":40}]',
      SET_PROVIDER_RATE_LIMIT_FAKE: 'rpm=2,concurrent=5',
    },
  });
  t.match(await askTeam(gateway), { status: 200, limit: '2', left: '1' }, 'the provider has the least');
  t.strictSame(await standing(gateway), ['300s: 1 of 40, 0 tokens', 'minute: 1 of 3, 13 tokens']);
  t.equal((await askTeam(gateway)).left, '0');
  t.match((await askTeam(gateway)).text, 'for provider fake: 2 requests per minute');

  await gateway.applyConfig(rules([minute(9)]));
  t.strictSame(
    await standing(gateway),
    ['300s: 2 of 40, 0 tokens', 'minute: 2 of 3, 26 tokens'],
    'no edit changes that',
  );

  await gateway.restart({
    SET_RATE_LIMIT_TEAM: undefined,
    SET_RATE_LIMIT_: undefined,
    SET_PROVIDER_RATE_LIMIT_FAKE: undefined,
  });
  t.strictSame(await standing(gateway), ['minute: 2 of 9, 0 tokens'], 'the file again; the rule is the same one');
});
