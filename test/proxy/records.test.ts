// What a request that is over leaves behind: its record, the session it belongs to, the attempts and what they cost, and when there is none.
import { test } from 'tap';
import { type Price, priceOf } from '../../domain/prices/price.ts';
import type { AttemptRecord, RequestRecord } from '../../domain/records/request-record.ts';
import { readCall } from '../../proxy/call/call.ts';
import { CaptureBudget } from '../../proxy/capture/capture-budget.ts';
import { refusal, upstreamRefusal } from '../../proxy/errors.ts';
import { usageOfAccepted } from '../../proxy/records/attempts.ts';
import { knownSecrets } from '../../proxy/records/known-secrets.ts';
import { acceptedOf, type RecordedTrip } from '../../proxy/records/record-of-trip.ts';
import { createRecords } from '../../proxy/records/records.ts';
import { sessionIdOf } from '../../proxy/records/session-id.ts';
import type { AuditSettings } from '../../proxy/snapshot/snapshot.ts';
import { recordId } from '../../store/records/record-id.ts';
import type { RecordLine } from '../../store/records/record-line.ts';

const target = (name: string, price?: Price) => ({
  upstream: { name, type: 'openai', origin: 'http://127.0.0.1:1' },
  model: 'm',
  price,
});
const call = readCall(Buffer.from('{"model":"chat","temperature":0.5,"max_tokens":9,"messages":[]}')) as never;
const first = target('first');
const second = target('second', priceOf({ input_per_mtok: 0.15, output_per_mtok: 0.6 }));
const answered = { target: second, startedAtMs: 40, endedAtMs: 60, refused: undefined, answer: { status: 200 } };
const busy = { provider: 'first' };
const refused = {
  target: first,
  startedAtMs: 20,
  endedAtMs: 30,
  refused: upstreamRefusal(429, 'rate_limit_error', { message: 'slow down', code: 'busy', param: null }, busy),
  answer: { status: 429 },
};
const usage = { inputTokens: 1_001, outputTokens: 3, totalTokens: 1_004, source: 'reported' } as const;
const everything: AuditSettings = {
  isEnabled: true,
  hasBodies: false,
  hasOriginals: false,
  bodyLimitBytes: 65_536,
  hasHeaders: false,
  sample: 1,
  without: ['/team-b/private'],
};
const least = {
  path: '/v1/chat/completions',
  exchange: {
    id: 'req_1',
    startedAtMs: 10.5,
    clientAddress: '192.0.2.7',
    caller: undefined,
    request: { rawHeaders: ['User-Agent', 'sdk/1'] },
  },
  principal: { kind: 'managed_key', keyId: 'k1', userPath: '/team-a', keyHash: 'abcd' },
  call: undefined,
  route: undefined,
  failed: [],
  accepted: undefined,
  ending: { refused: undefined },
} satisfies Omit<RecordedTrip, 'snapshot'>;

function recordsOf(
  trips: readonly Partial<Omit<RecordedTrip, 'snapshot'>>[],
  settings: Partial<AuditSettings> = {},
  { status = 200, usageEnabled = true, random = 0.5 } = {},
): RequestRecord[] {
  const lines: string[] = [];
  const journal = { append: (line: RecordLine): void => void lines.push(String(line)) };
  const records = createRecords({
    captures: new CaptureBudget(0),
    journal,
    instance: 'a:1',
    usageEnabled,
    spent: () => undefined,
    random: () => random,
    reportFailure: (error) => {
      throw error;
    },
  });
  const snapshot = { revision: 'r1', audit: { ...everything, ...settings }, hasBudgets: true };
  for (const trip of trips) records.trip({ ...least, snapshot, ...trip }, { status, usage, nowMs: 110.5 });
  records.flush();
  return lines.map((line) => JSON.parse(line) as RequestRecord);
}

const attemptsOf = (trip: Partial<Omit<RecordedTrip, 'snapshot'>>): readonly AttemptRecord[] =>
  recordsOf([trip])[0]?.attempts ?? [];

await test('a record has what is known of a request', async (t) => {
  const route = { targets: [first, second], isAlias: true };
  const [record] = recordsOf([{ call, route, failed: [refused], accepted: { ...answered, upstreamId: 'up-1' } }]);
  t.match(record?.id, /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  t.match(record, {
    request_id: 'req_1',
    started_ms: 10,
    duration_ns: 100_000_000,
    first_byte_ns: 49_500_000,
    method: 'POST',
    path: '/v1/chat/completions',
    status_code: 200,
    requested_model: 'chat',
    resolved_model: 'second/m',
    provider: 'openai',
    provider_name: 'second',
    user_path: '/team-a',
    auth_key_id: 'k1',
    auth_method: 'api_key',
    alias_used: true,
  });
  t.same(record?.data, {
    api_key_hash: 'abcd',
    user_agent: 'sdk/1',
    temperature: 0.5,
    max_tokens: 9,
    failover: { target_model: 'second/m' },
    workflow_features: { audit: true, budget: true, cache: false, failover: true, guardrails: false, usage: true },
    config_revision: 'r1',
    instance: 'a:1',
  });
});

await test('each attempt has its kind, its error and what it cost', async (t) => {
  const [lost, won] = attemptsOf({ failed: [refused], accepted: { ...answered, upstreamId: 'up-1' } });
  t.match(lost, { seq: 1, kind: 'primary', success: false, status_code: 429, error_code: 'busy', duration_ns: 1e7 });
  t.match(lost?.usage, { total_tokens: 0, cost: { total: 0 } });
  t.match(won, { seq: 2, kind: 'failover', success: true, duration_ns: 70_500_000 });
  t.same(won?.usage, {
    input_tokens: 1_001,
    output_tokens: 3,
    total_tokens: 1_004,
    source: 'reported',
    cost: { input: 150_150, output: 1_800, total: 151_950 },
    provider_id: 'up-1',
  });
  const named = { answer: { id: 'chatcmpl-1', model: undefined } };
  const [own] = attemptsOf({ failed: [], accepted: { ...answered, upstreamId: 'up-1', named } });
  t.match(own?.usage, { provider_id: 'chatcmpl-1' }, 'the id of the answer, where it has one');
  const again = { ...answered, target: first };
  t.match(attemptsOf({ failed: [refused], accepted: again })[1], { kind: 'retry', usage: { cost: null } });
  const beside = { ...answered, startedAtMs: 25 };
  t.match(attemptsOf({ failed: [refused], accepted: beside })[1], { kind: 'hedge' });
  const behind = { ...answered, startedAtMs: 30 };
  const endedBetween = { ...refused, endedAtMs: 30.7 };
  t.match(attemptsOf({ failed: [endedBetween], accepted: behind })[1], { kind: 'failover' }, 'asked at once');
  const atOnce = { ...answered, startedAtMs: 10 };
  const [only] = attemptsOf({ accepted: atOnce });
  t.match(only, { started_ms: 10, duration_ns: 100_000_000 }, 'no attempt is longer than its request');
  const unreached = { ...refused, isSent: false, answer: { status: 0 } };
  t.equal(attemptsOf({ failed: [unreached] })[0]?.usage, undefined, 'a provider that was not reached cost nothing');
});

await test('what no answer tells costs an unknown amount, and nothing where no model was asked', (t) => {
  const end = { status: 200, usage: undefined, nowMs: 110 };
  const costOf = (isFree: boolean) => usageOfAccepted(acceptedOf({ ...least, isFree }, answered, end)).cost;
  t.equal(costOf(false), null);
  t.equal(costOf(true)?.total, 0);
  t.end();
});

await test('the key of the client is known however many blanks stand before it', (t) => {
  const head = { authorization: 'Bearer   the-master-key-42', apiKey: 'short' };
  t.same(knownSecrets({ exchange: { head } }), ['the-master-key-42']);
  t.end();
});

await test('names that a client chose take little room', async (t) => {
  const dropped = Array.from({ length: 5_000 }, (_, index) => `${index}${'x'.repeat(1_000)}`);
  const [record] = recordsOf([{ accepted: { ...answered, reading: { translated: { dropped } } } }]);
  t.equal(record?.data?.dropped?.length, 100);
  t.ok(JSON.stringify(record).length < 20_000);
});

await test('a broken answer is a failed attempt', async (t) => {
  const broken = refusal('stream_incomplete', { provider: 'second' });
  const [record] = recordsOf([{ accepted: answered, ending: { refused: broken } }], {}, { status: 502 });
  t.match(record, {
    error_type: 'provider_error',
    data: { error_code: 'stream_incomplete', error_provider: 'second' },
  });
  t.match(record?.attempts, [{ success: false, error_code: 'stream_incomplete' }]);
});

await test('an attempt whose client has left is no success, whenever it left', async (t) => {
  const left = recordsOf([{ accepted: answered, ending: { refused: refusal('client_left') } }], {}, { status: 499 });
  const leftLate = recordsOf([{ accepted: answered }], {}, { status: 499 });
  for (const [record] of [left, leftLate])
    t.match(record?.attempts, [{ success: false, error_code: 'client_left', status_code: 200 }]);
  const blocked = recordsOf([{ accepted: answered, ending: { refused: refusal('guardrail_blocked') } }]);
  t.match(blocked[0]?.attempts, [{ success: true }], 'what a guardrail refuses of an answer was answered');
});

await test('what is not wanted is not recorded', async (t) => {
  const executed = { accepted: answered };
  t.same(recordsOf([least], { isEnabled: false }), []);
  t.match(
    recordsOf([executed], { isEnabled: false }),
    [{ data: undefined, attempts: [{ usage: {} }] }],
    'but its usage',
  );
  t.same(recordsOf([least], { sample: 0.5 }), []);
  t.equal(recordsOf([least], { sample: 0.5 }, { status: 404 }).length, 1, 'what failed is always recorded');
  const principal = { ...least.principal, userPath: '/team-b/private/app' };
  t.same(recordsOf([{ principal }]), []);
  const expired = { ...least.exchange, caller: { userPath: '/team-b/private' } } as never;
  t.same(recordsOf([{ principal: undefined, exchange: expired }]), [], 'nor when its key is refused');
  const stranger = { principal: undefined, ending: { refused: refusal('invalid_api_key') } };
  const many = (trip: Parameters<typeof recordsOf>[0][number], status: number): number =>
    recordsOf(
      Array.from({ length: 200 }, () => trip),
      {},
      { status },
    ).length;
  t.equal(many(stranger, 401), 1, 'strangers cannot fill the store');
  t.equal(many({ ending: { refused: refusal('model_not_found') } }, 404), 100, 'nor can a loop of refused requests');
  t.equal(many(executed, 502), 200);
  t.match(recordsOf([executed], {}, { usageEnabled: false })[0]?.attempts, [{ usage: undefined }]);
});

await test('a session is named by the client, else by how it begins; it belongs to one user path', async (t) => {
  const callOf = (body: object) => readCall(Buffer.from(JSON.stringify({ model: 'm', ...body }))) as never;
  const ask = { messages: [{ role: 'user', content: 'Hello' }] };
  const later = {
    messages: [...ask.messages, { role: 'assistant', content: 'Hi' }, { role: 'user', content: 'More' }],
  };
  const header = ['X-Session-Id', 's1'];
  const named = sessionIdOf(header, callOf(ask), '/a');
  t.match(named, /^s1~[0-9a-f]{16}$/);
  t.equal(sessionIdOf([], callOf({ prompt_cache_key: 's1' }), '/a'), named);
  t.not(sessionIdOf(header, undefined, '/b'), named);
  t.equal(sessionIdOf(header, undefined, '/A'), named, 'letter case of a path does not matter');
  for (const unshown of [
    'x'.repeat(129),
    'a\u00e9',
    'a\tb',
    `s1~${'0'.repeat(16)}`,
    'sk-abcdefgh12345678',
    'my pass-word-1',
  ])
    t.match(sessionIdOf(['x-session-id', unshown], undefined, '/a', ['pass-word-1']), /^scoped-[0-9a-f]{32}$/, unshown);
  const uuid = '6b9e1f0c-1111-4222-8333-444455556666';
  const byUser = { metadata: { user_id: `user_abc_account__session_${uuid}` } };
  t.equal(sessionIdOf([], callOf(byUser), '/a'), sessionIdOf(['x-session-id', uuid], undefined, '/a'));
  const begun = sessionIdOf([], callOf(ask), '/a');
  t.match(begun, /^auto-[0-9a-f]{32}$/);
  t.equal(sessionIdOf([], callOf(later), '/a'), begun);
  t.not(sessionIdOf([], callOf(ask), '/b'), begun);
  t.equal(
    sessionIdOf([], callOf({ metadata: { user_id: 'ann' }, prompt: 'x' }), '/a'),
    undefined,
    'a user is no session',
  );
});

await test('ids grow, and none comes twice', async (t) => {
  const ids = Array.from({ length: 10_000 }, (_, index) => recordId(1_000 + (index >> 13)));
  t.equal(new Set(ids).size, ids.length);
  t.same(ids, ids.toSorted());
});

await test('a conversation is the same however its first turn is written, and whatever follows it', async (t) => {
  const idOf = (text: string) => sessionIdOf([], readCall(Buffer.from(text)), '/a');
  const body = (messages: string) => `{"model":"m","messages":[${messages}]}`;
  const user = '{"role":"user","content":"a ] , {\\"role\\":\\"assistant\\"} b"}';
  const begun = idOf(body(user));
  const rows: [says: string, messages: string][] = [
    ['an answer', `${user},{"role":"assistant","content":"x"},{"role":"user","content":"y"}`],
    ['an answer with its role at the end', `${user}, {"content":"x","role":"assistant"}`],
    ['another question', `${user},{"role":"user","content":"y"}`],
    ['an answer behind two questions', `${user},{"role":"user","content":"y"},{"role":"assistant","content":"x"}`],
    ['an item without a role', `${user},{"type":"function_call","name":"f"}`],
  ];
  for (const [says, messages] of rows) t.equal(idOf(body(messages)), begun, says);
  t.not(idOf(body('{"role":"user","content":"another"}')), begun);
  t.not(idOf(`{"model":"m","system":"S","messages":[${user}]}`), begun);
});

await test('what cannot be recorded is told, and costs no answer', async (t) => {
  const told: unknown[] = [];
  const reportFailure = (_: unknown, requestId: string): void => void told.push(requestId);
  const journal = { append: () => t.fail('there is nothing to append') };
  const spent = () => t.fail('nothing is known to have cost something');
  const options = { captures: {} as never, instance: 'a:1', usageEnabled: true, spent, random: () => 0, reportFailure };
  const snapshot = { revision: 'r1', audit: everything, hasBudgets: true };
  const broken = { ...answered, target: undefined } as never;
  const records = createRecords({ ...options, journal });
  records.trip({ ...least, snapshot, accepted: broken }, { status: 200, usage, nowMs: 110 });
  records.flush();
  t.same(told, ['req_1']);
});
