// The line of a record: however it is put together, it says what JSON.stringify makes of the record.
import * as fc from 'fast-check';
import { test } from 'tap';
import { priceOf } from '../../domain/prices/price.ts';
import type { AttemptUsage } from '../../domain/records/usage.ts';
import { readCall } from '../../proxy/call/call.ts';
import { refusal } from '../../proxy/errors.ts';
import { RecordLines } from '../../proxy/records/record-lines.ts';
import { type RecordedEnd, type RecordedTrip, recordOfTrip } from '../../proxy/records/record-of-trip.ts';
import type { CachedFacts } from '../../store/cache/answer-cache.ts';
import { anyCharacter } from '../support/arbitrary.ts';

const targets = ['first', 'second "quoted"'].map((name, index) => ({
  upstream: { name, type: 'openai', origin: 'http://127.0.0.1:1' },
  model: index === 0 ? 'm' : '',
  price: index === 0 ? priceOf({ input_per_mtok: 0.15, output_per_mtok: 0.6 }) : undefined,
}));
const text = fc.oneof(
  fc.string({ maxLength: 12 }),
  // Longer than its place was before, and longer than any place.
  fc.string({ maxLength: 60 }),
  fc.constant('é'.repeat(600)),
  fc.string({ unit: anyCharacter, maxLength: 8 }),
  fc.constant('plain'),
);
const moment = fc.double({ min: 1, max: 2e12, noNaN: true });
const count = fc.nat(10_000_000);
const anyCall = fc
  .record(
    {
      model: fc.constantFrom('chat', 'a"b', 'ü', 'sk-abcdefghijkl'),
      stream: fc.boolean(),
      temperature: fc.double({ min: 0, max: 2, noNaN: true }),
      max_tokens: fc.integer(),
      messages: fc.constant([{ role: 'user', content: 'Hello' }]),
    },
    { requiredKeys: ['model'] },
  )
  .map((body) => readCall(Buffer.from(JSON.stringify(body))));
const anyPrincipal = fc.record({
  kind: fc.constantFrom('managed_key', 'master_key'),
  keyId: fc.constantFrom('k1', undefined),
  userPath: fc.constantFrom('/', '/team-a'),
  keyHash: fc.constantFrom('abcd', undefined),
  labels: fc.constantFrom(['one'], undefined),
});
const anyAttempt = fc.record({
  target: fc.constantFrom(...targets),
  startedAtMs: moment,
  endedAtMs: moment,
  refused: fc.constantFrom(undefined, refusal('upstream_timeout', { provider: 'first' })),
  answer: fc.constantFrom(undefined, { status: 200 }, { status: 429 }, { status: 0 }),
  upstreamId: fc.option(text, { nil: undefined }),
  reading: fc.constantFrom(undefined, { translated: { dropped: [] } }, { translated: { dropped: ['seed'] } }),
});
/** Half of all are usual ones. */
const seldom = (value: fc.Arbitrary<unknown>, usual: unknown): fc.Arbitrary<unknown> =>
  fc.oneof({ weight: 9, arbitrary: fc.constant(usual) }, { weight: 1, arbitrary: value });
const anyUsage: fc.Arbitrary<AttemptUsage> = fc.record(
  {
    input_tokens: count,
    output_tokens: count,
    total_tokens: count,
    reasoning_tokens: count,
    source: fc.constantFrom('reported', 'estimated'),
    cost: fc.constantFrom(null, { input: 1, output: 2, total: 3 }),
    provider_id: text,
  },
  { requiredKeys: ['input_tokens', 'output_tokens', 'total_tokens', 'source', 'cost'] },
);
const anyTrip: fc.Arbitrary<RecordedTrip> = fc.record({
  path: fc.constantFrom('/v1/chat/completions', '/v1/messages'),
  exchange: fc.record({
    id: text,
    startedAtMs: moment,
    clientAddress: text,
    caller: fc.constant(undefined),
    request: fc.record({
      rawHeaders: fc
        .subarray(['User-Agent', 'session_id', 'X-Session-Id'])
        .chain((names) =>
          fc
            .tuple(...names.map(() => text))
            .map((values) => names.flatMap((name, index) => [name, values[index] ?? ''])),
        ),
    }) as never,
  }),
  snapshot: fc.record({
    revision: fc.constantFrom('r1', 'r2'),
    hasBudgets: fc.boolean(),
    audit: fc.record({
      isEnabled: fc.constant(true),
      hasBodies: fc.constant(false),
      bodyLimitBytes: fc.constant(65_536),
      hasHeaders: seldom(fc.constant(true), false),
      sample: fc.constant(1),
      without: fc.constant([]),
    }),
  }),
  principal: seldom(fc.oneof(anyPrincipal, fc.constant(undefined)), {
    kind: 'master_key',
    keyId: undefined,
    userPath: '/',
  }),
  call: fc.oneof({ weight: 9, arbitrary: anyCall }, { weight: 1, arbitrary: fc.constant(undefined) }),
  route: seldom(fc.constantFrom(undefined, { targets, isAlias: true }, { targets: targets.slice(1), isAlias: false }), {
    targets: targets.slice(0, 1),
    isAlias: false,
  }),
  failed: seldom(fc.array(anyAttempt, { maxLength: 2 }), []),
  askedBy: fc.constantFrom(undefined, 'gateway'),
  accepted: fc.oneof({ weight: 9, arbitrary: anyAttempt }, { weight: 1, arbitrary: fc.constant(undefined) }),
  ending: seldom(fc.constant({ refused: refusal('upstream_timeout', { provider: 'first' }) }), { refused: undefined }),
}) as never;
const anyEnd: fc.Arbitrary<RecordedEnd> = fc.record({
  status: seldom(fc.constantFrom(499, 502), 200),
  nowMs: moment,
  usage: fc.option(
    fc.record(
      {
        inputTokens: count,
        outputTokens: count,
        totalTokens: count,
        source: fc.constantFrom('reported', 'estimated', 'partial'),
        cachedInputTokens: count,
        audioSeconds: fc.double({ min: 0, max: 100, noNaN: true }),
      },
      { requiredKeys: ['inputTokens', 'outputTokens', 'totalTokens', 'source'] },
    ),
    { nil: undefined },
  ),
}) as never;

/** What the cache and guardrails add to a trip that is the same otherwise. */
const missed = { outcome: 'miss', hit: undefined } as const;
const anyFacts = fc.record(
  { provider: fc.constantFrom('first', 'é'), type: fc.constant('openai'), model: text, usage: anyUsage },
  { requiredKeys: ['provider', 'type', 'model'] },
);
const passed = { findings: [], revisions: [], changesAnswer: false };

/** Ids differ with each record, and a line may have spaces between its values. */
function withoutId(line: string | Buffer): string {
  return JSON.stringify(JSON.parse(line.toString())).replace(/^\{"id":"[0-9a-f-]{36}"/, '{"id":""');
}

await test('a line is the JSON of its record, whatever was recorded before', async (t) => {
  for (const hasUsage of [true, false]) {
    const lines = new RecordLines({ hasUsage, instance: 'a:1' });
    const check = (trip: RecordedTrip, end: RecordedEnd, facts: CachedFacts, hasAudit: boolean): void => {
      const kept = { ...trip, accepted: undefined, caching: { outcome: 'hit', hit: { facts } } as const };
      for (const each of [trip, { ...trip, caching: missed }, { ...trip, guarding: passed }, kept]) {
        const expected = withoutId(JSON.stringify(recordOfTrip(each, end, { hasAudit, hasUsage, instance: 'a:1' })));
        for (const line of [lines.ofTrip(each, end, hasAudit), lines.ofTrip(each, end, hasAudit)]) {
          if (withoutId(line) !== expected) throw new Error(`${line.toString()}\nis not\n${expected}`);
        }
      }
    };
    fc.assert(fc.property(anyTrip, anyEnd, anyFacts, fc.boolean(), check), { numRuns: 1_000 });
    t.ok(lines.kept > 0, 'usual lines are put together');
  }
});

await test('of many callers no more is kept than a bound', async (t) => {
  const lines = new RecordLines({ hasUsage: true, instance: 'a:1' });
  const [usual] = fc.sample(anyCall, { numRuns: 1, seed: 1 });
  const [target] = targets;
  const accepted = { target, startedAtMs: 1, endedAtMs: 2, refused: undefined, answer: { status: 200 } };
  let most = 0;
  for (let index = 0; index < 2_500; index += 1) {
    const trip = {
      path: '/v1/chat/completions',
      exchange: { id: 'r', startedAtMs: 0, clientAddress: '::1', caller: undefined, request: { rawHeaders: [] } },
      snapshot: { revision: 'r1', hasBudgets: false, audit: { hasHeaders: false } },
      principal: { kind: 'managed_key', keyId: `k${index}`, userPath: '/' },
      call: usual,
      route: { targets: [target], isAlias: false },
      failed: [],
      accepted,
      ending: { refused: undefined },
    };
    lines.ofTrip(trip as never, { status: 200, usage: undefined, nowMs: 3 }, true);
    most = Math.max(most, lines.kept);
  }
  t.equal(most, 1_000);
});
