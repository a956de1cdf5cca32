// Clients that leave while their request waits for the state store: nothing stays taken, nothing is sent, and those that wait beside it go on.
import { t as suite, type Test, test } from 'tap';
import { chatCall, chatHead } from '../support/chat-call.ts';
import { complaintsOf } from '../support/complaints.ts';
import { createGate, startFakeUpstream } from '../support/fake-upstream.ts';
import { masterKey, readMetric, startGateway, untilIdle } from '../support/gateway.ts';
import { openRaw, type RawConnection } from '../support/raw-http.ts';
import { startRedis } from '../support/redis.ts';
import { lastAnswer } from '../support/upload.ts';
import { waitFor } from '../support/wait-for.ts';

const upstream = await startFakeUpstream({ t: suite });
const redis = await startRedis(suite);

/** Two at a time, three in all. */
const limits = [
  { period: 'concurrent', max_requests: 2 },
  { period: 'hour', max_requests: 3, max_tokens: 100_000 },
];

/** Where a request waits, and who shares the counter. */
interface Place {
  readonly path: string;
  readonly provider: string;
}
type Write = (place: Place, mark: string) => string;

const body = ({ provider }: Place, mark: string, more: object = {}): object => {
  return { model: `${provider}/fake-small`, messages: [{ role: 'user', content: mark }], ...more };
};
const chat =
  (more: object = {}): Write =>
  (place, mark) =>
    chatCall(body(place, mark, more), { 'X-Gateway-User-Path': place.path });
const passed: Write = (place, mark) =>
  chatCall({ ...body(place, mark), model: 'fake-small' }, { 'X-Gateway-User-Path': place.path }).replace(
    '/v1/chat/completions',
    `/p/${place.provider}/chat/completions`,
  );
/** Of a body that is not read yet, so much comes that the end of the connection is seen. */
const file =
  (length: number): Write =>
  ({ path, provider }, mark) =>
    [
      `POST /p/${provider}/files?${mark} HTTP/1.1`,
      'Host: gateway.test',
      `Authorization: Bearer ${masterKey}`,
      `X-Gateway-User-Path: ${path}`,
      'Content-Type: application/octet-stream',
      `Content-Length: ${length}`,
      '',
      'x'.repeat(1_000),
    ].join('\r\n');
const broken: Write = ({ path }, mark) =>
  `${chatHead(1_000, { 'X-Gateway-User-Path': path })}{"messages":[{"role":"user","content":"${mark}`;

/** What the one sends that leaves, and the one that stays. */
const requests: Readonly<Record<string, readonly [leaves: Write, stays: Write]>> = {
  'a call': [chat(), chat()],
  'a stream': [chat({ stream: true }), chat({ stream: true })],
  'a call in the middle of its body': [broken, chat()],
  'a call that is passed on': [passed, passed],
  'an upload in the middle of its body': [file(1_000_000), file(1_000)],
};

const provider = { type: 'openai', base_url: upstream.url, models: ['fake-small'] };
const names = Object.keys(requests).map((_, index) => `p${index}`);
const gateway = await startGateway(suite, {
  config: {
    providers: Object.fromEntries(['free', ...names].map((name) => [name, provider])),
    rate_limits: {
      scope: 'fleet',
      // As long as the store is stopped at most.
      lease_wait: '3s',
      user_paths: [
        { path: '/team', per_child: true, limits },
        { path: '/other', limits: [{ period: 'hour', max_requests: 1_000 }] },
        { path: '/tokens', limits: [{ period: 'hour', max_requests: 1_000, max_tokens: 10_000 }] },
      ],
      providers: names.map((name) => ({ name, limits })),
    },
  },
  env: { REDIS_URL: redis.url, GATEWAY_ENTITLEMENTS: 'quota_templates' },
});

async function metric(name: string): Promise<number> {
  return (await gateway.metric(`gateway_${name}`)) ?? Number.NaN;
}

/** The marks of all requests that have come to the provider. */
const arrived = (mark: string): boolean =>
  upstream.ledger.some(({ target, body: bytes }) => target.includes(mark) || bytes.includes(mark));

/** Requests that the rule of a path counts, as the state store knows. */
async function counted(path: string): Promise<number> {
  const response = await gateway.fetch('/v1/usage', { headers: { 'x-gateway-user-path': path } });
  const { rate_limits: rows } = (await response.json()) as { rate_limits: { requests_used: number }[] };
  return rows.at(-1)?.requests_used ?? Number.NaN;
}

/** Lets a consumer have units in advance; of tokens a tenth of the cap. */
async function supply(path: string): Promise<void> {
  for (let count = 0; count < 4; count += 1) {
    await gateway.fetch('/v1/chat/completions', {
      method: 'POST',
      headers: { 'x-gateway-user-path': path },
      body: body({ path, provider: 'free' }, 'first', { max_tokens: 1 }),
    });
  }
}

/** Two requests wait for the store; the client of the first leaves. Gives the connection of the other one, which was answered. */
async function leaveOne(t: Test, place: Place, [leaves, stays]: readonly [Write, Write]): Promise<RawConnection> {
  await upstream.behave(({ path }) =>
    path.endsWith('/files') ? { kind: 'json', body: { ok: true } } : { kind: 'openai' },
  );
  const waitsBefore = await metric('rate_limit_waits_total');
  const [leaver, stayer] = await Promise.all([openRaw(gateway.port, { t }), openRaw(gateway.port, { t })]);
  const mark = `left-${upstream.ledger.length}`;
  redis.freeze();
  t.teardown(() => redis.thaw());
  await leaver.send(leaves(place, mark));
  await stayer.send(stays(place, 'stays'));
  await waitFor('both to wait', async () => (await metric('requests_in_flight')) === 2);
  await metric('requests_in_flight');
  leaver.socket.destroy();
  await metric('requests_in_flight');
  redis.thaw();
  t.equal((await lastAnswer(stayer)).status, 200, 'the one that waits beside it goes on');
  await untilIdle(gateway);
  t.ok((await metric('rate_limit_waits_total')) - waitsBefore >= 2, 'both have waited');
  t.notOk(arrived(mark), 'the provider hears nothing of it');
  const text = await gateway.metrics();
  t.equal(readMetric(text, 'gateway_rate_limit_in_flight'), 0);
  t.equal(readMetric(text, 'gateway_rate_limit_reserved_tokens'), 0);
  t.same(complaintsOf(gateway.process), []);
  return stayer;
}

await supply('/other');

for (const [index, [name, sent]] of Object.entries(requests).entries()) {
  for (const waitsFor of ['its consumer', 'its provider'] as const) {
    // A body is read before a target is asked for; only one that is passed on comes meanwhile.
    if (waitsFor === 'its provider' && sent[0] === broken) continue;
    await test(`${name} whose client leaves while it waits for the room of ${waitsFor}`, async (t) => {
      const place =
        waitsFor === 'its consumer'
          ? { path: `/team/${index}`, provider: 'free' }
          : { path: '/other', provider: `p${index}` };
      const countedBefore = await counted(place.path);
      const stayer = await leaveOne(t, place, sent);
      const gate = createGate();
      await upstream.behave([
        { kind: 'hold', gate },
        { kind: 'hold', gate },
      ]);
      const next = await Promise.all([openRaw(gateway.port, { t }), openRaw(gateway.port, { t })]);
      for (const each of next) await each.send(chat()(place, 'next'));
      await waitFor('both slots to be used', () => gate.waiting === 2);
      gate.release();
      for (const each of next) t.equal((await lastAnswer(each)).status, 200, 'two more have room');
      await stayer.send(chat()(place, 'too many'));
      const refused = await stayer.waitFor(({ responses }) => responses[1]?.complete && responses[1]);
      t.equal(refused.status, 429, 'and no third one');
      t.equal((await counted(place.path)) - countedBefore, 3, 'its consumer has paid nothing for it');
    });
  }
}

await test('a call whose client leaves while it waits for the tokens that it sets aside', async (t) => {
  await supply('/tokens');
  const countedBefore = await counted('/tokens');
  const long = chat({ max_tokens: 5_000 });
  await leaveOne(t, { path: '/tokens', provider: 'free' }, [long, long]);
  t.equal((await counted('/tokens')) - countedBefore, 1);
});
