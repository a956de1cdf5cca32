// What is remembered of a target, and for how long.
import { test } from 'tap';
import { TargetState } from '../../../proxy/targets/target-state.ts';
import { TargetStates } from '../../../proxy/targets/target-states.ts';

const start = 1_800_000_000_000;
const targetOf = (name: string, model = 'm', origin = 'http://127.0.0.1:9') => ({ upstream: { name, origin }, model });
const mapOf = (...targets: ReturnType<typeof targetOf>[]) =>
  new Map(targets.map((each, index) => [String(index), new Map([[each.model, each]])]));

await test('the state of a target survives a reload while provider, origin and model stay', async (t) => {
  const states = new TargetStates();
  const before = targetOf('p');
  states.of(before).rest(start + 1000, start);
  states.keep(mapOf(before, targetOf('p', 'n')));
  const kept = states.of(before);
  t.equal(kept.restsUntilMs, start + 1000, 'what was known before the first reload stays, too');
  const same = targetOf('p');
  const others = [targetOf('q'), targetOf('p', 'o'), targetOf('p', 'm', 'http://127.0.0.1:8')];
  states.keep(mapOf(same, ...others));
  t.equal(states.of(same), kept);
  t.equal(states.of(before), kept, 'a request that began before shares it');
  for (const other of others) t.not(states.of(other), kept);
  t.same(
    [...states.known()].map(({ provider, model }) => `${provider}/${model}`),
    ['p/m', 'p/o', 'q/m', 'p/m'],
  );
  states.keep(mapOf(targetOf('q')));
  states.keep(mapOf(targetOf('p')));
  t.equal([...states.known()].length, 1);
  t.not([...states.known()][0]?.state, kept, 'a target that was gone begins anew');
});

await test('a provider whose limits are no longer learned has none', async (t) => {
  const states = new TargetStates();
  const before = targetOf('p');
  states.keep(mapOf(before));
  const { quota } = states.of(before);
  quota.learn({ quota: ['x-ratelimit-remaining-requests', '0'].map((text) => Buffer.from(text)) }, start);
  states.keep(mapOf(targetOf('p')));
  t.equal(quota.isUsedUp(start), true);
  states.keep(
    new Map([['p', new Map([['m', { upstream: { ...before.upstream, learnsLimits: false }, model: 'm' }]])]]),
  );
  t.equal(quota.isUsedUp(start), false);
  t.same([...quota.remaining(start)], []);
});

await test('the same target in several objects has one state', async (t) => {
  const states = new TargetStates();
  const [one, other] = [targetOf('p'), targetOf('p')];
  states.keep(mapOf(one, other));
  t.equal(states.of(one), states.of(other));
  t.equal([...states.known()].length, 1);
});

await test('a rest never gets shorter and lasts at most a minute', async (t) => {
  const state = new TargetState();
  state.rest(start + 5000, start);
  state.rest(start + 1000, start);
  t.equal(state.usableAtMs(start), start + 5000);
  t.equal(state.isUsable(start + 4999), false);
  t.same(state.obstacle(start), { reason: 'resting', sinceMs: start });
  t.equal(state.isUsable(start + 5000), true);
  t.equal(state.usableAtMs(start + 6000), start + 6000);
  state.rest(start + 3_600_000, start);
  t.equal(state.usableAtMs(start), start + 60_000);
});

await test('the obstacle that matters most is told', async (t) => {
  const state = new TargetState();
  t.equal(state.obstacle(start), undefined);
  state.quota.learn({ quota: ['x-ratelimit-remaining-requests', '0'].map((text) => Buffer.from(text)) }, start);
  t.equal(state.obstacle(start)?.reason, 'quota_used_up');
  t.equal(state.usableAtMs(start), start + 1000);
  state.rest(start + 2000, start);
  t.equal(state.obstacle(start)?.reason, 'resting');
  for (let failure = 0; failure < 5; failure += 1) state.breaker.failed(start + 1500);
  t.equal(state.obstacle(start + 1500)?.reason, 'breaker_open');
  t.equal(state.usableAtMs(start + 1500), start + 2500);
});

await test('a refusal of the key is an obstacle from the first one until a call is served or the key is another', async (t) => {
  const refused = { reason: 'key_refused', sinceMs: start };
  const state = new TargetState();
  state.rest(start + 1000, start, 'key_refused');
  state.rest(start + 9000, start + 8000, 'key_refused');
  t.same(state.obstacle(start + 60_000), refused, 'though it is asked again');
  t.equal(state.isUsable(start + 60_000), true);
  state.rest(start + 70_000, start + 60_000, 'key_refused');
  state.served();
  t.equal(state.obstacle(start + 60_000), undefined);
  t.equal(state.isUsable(start + 60_000), true);

  const keys = [
    { restsUntilMs: 0, trouble: { kind: 'key_refused', sinceMs: start - 5 } as const },
    { restsUntilMs: 0, trouble: { kind: 'key_refused', sinceMs: start } as const },
  ];
  state.keep(keys);
  t.same(state.obstacle(start), refused, 'no key works since the last of them was refused');
  state.rest(start + 10_000, start, 'key_refused');
  state.keep([...keys, { restsUntilMs: 0 }]);
  t.equal(state.obstacle(start), undefined);
  t.equal(state.isUsable(start), true, 'a new key is asked at once');
});
