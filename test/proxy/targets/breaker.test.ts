// The circuit breaker: what opens it, what closes it, and that a dead target sees only probes.
import { equal } from 'node:assert/strict';
import * as fc from 'fast-check';
import { test } from 'tap';
import { Breaker, type CallRole, usualCall } from '../../../proxy/targets/breaker.ts';
import { runs } from '../../support/extent.ts';

const start = 1_800_000_000_000;

/** A breaker after these outcomes, `stepMs` apart: `f` failed, `s` succeeded. */
function after(outcomes: string, stepMs = 10): { readonly breaker: Breaker; readonly nowMs: number } {
  const breaker = new Breaker();
  let nowMs = start;
  for (const outcome of outcomes) {
    nowMs += stepMs;
    const role = breaker.begin(nowMs);
    if (outcome === 'f') breaker.failed(nowMs, role);
    else breaker.succeeded(nowMs, role);
  }
  return { breaker, nowMs };
}

await test('five failures in a row open it, and half of twenty calls within ten seconds', async (t) => {
  const rows: [outcomes: string, stepMs: number, state: string][] = [
    ['ffff', 10, 'closed'],
    ['fffff', 10, 'open'],
    ['fffff', 60_000, 'open'],
    ['ffffsffff', 10, 'closed'],
    ['sf'.repeat(9), 10, 'closed'],
    ['sf'.repeat(10), 10, 'open'],
    ['sf'.repeat(10), 1000, 'closed'],
    ['ssf'.repeat(30), 10, 'closed'],
    ['fs'.repeat(10), 10, 'closed'],
    [`${'fs'.repeat(10)}f`, 10, 'open'],
  ];
  for (const [outcomes, stepMs, state] of rows) {
    const { breaker, nowMs } = after(outcomes, stepMs);
    t.equal(breaker.state(nowMs), state, `${outcomes}, one every ${stepMs} ms`);
    t.equal(breaker.admits(nowMs), state === 'closed');
  }
  const { breaker } = after('sf'.repeat(10));
  t.same(breaker.cause, { failuresInARow: 1, failures: 10, calls: 20 });
});

await test('one probe at a time is admitted after a pause that doubles up to 15 seconds', async (t) => {
  const { breaker, nowMs } = after('fffff');
  let openedAtMs = nowMs;
  for (const pauseMs of [1000, 2000, 4000, 8000, 15_000, 15_000]) {
    const dueMs = openedAtMs + pauseMs;
    t.equal(breaker.admits(dueMs - 1), false);
    t.equal(breaker.admitsAtMs(), dueMs);
    t.equal(breaker.state(dueMs), 'half_open');
    t.equal(breaker.admits(dueMs), true);
    const probe = breaker.begin(dueMs);
    t.equal(breaker.admits(dueMs), false, 'the probe is under way');
    openedAtMs = dueMs + 100;
    breaker.failed(openedAtMs, probe);
    t.equal(breaker.state(openedAtMs), 'open');
  }
  const dueMs = openedAtMs + 15_000;
  breaker.succeeded(dueMs + 1, breaker.begin(dueMs));
  t.equal(breaker.state(dueMs + 1), 'closed');
  t.same(breaker.transitions, { open: 7, half_open: 7, closed: 1 });
  for (let failure = 0; failure < 5; failure += 1) breaker.failed(dueMs + 2);
  t.equal(breaker.admitsAtMs(), dueMs + 2 + 1000, 'the pause begins anew');
});

await test('a probe without a verdict is given back, and one without an outcome holds up others for 15 seconds', async (t) => {
  const { breaker, nowMs } = after('fffff');
  const dueMs = nowMs + 1000;
  breaker.released(breaker.begin(dueMs));
  t.equal(breaker.admits(dueMs + 1), true);
  breaker.begin(dueMs + 1);
  t.equal(breaker.admits(dueMs + 15_000), false);
  t.equal(breaker.admits(dueMs + 15_001), true);
});

await test('what comes of calls begun before it opened, or of a probe that was given up, changes nothing', async (t) => {
  const { breaker, nowMs } = after('fffff');
  const isAsBefore = (dueMs: number, state: string): void => {
    breaker.succeeded(dueMs, usualCall);
    breaker.failed(dueMs, usualCall);
    breaker.released(usualCall);
    t.equal(breaker.state(dueMs), state);
    t.equal(breaker.admits(dueMs), false);
  };
  isAsBefore(nowMs + 5, 'open');
  const old = breaker.begin(nowMs + 1000);
  isAsBefore(nowMs + 1001, 'half_open');
  const probe = breaker.begin(nowMs + 16_000);
  breaker.failed(nowMs + 16_001, old);
  breaker.released(old);
  t.equal(breaker.admits(nowMs + 16_002), false, 'the new probe is under way');
  breaker.succeeded(nowMs + 16_003, probe);
  t.equal(breaker.state(nowMs + 16_003), 'closed');
});

await test('a last resort that went well ends the pause, one that failed changes nothing', async (t) => {
  const { breaker, nowMs } = after('fffff');
  const [one, other] = [breaker.begin(nowMs + 1), breaker.begin(nowMs + 1)];
  breaker.failed(nowMs + 2, one);
  t.equal(breaker.admitsAtMs(), nowMs + 1000);
  breaker.succeeded(nowMs + 3, other);
  t.equal(breaker.state(nowMs + 3), 'half_open');
  t.equal(breaker.admits(nowMs + 3), true);
});

await test('a target that never recovers sees only probes', async (t) => {
  const breaker = new Breaker();
  const calls: number[] = [];
  // 200 requests per second for two minutes; each that is admitted fails 50 ms later.
  const failing: { readonly atMs: number; readonly role: CallRole }[] = [];
  for (let nowMs = start; nowMs < start + 120_000; nowMs += 5) {
    while ((failing[0]?.atMs ?? Number.POSITIVE_INFINITY) <= nowMs) breaker.failed(nowMs, failing.shift()?.role);
    if (!breaker.admits(nowMs)) continue;
    failing.push({ atMs: nowMs + 50, role: breaker.begin(nowMs) });
    calls.push(nowMs - start);
  }
  const late = calls.filter((atMs) => atMs >= 1000);
  t.ok(calls.length - late.length <= 16, 'it opens while the first calls are under way');
  t.ok(late.length >= 8 && late.length <= 12, `${late.length} probes in two minutes`);
});

// --- against a model that keeps every outcome

interface Step {
  readonly waitMs: number;
  readonly what: 'begin' | 'succeeded' | 'failed' | 'released';
  /** Which of the calls that were begun it ends. */
  readonly which: number;
}

/** The same machine, told by its whole history. */
class Model {
  readonly #outcomes: { readonly second: number; readonly failed: boolean }[] = [];
  #row = 0;
  #open: { readonly untilMs: number; readonly forMs: number } | undefined;
  #probeAtMs: number | undefined;
  #probes = 0;

  state(nowMs: number): string {
    if (this.#open === undefined) return 'closed';
    return nowMs < this.#open.untilMs ? 'open' : 'half_open';
  }

  admits(nowMs: number): boolean {
    const isProbed = this.#probeAtMs !== undefined && nowMs - this.#probeAtMs < 15_000;
    return this.state(nowMs) === 'closed' || (this.state(nowMs) === 'half_open' && !isProbed);
  }

  begin(nowMs: number): CallRole {
    if (this.state(nowMs) === 'closed') return usualCall;
    if (!this.admits(nowMs)) return -1;
    this.#probeAtMs = nowMs;
    this.#probes += 1;
    return this.#probes;
  }

  end(what: Step['what'], nowMs: number, role: CallRole): void {
    if (this.#open === undefined) this.#count(what, nowMs);
    else if (role === this.#probes && this.#probeAtMs !== undefined) this.#judge(what, nowMs);
    else if (role === -1 && what === 'succeeded') {
      this.#open = { ...this.#open, untilMs: Math.min(this.#open.untilMs, nowMs) };
    }
  }

  #count(what: Step['what'], nowMs: number): void {
    if (what === 'released') return;
    const second = Math.floor(nowMs / 1000);
    this.#row = what === 'failed' ? this.#row + 1 : 0;
    this.#outcomes.push({ second, failed: what === 'failed' });
    const recent = this.#outcomes.filter((outcome) => outcome.second > second - 10);
    const failures = recent.filter(({ failed }) => failed).length;
    const isBad = recent.length >= 20 && failures * 2 >= recent.length;
    if (what === 'failed' && (this.#row >= 5 || isBad)) this.#open = { untilMs: nowMs + 1000, forMs: 1000 };
  }

  #judge(what: Step['what'], nowMs: number): void {
    this.#probeAtMs = undefined;
    const forMs = Math.min(15_000, (this.#open?.forMs ?? 0) * 2);
    if (what === 'failed') this.#open = { untilMs: nowMs + forMs, forMs };
    if (what !== 'succeeded') return;
    this.#open = undefined;
    this.#outcomes.length = 0;
    this.#row = 0;
  }
}

const step: fc.Arbitrary<Step> = fc.record({
  waitMs: fc.oneof({ weight: 4, arbitrary: fc.nat(400) }, fc.nat(3000), fc.nat(20_000)),
  what: fc.constantFrom('begin', 'begin', 'succeeded', 'succeeded', 'failed', 'failed', 'failed', 'released'),
  which: fc.nat(3),
});

await test('whatever happens, it does what its history says', async () => {
  fc.assert(
    fc.property(fc.array(step, { minLength: 20, maxLength: 200 }), (steps) => {
      const breaker = new Breaker();
      const model = new Model();
      const roles: CallRole[] = [];
      let nowMs = start;
      for (const each of steps) {
        nowMs += each.waitMs;
        if (each.what === 'begin') {
          roles.push(breaker.begin(nowMs));
          equal(roles.at(-1), model.begin(nowMs));
        } else {
          const role = roles.at(-1 - each.which) ?? usualCall;
          model.end(each.what, nowMs, role);
          if (each.what === 'released') breaker.released(role);
          else breaker[each.what](nowMs, role);
        }
        equal(breaker.state(nowMs), model.state(nowMs));
        equal(breaker.admits(nowMs), model.admits(nowMs));
      }
    }),
    runs(1000),
  );
});

await test('an active probe of the model closes it, one of the provider lets the next request find out; a failure counts as one', async (t) => {
  const up = (isOfModel: boolean) => ({ isUp: true, isOfModel });
  const down = { isUp: false, isOfModel: true };
  const opened = after('fffff');
  opened.breaker.probed(opened.nowMs, up(false));
  t.equal(opened.breaker.state(opened.nowMs), 'half_open');
  opened.breaker.probed(opened.nowMs, up(true));
  t.equal(opened.breaker.state(opened.nowMs), 'closed');
  const shaken = after('ffff');
  shaken.breaker.probed(shaken.nowMs, up(true));
  t.equal(shaken.breaker.state(shaken.nowMs), 'closed');
  shaken.breaker.probed(shaken.nowMs, down);
  t.equal(shaken.breaker.state(shaken.nowMs), 'open', 'its success hid no failures of requests');
  const fresh = after('s');
  for (let probe = 0; probe < 4; probe += 1) fresh.breaker.probed(fresh.nowMs, down);
  t.equal(fresh.breaker.state(fresh.nowMs), 'closed');
});
