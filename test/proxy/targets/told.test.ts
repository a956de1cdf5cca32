// What operators are told of targets: metrics, lines of the log, and the report in a heartbeat.
import { test } from 'tap';
import { createTargetLines } from '../../../proxy/boot/target-lines.ts';
import { reportTargets } from '../../../proxy/boot/target-report.ts';
import { writeTargets } from '../../../proxy/metrics/target-metrics.ts';
import { Exposition } from '../../../proxy/tallies/exposition.ts';
import type { TargetState } from '../../../proxy/targets/target-state.ts';
import { TargetStates } from '../../../proxy/targets/target-states.ts';
import { readMetric } from '../../support/gateway.ts';

const start = 1_800_000_000_000;

/** Targets p/m0, p/m1 and so on. */
function standOf(count: number) {
  const states = new TargetStates();
  const targets = Array.from({ length: count }, (_, index) => ({
    upstream: { name: 'p', origin: 'http://127.0.0.1:9' },
    model: `m${index}`,
  }));
  states.keep(new Map([['p', new Map(targets.map((target) => [target.model, target]))]]));
  return {
    states,
    stateOf: (index: number) => states.of(targets[index] ?? { upstream: { name: '', origin: '' }, model: '' }),
  };
}

function breakOpen({ breaker }: TargetState, nowMs: number = start): void {
  for (let failure = 0; failure < 5; failure += 1) breaker.failed(nowMs);
}

function learn({ quota }: TargetState, remaining: number, nowMs: number = start): void {
  const headers = ['x-ratelimit-limit-requests', '100', 'x-ratelimit-remaining-requests', String(remaining)];
  quota.learn({ quota: headers.map((text) => Buffer.from(text)) }, nowMs);
}

async function targetSamples(states: TargetStates, nowMs: number): Promise<string> {
  const exposition = new Exposition();
  await writeTargets(exposition, states, nowMs);
  return exposition.text();
}

await test('breakers, rests, learned limits and times are in the metrics', async (t) => {
  const { states, stateOf } = standOf(4);
  breakOpen(stateOf(0));
  stateOf(1).rest(start + 500, start);
  learn(stateOf(2), 25);
  for (let answer = 0; answer < 20; answer += 1) stateOf(3).latency.observe(250, start, false);
  const text = await targetSamples(states, start);
  const read = (name: string, index: number, more: Record<string, string> = {}) =>
    readMetric(text, `gateway_target_${name}`, { provider: 'p', model: `m${index}`, ...more });
  t.equal(read('breaker_state', 0), 2);
  t.equal(read('breaker_state', 1), 0);
  t.equal(read('breaker_transitions_total', 0, { to: 'open' }), 1);
  t.equal(read('breaker_transitions_total', 3, { to: 'open' }), 0, 'it is there from the start');
  t.same([read('resting', 1), read('resting', 0)], [1, 0]);
  t.equal(read('quota_remaining', 2, { dimension: 'requests' }), 25);
  t.equal(read('quota_used_ratio', 2), 0.75);
  t.equal(read('quota_used_ratio', 0), undefined, 'nothing is known');
  t.equal(read('first_byte_seconds', 3, { statistic: 'mean' }), 0.25);
  t.ok((read('first_byte_seconds', 3, { statistic: 'p95' }) ?? 0) >= 0.25);
  const later = await targetSamples(states, start + 1000);
  t.equal(readMetric(later, 'gateway_target_breaker_state', { model: 'm0' }), 1, 'half-open');
  t.equal(readMetric(later, 'gateway_target_resting', { model: 'm1' }), 0);
});

await test('of many targets only those that were asked have series', async (t) => {
  const { states, stateOf } = standOf(3000);
  const samples = (text: string) => text.split('\n').filter((line) => line !== '' && !line.startsWith('#')).length;
  t.equal(samples(await targetSamples(states, start)), 0);
  stateOf(7).latency.observe(1, start, false);
  t.equal(samples(await targetSamples(states, start)), 6);
});

await test('a heartbeat has the targets that are not usable, up to a hundred, and how many there are', async (t) => {
  const { states, stateOf } = standOf(300);
  t.match(reportTargets(states, start), { unusable_targets: [], unusable_target_count: 0 });
  breakOpen(stateOf(0));
  stateOf(1).rest(start + 5000, start);
  learn(stateOf(2), 0);
  t.match(reportTargets(states, start), {
    unusable_targets: [
      ['p', 'm0', 'breaker_open', start + 1000],
      ['p', 'm1', 'resting', start + 5000],
      ['p', 'm2', 'quota_used_up', start + 1000],
    ],
    unusable_target_count: 3,
  });
  t.match(reportTargets(states, start + 1000).unusable_targets?.[0], ['p', 'm0', 'breaker_half_open']);
  for (let index = 0; index < 250; index += 1) breakOpen(stateOf(index));
  const { unusable_targets: shown, unusable_target_count: count } = reportTargets(states, start);
  t.same([shown?.length, count], [100, 250]);
});

await test('the log says once that a target fails, and once that it works again', async (t) => {
  const { states, stateOf } = standOf(2);
  const lines: string[] = [];
  const note = (text: string): void => void lines.push(text);
  const tell = createTargetLines({ warn: note, info: note });
  const look = (atMs: number): string[] => {
    tell(states.known(), start + atMs);
    return lines.splice(0);
  };
  t.same(look(0), []);
  breakOpen(stateOf(0));
  t.match(look(0), [/^p\/m0 fails, .*: 5 failures in a row, 5 of the 5 calls of ten seconds failed$/]);
  const { breaker } = stateOf(0);
  // It opens and closes every second for a minute.
  for (let second = 1; second <= 60; second += 1) {
    breaker.succeeded(start + second * 1000, breaker.begin(start + second * 1000));
    if (second % 3 !== 0) breakOpen(stateOf(0), start + second * 1000);
    t.same(look(second * 1000), [], 'it has not recovered');
  }
  t.same(look(68_000), []);
  t.match(look(70_000), [/^p\/m0 works again/]);
  t.same(look(80_000), []);
});

await test('the log says once that a provider has limited a target for long; a rest or two are no news', async (t) => {
  const { states, stateOf } = standOf(1);
  const lines: string[] = [];
  const note = (text: string): void => void lines.push(text);
  const tell = createTargetLines({ warn: note, info: note });
  const state = stateOf(0);
  const look = (second: number): string[] => {
    tell(states.known(), start + second * 1000);
    return lines.splice(0);
  };
  const rest = (second: number): void => state.rest(start + second * 1000 + 1_500, start + second * 1000);
  for (let second = 0; second < 8; second += 2) {
    rest(second);
    t.same([...look(second), ...look(second + 1)], []);
  }
  state.served();
  for (let second = 8; second < 18; second += 2) {
    rest(second);
    t.same([...look(second), ...look(second + 1)], [], 'it has served a call');
  }
  rest(18);
  t.match(look(18), [/^p\/m0 has served nothing for 10 s, .* left alone/]);
  for (let second = 20; second < 40; second += 2) {
    rest(second);
    t.same([...look(second), ...look(second + 1)], []);
  }
  state.served();
  t.match([...look(45), ...look(60)], [/^p\/m0 works again/]);
});

await test('a thousand targets that fail at once are told of in portions', async (t) => {
  const { states, stateOf } = standOf(1000);
  const lines: string[] = [];
  const note = (text: string): void => void lines.push(text);
  const tell = createTargetLines({ warn: note, info: note });
  for (let index = 0; index < 1000; index += 1) breakOpen(stateOf(index));
  tell(states.known(), start);
  t.equal(lines.length, 20);
  for (let second = 1; second < 50; second += 1) tell(states.known(), start + second * 1000);
  t.equal(new Set(lines).size, 1000, 'each once');
  t.equal(lines.length, 1000);
  tell([], start + 60_000);
  t.equal(lines.length, 1000, 'a target that is gone is forgotten');
});

await test('a heartbeat has the targets that were asked, up to two hundred, with the calls of a minute', async (t) => {
  const { states, stateOf } = standOf(300);
  const state = stateOf(3);
  for (let call = 0; call < 20; call += 1) {
    state.calls.add(call === 0, start);
    state.latency.observe(100.4, start, false);
  }
  const headers = ['limit-requests', '1e300', 'remaining-requests', '7', 'remaining-tokens', '2.5'];
  state.quota.learn(
    { quota: headers.map((text, index) => Buffer.from(index % 2 ? text : `x-ratelimit-${text}`)) },
    start,
  );
  const { asked_targets: asked, asked_target_count: count } = reportTargets(states, start);
  t.equal(count, 1);
  const p95 = asked?.[0]?.[6] ?? 0;
  t.ok(p95 >= 100 && p95 <= 112);
  const limits = [
    ['requests', 7, Number.MAX_SAFE_INTEGER],
    ['tokens', 2, null],
  ];
  t.same(asked, [['p', 'm3', 'closed', 20, 1, 100, p95, limits]], 'numbers are whole, whatever a provider says');
  t.match(reportTargets(states, start + 60_000).asked_targets?.[0]?.slice(3, 5), [0, 0], 'calls leave after a minute');
  for (let index = 0; index < 300; index += 1) breakOpen(stateOf(index));
  t.match(reportTargets(states, start), { asked_targets: { length: 200 }, asked_target_count: 300 });
});
