// A guardrail that asks a service: what it asks, which answers count, and what a service that hangs, dies or lies leads to.
import { createHmac } from 'node:crypto';
import { test } from 'tap';
import { type Behaviour, upstreamFaults } from '../../support/fake-upstream.ts';
import { waitFor } from '../../support/wait-for.ts';
import { hookStand } from './hook-stand.ts';

const answers = (body: unknown): Behaviour => ({ kind: 'json', body: JSON.stringify(body) });

await test('the question says who asks for what, is signed, and goes out on a kept connection', async (t) => {
  const secret = 'a-shared-secret';
  const { service, check } = await hookStand(t, { secret, headers: ['Authorization', 'Bearer token'] });
  await service.behave(answers({ verdict: 'pass' }));
  t.same(await check('hello', 'world'), { outcome: 'pass' });
  t.same(await check(''), { outcome: 'pass' }, 'without a word the webhook is not asked');
  t.same(await check('again'), { outcome: 'pass' });
  const [first] = service.ledger;
  t.equal(`${first?.method} ${first?.target}`, 'POST /check?a=b');
  t.same(first?.json(), {
    guardrail: 'words',
    phase: 'input',
    request_id: 'req_1',
    user_path: '/team',
    model: 'chat',
    texts: ['hello', 'world'].map((text) => ({ role: 'user', form: 'text', text })),
  });
  const headers = new Map(first?.headers.map(([name, value]) => [name.toLowerCase(), value]));
  t.equal(headers.get('authorization'), 'Bearer token');
  t.equal(headers.get('traceparent'), 'of-the-line');
  t.equal(headers.get('content-type'), 'application/json');
  const digest = createHmac('sha256', secret)
    .update(first?.body ?? '')
    .digest('hex');
  t.equal(headers.get('x-gateway-signature'), `sha256=${digest}`);
  t.equal(service.ledger.length, 2);
  t.equal(service.connections.length, 1);
});

await test('a kept connection that was closed is replaced, and the question succeeds', async (t) => {
  const { service, check } = await hookStand(t);
  await service.behave(answers({ verdict: 'pass' }));
  for (const how of ['fin', 'rst'] as const) {
    t.same(await check('a'), { outcome: 'pass' });
    service.dropConnections(how);
    t.same(await check('b'), { outcome: 'pass' }, how);
  }
});

await test('each verdict of the contract counts', async (t) => {
  const { service, check } = await hookStand(t);
  for (const [answer, verdict] of [
    [{ verdict: 'pass', reason: null }, { outcome: 'pass' }],
    [{ verdict: 'flag' }, { outcome: 'flag', reason: 'webhook' }],
    [
      { verdict: 'block', reason: 'medical advice' },
      { outcome: 'block', reason: 'medical advice' },
    ],
    [
      { verdict: 'revise', texts: ['x', ''] },
      { outcome: 'revise', texts: ['x', ''] },
    ],
    [
      { verdict: 'revise', texts: ['x', 'y'], reason: 'names' },
      { outcome: 'revise', texts: ['x', 'y'], reason: 'names' },
    ],
  ] as const) {
    await service.behave(answers(answer));
    t.same(await check('a', 'b'), verdict, JSON.stringify(answer));
  }
});

await test('a lie is a failure, whatever it says', async (t) => {
  const { service, check } = await hookStand(t);
  const lies: readonly unknown[] = [
    [],
    'pass',
    {},
    { verdict: 'PASS' },
    { verdict: 'allow' },
    { verdict: 'pass', texts: ['a', 'b'] },
    { verdict: 'pass', further: true },
    { verdict: 'block', reason: 7 },
    { verdict: 'block', reason: `he said "${'a'.repeat(100)}"` },
    { verdict: 'revise' },
    { verdict: 'revise', texts: ['a'] },
    { verdict: 'revise', texts: ['a', 'b', 'c'] },
    { verdict: 'revise', texts: ['a', 7] },
  ];
  for (const lie of lies) {
    await service.behave(answers(lie));
    t.same(await check('a', 'b'), { outcome: 'failed', reason: 'invalid', fail: 'closed' }, JSON.stringify(lie));
  }
  const long = 'a'.repeat(600 * 1024);
  for (const [behaviour, reason] of [
    [{ kind: 'json', body: 'pass' }, 'invalid'],
    [{ kind: 'error', status: 500 }, 'status'],
    [{ kind: 'json', status: 201, body: '{"verdict":"pass"}' }, 'status'],
    [{ kind: 'redirect', location: 'http://127.0.0.1:9/' }, 'status'],
    [answers({ verdict: 'revise', texts: [long, long] }), 'broken'],
  ] as const) {
    await service.behave(behaviour);
    t.match(await check('a', 'b'), { outcome: 'failed', reason }, reason);
  }
  await service.behave(answers({ verdict: 'revise', texts: [long, long] }));
  t.match(await check(`${long}a`, long), { outcome: 'revise' }, 'long texts may be written anew');
});

await test('a service that hangs or dies costs its timeout at most, and leaves nothing open', async (t) => {
  const { service, hooks, check } = await hookStand(t, { timeoutMs: 150 }, { fail: 'open' });
  for (const [name, behaviour] of Object.entries(upstreamFaults)) {
    await service.behave(behaviour);
    const startedMs = performance.now();
    const verdict = await check('a');
    const tookMs = performance.now() - startedMs;
    t.match(verdict, { outcome: 'failed', fail: 'open' }, name);
    t.ok(tookMs < 3_000, `${name}: ${Math.round(tookMs)} ms`);
    t.equal(hooks.openOf('webhook words'), 0, name);
  }
  await service.behave(answers({ verdict: 'pass' }));
  t.same(await check('a'), { outcome: 'pass' });
});

await test('beyond the most calls at once no question waits', async (t) => {
  const { service, hooks, check } = await hookStand(t, { mostAtOnce: 2, timeoutMs: 300 });
  await service.behave({ kind: 'hang' });
  const hanging = [check('a'), check('b')];
  t.match(await check('c'), { outcome: 'failed', reason: 'busy' });
  t.equal(hooks.openOf('webhook words'), 2, 'it is told before one of the others is over');
  t.match(await Promise.all(hanging), [{ reason: 'timeout' }, { reason: 'timeout' }]);
  t.equal(hooks.openOf('webhook words'), 0);
  await service.behave(answers({ verdict: 'pass' }));
  t.same(await check('c'), { outcome: 'pass' });
});

await test('a client that leaves breaks the question off', async (t) => {
  const leaving = new AbortController();
  const { service, hooks, check } = await hookStand(t, { timeoutMs: 5_000 }, {}, leaving.signal);
  await service.behave({ kind: 'hang' });
  const asking = check('a');
  await service.waitFor((ledger) => ledger[0]?.bodyComplete);
  leaving.abort();
  t.match(await asking, { outcome: 'failed', reason: 'cancelled' });
  t.equal(hooks.openOf('webhook words'), 0);
  await waitFor('the service to notice', () => service.ledger[0]?.clientClosedAtMs);
  t.match(await check('b'), { reason: 'cancelled' });
  t.equal(service.ledger.length, 1);
});

await test('a streamed text is asked about window by window, and released as it passed', async (t) => {
  const { service, checks, context } = await hookStand(t);
  const ask = () => checks.stream?.('text', { ...context, phase: 'output' });
  await service.behave(answers({ verdict: 'pass' }));
  const stream = ask();
  t.same(await stream?.push('12345'), { text: '' });
  t.equal(service.ledger.length, 0, 'half a window is not asked about');
  t.same(await stream?.push('67890\ud83d'), { text: '1234567890' }, 'no emoji is cut');
  t.same(await stream?.push('\ude00'), { text: '' });
  t.same(await stream?.end(), { text: '😀' });
  t.same(await stream?.end(), { text: '' });
  t.match(
    service.ledger.map((entry) => entry.json()),
    [{ phase: 'output', texts: [{ role: 'assistant', text: '1234567890' }] }, { texts: [{ text: '😀' }] }],
  );
  for (const [answer, text] of [
    [{ verdict: 'flag' }, 'long enough'],
    [{ verdict: 'block' }, ''],
    [{ verdict: 'revise', texts: ['other'] }, 'other'],
    [{ verdict: 'no' }, ''],
  ] as const) {
    await service.behave(answers(answer));
    t.match(await ask()?.push('long enough'), { text, verdict: {} }, answer.verdict);
  }
});

await test('without a way outside, no service is asked', async (t) => {
  const { service, checks, context } = await hookStand(t);
  t.same(await checks.texts?.([{ role: 'user', form: 'text', text: 'a' }], { ...context, outside: undefined }), {
    outcome: 'failed',
    reason: 'not_asked',
    fail: 'closed',
  });
  t.equal(service.ledger.length, 0);
});
