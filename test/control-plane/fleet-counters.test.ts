// The figures of the listing are the sum over the live proxies.
import { test } from 'tap';
import { liveCounters } from '../../control-plane/admin/rate-limits/fleet-counters.ts';
import type { HeartbeatBody, LiveCounter } from '../../store/state/heartbeat-body.ts';
import type { Heartbeat } from '../../store/state/state-store.ts';
import { sampleHeartbeat } from '../support/managed-state.ts';
import { key, start } from './rate-limits-world.ts';

function heartbeat(
  instance: string,
  atMs: number,
  counters: readonly LiveCounter[],
  windows?: HeartbeatBody['windows'],
): Heartbeat {
  return { instance, atMs, body: sampleHeartbeat({ counters, ...(windows === undefined ? {} : { windows }) }) };
}

await test('live counters are the sum over live proxies, for one epoch', async (t) => {
  const live = liveCounters(
    [
      heartbeat('a', start, [[key, 1, 2, 30, 4]], [[start - 9, start + 5]]),
      heartbeat(
        'b',
        start - 2_999,
        [
          ['other', 0, 1, 1, 1],
          [key, 1, 5, 60, 7, 400],
        ],
        [null, [start - 4, start + 8]],
      ),
      heartbeat('c', start, [[key, 0, 100, 100, 100]]),
      heartbeat('d', start - 3_000, [[key, 1, 1_000, 1_000, 1_000]], [[start - 99, start + 99]]),
      { instance: 'e', atMs: start, body: { counters: [[key, 1, 'x', 0, 0]] } },
      { instance: 'f', atMs: start, body: null },
      { instance: 'g', atMs: start, body: { counters: [[key, 1, 0, 0, 0, 'x']] } },
    ],
    start,
  );
  const never = { tokensReserved: 0, startMs: Number.POSITIVE_INFINITY, endMs: Number.NEGATIVE_INFINITY };
  t.same(live.of(key, 1), {
    requestsUsed: 7,
    tokensUsed: 90,
    tokensReserved: 400,
    startMs: start - 9,
    endMs: start + 8,
  });
  t.same(
    live.of(key, 0),
    { requestsUsed: 100, tokensUsed: 100, ...never },
    'an older proxy does not say when, nor what is set aside',
  );
  t.same(live.of(key, 2), { requestsUsed: 0, tokensUsed: 0, ...never });
  t.same(live.inFlight(key), [4, 7, 100], 'slots do not know epochs');
  t.same(live.of('unknown', 0), { requestsUsed: 0, tokensUsed: 0, ...never });
  t.same(live.inFlight('unknown'), []);
});
