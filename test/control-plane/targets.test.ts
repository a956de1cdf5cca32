// GET /admin/targets: what the live proxies know of targets, put together.
import { Ajv2020 } from 'ajv/dist/2020.js';
import { test } from 'tap';
import { targetListing } from '../../control-plane/admin/targets/listing.ts';
import type { TargetDrain } from '../../domain/targets/target-drain.ts';
import schema from '../../schemas/admin/targets.schema.json' with { type: 'json' };
import type { AskedTarget, HeartbeatBody } from '../../store/state/heartbeat-body.ts';
import { sampleHeartbeat } from '../support/managed-state.ts';

const validate = new Ajv2020({ strict: false, formats: { 'date-time': true } }).compile(schema);
const nowMs = Date.UTC(2026, 5, 1);

function proxy(instance: string, body: Partial<HeartbeatBody>, isLive = true) {
  return { instance, isLive, body: { ...sampleHeartbeat(), ...body } };
}

const listing = (proxies: ReturnType<typeof proxy>[], drains: readonly TargetDrain[] = []) =>
  targetListing({ proxies, drains, nowMs, isStale: false });

const fast: AskedTarget = ['a', 'm', 'closed', 90, 1, 12, 40, [['requests', 7, 10]]];

await test('the calls of all live proxies are added up, and each says what it knows', async (t) => {
  const open: AskedTarget = ['a', 'm', 'open', 10, 9, null, null, [['tokens', 5, null]]];
  const said = listing([
    proxy('p1', { asked_targets: [['b', 'm', 'closed', 0, 0, 3, null, []], fast], asked_target_count: 2 }),
    proxy('p2', { asked_targets: [open], unusable_targets: [['a', 'm', 'breaker_open', nowMs + 1000]] }),
    proxy('gone', { asked_targets: [fast] }, false),
    proxy('older', {}),
  ]);
  t.ok(validate(said), JSON.stringify(validate.errors));
  t.same(said, {
    server_time: '2026-06-01T00:00:00.000Z',
    window_seconds: 60,
    complete: true,
    drains: [],
    targets: [
      {
        provider: 'a',
        model: 'm',
        calls: 100,
        failures: 10,
        proxies: [
          {
            instance: 'p1',
            breaker: 'closed',
            calls: 90,
            failures: 1,
            first_byte_ms: 12,
            first_byte_p95_ms: 40,
            limits: [{ dimension: 'requests', remaining: 7, limit: 10 }],
          },
          {
            instance: 'p2',
            breaker: 'open',
            calls: 10,
            failures: 9,
            limits: [{ dimension: 'tokens', remaining: 5 }],
            obstacle: 'breaker_open',
            until: '2026-06-01T00:00:01.000Z',
          },
        ],
      },
      {
        provider: 'b',
        model: 'm',
        calls: 0,
        failures: 0,
        proxies: [{ instance: 'p1', breaker: 'closed', calls: 0, failures: 0, first_byte_ms: 3, limits: [] }],
      },
    ],
  });
});

await test('a list that a proxy has cut is not complete', async (t) => {
  t.match(listing([proxy('p', { asked_targets: [fast], asked_target_count: 2 })]), { complete: false });
});

await test('what is taken out is listed, and marked at each of its models, asked or not', async (t) => {
  const written = { createdAt: '2026-06-01T00:00:00.000Z', updatedAt: '2026-06-01T00:00:00.000Z', updatedBy: 'k' };
  const until = (hour: number): string => `2026-06-01T0${hour}:00:00.000Z`;
  const provider = { key: 'a', provider: 'a', reason: 'maintenance', expiresAt: until(2), ...written };
  const model = { key: 'b/x/y', provider: 'b', model: 'x/y', reason: 'wrong answers', expiresAt: until(1), ...written };
  const said = listing([proxy('p', { asked_targets: [fast], asked_target_count: 1 })], [model, provider]);
  t.ok(validate(said), JSON.stringify(validate.errors));
  t.match(said, {
    targets: [
      { provider: 'a', model: 'm', calls: 90, drain: { provider: 'a', reason: 'maintenance', expires_at: until(2) } },
      { provider: 'b', model: 'x/y', calls: 0, proxies: [], drain: { model: 'x/y', updated_by: 'k' } },
    ],
    drains: [{ provider: 'a' }, { provider: 'b', model: 'x/y', reason: 'wrong answers' }],
  });
});
