// The engine against an exact log: random rules, requests, reloads, resets, gaps and restarts, at least 50,000 operations.
import { deepEqual, equal, ok } from 'node:assert/strict';
import * as fc from 'fast-check';
import { test } from 'tap';
import { rateLimitHeaders } from '../../../proxy/limits/headers.ts';
import type { Lease } from '../../../proxy/limits/lease.ts';
import { createLimiter, type Limiter } from '../../../proxy/limits/limiter.ts';
import type { Matches } from '../../../proxy/limits/match.ts';
import type { Rejection } from '../../../proxy/limits/rejection.ts';
import type { RuleReport } from '../../../proxy/limits/report.ts';
import type { CounterRow } from '../../../schemas/rules/counter-row.ts';
import { compareRules, type Rule } from '../../../schemas/rules/rule.ts';
import { extent, isFull, runs } from '../../support/extent.ts';
import { type Asked, type Booking, childOf, type Log, Oracle } from './oracle.ts';
import { ruleOf } from './rule-of.ts';

const wanted = 50_000;
const start = 1_800_000_000_000;
const seed = Number(process.env['LIMITER_SEED'] ?? (isFull ? Date.now() % 2 ** 31 : 20_261_122));

const paths = ['/', '/a', '/a/b', '/a/b/c', '/ab', '/a/x/y', '/c', '/c/d', '/c/d/e', '/c/f'];
const targets = [
  ['p', 'm'],
  ['P', 'M'],
  ['q', 'm'],
  ['q', 'x/y'],
  ['x', 'y'],
] as const;
const subjects = [
  ['user_path', '/'],
  ['user_path', '/a'],
  ['user_path', '/a/b'],
  ['user_path', '/c'],
  ['provider', 'p'],
  ['provider', 'Q'],
  ['model', 'm'],
  ['model', 'P/m'],
  ['model', 'x/y'],
] as const;
const periods = [0, 1, 7, 60, 61, 3_600, 86_400];

interface Edit {
  subject: number;
  period: number;
  change: 'put' | 'delete' | 'caps' | 'mode' | 'reset' | 'template';
  requests: number | undefined;
  tokens: number | undefined;
  shadow: boolean;
  perChild: boolean;
  raise: boolean;
}

type Step =
  | { do: 'request'; path: number; target: number; charge: number }
  | { do: 'release' | 'refund'; which: number }
  | { do: 'charge'; which: number; tokens: number }
  | { do: 'wait'; ms: number }
  | { do: 'reload'; edits: Edit[] }
  | { do: 'flush'; portion: number }
  | { do: 'stop' }
  | { do: 'kill'; backMs: number }
  | { do: 'sweep'; visits: number };

const edit: fc.Arbitrary<Edit> = fc.record({
  subject: fc.nat(subjects.length - 1),
  period: fc.nat(periods.length - 1),
  change: fc.constantFrom('put', 'put', 'put', 'delete', 'caps', 'caps', 'mode', 'reset', 'template'),
  requests: fc.option(fc.integer({ min: 1, max: 5 }), { nil: undefined, freq: 4 }),
  tokens: fc.option(fc.integer({ min: 1, max: 40 }), { nil: undefined, freq: 1 }),
  shadow: fc.nat(5).map((value) => value === 0),
  perChild: fc.nat(2).map((value) => value === 0),
  raise: fc.boolean(),
});

const gap = fc.oneof(
  { weight: 5, arbitrary: fc.nat(2_000) },
  {
    weight: 3,
    arbitrary: fc.tuple(fc.constantFrom(...periods), fc.nat(64)).map(([p, n]) => Math.ceil((p * n * 50) / 3)),
  },
  { weight: 2, arbitrary: fc.constantFrom(999, 1_000, 1_001, 59_999, 60_000, 60_001, 61_000, 3_600_000, 3_660_000) },
  { weight: 1, arbitrary: fc.constantFrom(86_400_000, 87_840_000, 400 * 86_400_000) },
);

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 24,
    arbitrary: fc.record({
      do: fc.constant('request' as const),
      path: fc.nat(paths.length - 1),
      target: fc.nat(targets.length - 1),
      charge: fc.oneof(fc.constant(0), fc.nat(30)),
    }),
  },
  {
    weight: 8,
    arbitrary: fc.record({ do: fc.constantFrom('release' as const, 'refund' as const), which: fc.nat(20) }),
  },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('charge' as const), which: fc.nat(20), tokens: fc.nat(30) }) },
  { weight: 10, arbitrary: fc.record({ do: fc.constant('wait' as const), ms: gap }) },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant('reload' as const), edits: fc.array(edit, { maxLength: 4 }) }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('flush' as const), portion: fc.integer({ min: 1, max: 5 }) }) },
  { weight: 1, arbitrary: fc.constant({ do: 'stop' as const }) },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('kill' as const), backMs: fc.constantFrom(0, 0, 1, 90_000, 7_200_000) }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('sweep' as const), visits: fc.integer({ min: 1, max: 9 }) }) },
);

/** A request under way: what it holds in the engine, and what the oracle booked for it. */
interface Open {
  asked: Asked[];
  matches: Matches[];
  leases: Lease[];
  bookings: Booking[];
  /** Keys of the rules it was admitted under, as long as they stay: a shadow rule counts the tokens of no other request. */
  counted: Set<string>;
}

/** Stored rows by rule key and child. */
type Rows = Map<string, CounterRow>;

/** What the engine exports: keys of rules whose rows go, then rows as they are now. */
interface Change {
  removed: readonly string[];
  rows: readonly CounterRow[];
}

class World {
  readonly seen = { operations: 0, admitted: 0, refused: 0, restarts: 0, reloads: 0 };
  #limiter = createLimiter();
  readonly #oracle = new Oracle();
  readonly #store: Rows = new Map();
  /** All rows as the engine exported them last, and what of that is not in the store yet. */
  #exported: Rows = new Map();
  readonly #unwritten: Change[] = [];
  #rules = new Map<string, Rule>();
  #open: Open[] = [];
  #nowMs = start;

  run(steps: readonly Step[]): void {
    for (const one of steps) {
      this.seen.operations += 1;
      this.#take(one);
    }
    for (const { leases, bookings } of this.#open) {
      for (const lease of leases) lease.release();
      for (const booking of bookings) this.#oracle.release(booking);
    }
    for (const [key, , , , inFlight] of this.#limiter.live(this.#nowMs).counters) {
      equal(inFlight, 0, `${key}: all ended, nothing in flight`);
    }
  }

  #take(one: Step): void {
    switch (one.do) {
      case 'wait':
        this.#nowMs += one.ms;
        break;
      case 'request':
        this.#request({ path: paths[one.path] ?? '/' }, targetAt(one.target), one.charge);
        break;
      case 'release':
      case 'refund':
        this.#end(one.do, one.which);
        break;
      case 'charge':
        this.#charge(this.#open[one.which % Math.max(1, this.#open.length)], one.tokens);
        break;
      case 'reload':
        for (const change of one.edits) this.#edit(change);
        this.#reload();
        break;
      case 'flush':
        this.#flush(one.portion);
        break;
      case 'stop':
        this.#flush(Number.POSITIVE_INFINITY);
        this.#start();
        break;
      case 'kill':
        this.#nowMs -= one.backMs;
        this.#start();
        break;
      case 'sweep':
        this.#limiter.sweep(this.#nowMs, one.visits);
        break;
    }
  }

  #request(path: Asked, target: Asked, tokens: number): void {
    const request: Open = { asked: [path, target], matches: [], leases: [], bookings: [], counted: new Set() };
    if (this.#stage(path, request, 'reject')) {
      if (this.#stage(target, request, 'skip_target')) this.#checkHeaders(request);
      else this.#giveBack('refund', request);
    }
    if (request.leases.length < 2) return;
    this.#open.push(request);
    if (tokens > 0) this.#charge(request, tokens);
  }

  /** One admission, held against the log in every respect. */
  #stage(asked: Asked, request: Open, rejectedAs: 'reject' | 'skip_target'): boolean {
    const nowMs = this.#nowMs;
    const matches = matchesOf(this.#limiter, asked);
    request.matches.push(matches);
    const logs = this.#oracle.matching(asked);
    const before = this.#limiter.report(matches, nowMs);
    const shadowedBefore = this.#shadowed();
    this.#checkReports(before, logs);
    const { lease, rejection } = this.#limiter.admit(matches, nowMs, rejectedAs);
    const after = this.#limiter.report(matches, nowMs);
    const enforced = logs.filter(({ rule }) => rule.mode === 'enforce');
    if (rejection !== undefined) {
      this.seen.refused += 1;
      deepEqual(after, before, 'a refusal changes nothing');
      this.#checkRejection(rejection, enforced);
      this.#checkWait(rejection, asked);
      return false;
    }
    this.seen.admitted += 1;
    for (const log of enforced) deepEqual(this.#usedUp(log, 'least'), [], `${log.rule.key} was over its cap`);
    const shadowedAfter = this.#shadowed();
    const isShadowed = ({ rule: { id } }: Log): boolean => shadowedBefore.get(id) !== shadowedAfter.get(id);
    for (const log of logs) if (!isShadowed(log)) request.counted.add(log.rule.key);
    const taken = logs.filter((log, index) => this.#isTaken(log, isShadowed(log), before[index], after[index]));
    request.leases.push(lease);
    request.bookings.push(this.#oracle.book(taken, nowMs));
    return true;
  }

  #checkReports(reports: readonly RuleReport[], logs: readonly Log[]): void {
    deepEqual(
      reports.map(({ rule, subject }) => [rule.key, rule.perChild ? subject : '']),
      logs.map(({ rule, child }) => [rule.key, child]),
      'the index finds what trying every rule finds',
    );
    for (const [index, { rule, requests, tokens, open }] of logs.entries()) {
      const report = reports[index] as RuleReport;
      equal(report.inFlight, open, `${rule.key} in flight`);
      if (rule.periodSeconds === 0) continue;
      this.#checkCount(rule, requests, rule.maxRequests, [report.requestsUsed, report.requestsRemaining]);
      this.#checkCount(rule, tokens, rule.maxTokens, [report.tokensUsed, report.tokensRemaining]);
    }
  }

  #checkCount(
    rule: Rule,
    entries: Log['requests'],
    cap: number | undefined,
    [used, remaining]: readonly [used: number, remaining: number | undefined],
  ): void {
    const { least, most } = this.#oracle.bounds(entries, rule.periodSeconds, this.#nowMs);
    if (cap === undefined) equal(used, 0);
    else ok(least <= used && used <= most, `${rule.key}: ${least} <= ${used} <= ${most}`);
    equal(remaining, cap === undefined ? undefined : Math.max(0, cap - used));
  }

  /** The dimensions of a rule that are used up, going by the trailing period (least) or by one slice more (most). */
  #usedUp({ rule, requests, tokens, open }: Log, bound: 'least' | 'most'): string[] {
    const { periodSeconds, maxRequests = Number.POSITIVE_INFINITY, maxTokens = Number.POSITIVE_INFINITY } = rule;
    if (periodSeconds === 0) return open >= maxRequests ? [`${rule.key} concurrent`] : [];
    const isOver = (entries: Log['requests'], cap: number): boolean =>
      this.#oracle.bounds(entries, periodSeconds, this.#nowMs)[bound] >= cap;
    return [
      ...(isOver(requests, maxRequests) ? [`${rule.key} requests`] : []),
      ...(isOver(tokens, maxTokens) ? [`${rule.key} tokens`] : []),
    ];
  }

  #checkRejection(rejection: Rejection, enforced: readonly Log[]): void {
    const named = rejection.exhausted.map(({ rule, dimension }) => `${rule.key} ${dimension}`);
    const must = enforced.flatMap((log) => this.#usedUp(log, 'least'));
    const may = enforced.flatMap((log) => this.#usedUp(log, 'most'));
    ok(named.length > 0);
    deepEqual(
      named,
      may.filter((one) => named.includes(one)),
      'only what the log allows, in the order of rules',
    );
    deepEqual(
      must.filter((one) => !named.includes(one)),
      [],
      'all that the log demands',
    );
    const { exhausted, ...told } = rejection;
    const longest = Math.max(...exhausted.map((found) => found.retryAfterSeconds));
    deepEqual(
      told,
      exhausted.find((found) => found.retryAfterSeconds === longest),
      'the first with the longest wait is told',
    );
  }

  /** Without other traffic: refused one second before the wait is over, admitted then. */
  #checkWait({ retryAfterSeconds, exhausted }: Rejection, asked: Asked): void {
    if (exhausted.every(({ dimension }) => dimension === 'concurrent')) {
      equal(retryAfterSeconds, 1);
      return;
    }
    const later = createLimiter();
    later.reconcile([...this.#rules.values()]);
    this.#export(Number.POSITIVE_INFINITY);
    later.restore(this.#exported.values(), this.#nowMs);
    const matches = matchesOf(later, asked);
    const atMs = this.#nowMs + 1_000 * retryAfterSeconds;
    if (retryAfterSeconds > 1) ok(later.admit(matches, atMs - 1_000).rejection, 'refused a second earlier');
    ok(later.admit(matches, atMs).lease, 'admitted after the wait');
  }

  /** How often each shadow rule would have refused, by rule id. */
  #shadowed(): Map<string, number> {
    const sums = new Map<string, number>();
    for (const { rule, outcome, count } of this.#limiter.decisions()) {
      if (outcome === 'shadow_reject') sums.set(rule, (sums.get(rule) ?? 0) + count);
    }
    return sums;
  }

  /** Whether the engine booked the request under a rule; a shadow rule books what it would have admitted, and says what not. */
  #isTaken(log: Log, isShadowed: boolean, before: RuleReport | undefined, after: RuleReport | undefined): boolean {
    const { rule } = log;
    if (rule.mode === 'enforce' || this.#usedUp(log, 'most').length === 0) equal(isShadowed, false, rule.key);
    else if (this.#usedUp(log, 'least').length > 0) equal(isShadowed, true, rule.key);
    const grown =
      rule.periodSeconds === 0
        ? (after?.inFlight ?? 0) - (before?.inFlight ?? 0)
        : (after?.requestsUsed ?? 0) - (before?.requestsUsed ?? 0);
    const isCounted = rule.periodSeconds === 0 || rule.maxRequests !== undefined;
    equal(grown, isCounted && !isShadowed ? 1 : 0, `${rule.key} counts the request once, or not at all`);
    return grown === 1;
  }

  #checkHeaders({ matches }: Open): void {
    const [path, target] = matches as [Matches, Matches];
    const reports = [...this.#limiter.report(target, this.#nowMs), ...this.#limiter.report(path, this.#nowMs)];
    const visible = reports.filter(({ rule }) => rule.mode === 'enforce' && rule.periodSeconds > 0);
    const remaining = (key: 'requestsRemaining' | 'tokensRemaining'): string[] => {
      const all = visible.flatMap((report) => report[key] ?? []);
      return all.length === 0 ? [] : [String(Math.min(...all))];
    };
    const headers = rateLimitHeaders(target, path, this.#nowMs);
    const shown = headers.filter((_, index) => headers[index - 1]?.includes('remaining') ?? false);
    deepEqual(shown, [...remaining('requestsRemaining'), ...remaining('tokensRemaining')]);
    for (const value of headers.filter((_, index) => index % 2 === 1)) ok(/^(0|[1-9][0-9]*)$/.test(value), value);
  }

  #end(how: 'release' | 'refund', which: number): void {
    const [request] = this.#open.splice(which % Math.max(1, this.#open.length), 1);
    if (request !== undefined) this.#giveBack(how, request);
  }

  #giveBack(how: 'release' | 'refund', { leases, bookings }: Open): void {
    for (const lease of leases) {
      if (how === 'refund') lease.refund(this.#nowMs);
      lease.release();
    }
    for (const booking of bookings) this.#oracle[how](booking, this.#nowMs);
  }

  #charge(request: Open | undefined, tokens: number): void {
    if (request === undefined) return;
    const { matches, leases, asked, counted } = request;
    for (const [index, one] of matches.entries()) this.#limiter.charge(one, tokens, this.#nowMs, leases[index]);
    const isSpared = ({ rule }: Log): boolean => rule.mode === 'shadow' && !counted.has(rule.key);
    for (const one of asked) this.#oracle.charge(one, tokens, this.#nowMs, isSpared);
  }

  #edit({ subject, period, change, requests, tokens, shadow, perChild, raise }: Edit): void {
    const [scope, name] = subjects[subject] ?? subjects[0];
    const isWindow = periods[period] !== 0;
    const made = ruleOf(scope, name, periods[period] ?? 0, {
      ...(isWindow && tokens !== undefined ? { maxTokens: tokens } : {}),
      ...(requests === undefined && isWindow && tokens !== undefined ? {} : { maxRequests: requests ?? 2 }),
      perChild: perChild && scope === 'user_path',
      mode: shadow ? 'shadow' : 'enforce',
    });
    const old = this.#rules.get(made.key);
    if (change === 'delete') this.#rules.delete(made.key);
    else if (change === 'put' && old === undefined) this.#rules.set(made.key, { ...made, epoch: raise ? 1 : 0 });
    if (old === undefined || change === 'delete') return;
    const { perChild: template, epoch, mode } = old;
    const edited: Record<string, Rule> = {
      caps: { ...made, perChild: template, epoch, mode },
      mode: { ...old, mode: made.mode },
      reset: { ...old, epoch: epoch + 1 },
      template: { ...old, perChild: made.perChild, epoch: raise ? epoch + 1 : epoch },
    };
    this.#rules.set(made.key, edited[change] ?? old);
  }

  #reload(): void {
    this.seen.reloads += 1;
    const rules = [...this.#rules.values()];
    this.#limiter.reconcile(rules);
    this.#oracle.reload(rules.toSorted(compareRules));
    for (const { counted } of this.#open) for (const key of counted) if (!this.#rules.has(key)) counted.delete(key);
    deepEqual(this.#limiter.rules(), this.#oracle.rules);
  }

  #flush(portion: number): void {
    this.#export(portion);
    for (const change of this.#unwritten.splice(0)) write(this.#store, change);
    this.#oracle.store(this.#nowMs);
  }

  /** Takes from the engine what has changed; it reaches the store with the next flush. */
  #export(portion: number): void {
    const changes: Change[] = [{ removed: this.#limiter.exportRemoved(), rows: [] }];
    for (let rows = this.#limiter.exportChanged(portion); rows.length > 0; ) {
      changes.push({ removed: [], rows });
      rows = this.#limiter.exportChanged(portion);
    }
    for (const change of changes) write(this.#exported, change);
    this.#unwritten.push(...changes);
  }

  /** Starts a new engine from the store; who was under way is gone, and what they still give back goes nowhere. */
  #start(): void {
    this.seen.restarts += 1;
    const old = this.#open.splice(0);
    this.#exported = new Map(this.#store);
    this.#unwritten.length = 0;
    this.#limiter = createLimiter();
    this.#limiter.reconcile([...this.#rules.values()]);
    this.#limiter.restore(JSON.parse(JSON.stringify([...this.#store.values()])) as CounterRow[], this.#nowMs);
    this.#oracle.restart(this.#nowMs);
    for (const { leases } of old) for (const lease of leases) lease.refund(this.#nowMs);
  }
}

function write(rows: Rows, change: Change): void {
  if (change.removed.length > 0) {
    for (const [id, { key }] of rows) if (change.removed.includes(key)) rows.delete(id);
  }
  for (const row of change.rows) rows.set(`${row.key} ${row.child}`, row);
}

function targetAt(index: number): Asked {
  const [provider, model] = targets[index] ?? targets[0];
  return { provider, model };
}

function matchesOf(limiter: Limiter, asked: Asked): Matches {
  return 'path' in asked ? limiter.forUserPath(asked.path) : limiter.forTarget(asked.provider, asked.model);
}

await test('whatever happens, the engine says what an exact log allows', { timeout: 90_000 }, async (t) => {
  t.comment(`seed ${seed} (LIMITER_SEED repeats it)`);
  const total = { operations: 0, admitted: 0, refused: 0, restarts: 0, reloads: 0 };
  const first = fc.record({
    do: fc.constant('reload' as const),
    edits: fc.array(edit, { minLength: 2, maxLength: 12 }),
  });
  const story = fc.tuple(first, fc.array(step, { minLength: 60, maxLength: 200 })).map(([one, rest]) => [one, ...rest]);
  fc.assert(
    fc.property(story, (steps) => {
      const world = new World();
      world.run(steps);
      for (const key of Object.keys(total) as (keyof typeof total)[]) total[key] += world.seen[key];
    }),
    { numRuns: 2_000, seed },
  );
  t.comment(JSON.stringify(total));
  t.ok(total.operations >= wanted, `${total.operations} operations`);
  t.ok(total.admitted > 5_000 && total.refused > 2_000, 'of which many were admitted and many refused');
});

await test('with 10,000 rules every request is decided as by trying them all', { timeout: 60_000 }, async (t) => {
  const random = fc.sample(fc.tuple(fc.nat(2 ** 30), fc.nat(2 ** 30), fc.nat(2 ** 30)), { ...runs(14_000), seed });
  const word = (value: number): string => ['a', 'b', 'team', 'x', 'tea', 'B'][value % 6] ?? 'a';
  const path = (value: number): string =>
    `/${Array.from({ length: 1 + (value % 4) }, (_, depth) => `${word(value >> (3 * depth))}${(value >> 5) % 9}`).join('/')}`;
  const wants = new Map<string, Rule>();
  for (const [one, two, three] of random) {
    const period = [0, 60, 3_600, 1 + (three % 100)][three % 4] ?? 60;
    const scope = (['user_path', 'user_path', 'provider', 'model'] as const)[two % 4] ?? 'user_path';
    const name = `${word(one)}${one % 200}`;
    const model = one % 2 === 0 ? name : `${word(two)}${two % 200}/${name}`;
    const subject = { user_path: path(one), provider: name, model }[scope];
    const rule = ruleOf(scope, subject, period, {
      maxRequests: 1 + (two % 3),
      perChild: scope === 'user_path' && one % 5 === 0,
    });
    wants.set(rule.key, rule);
  }
  const asks = extent(1_500, 300);
  for (let index = 0; wants.size < 10_000; index += 1) {
    const rule = ruleOf('user_path', `/filler/${index}`, 60, { maxRequests: 1 });
    wants.set(rule.key, rule);
  }
  const rules = [...wants.values()].slice(0, 10_000).sort(compareRules);
  const limiter = createLimiter();
  limiter.reconcile(rules);
  const used = new Map<string, number>();
  let refused = 0;
  for (const [one, two] of random.slice(0, asks)) {
    const asked: Asked =
      two % 3 === 0
        ? { provider: `${word(two)}${two % 200}`.toUpperCase(), model: `${word(one)}${one % 200}` }
        : { path: path(one) };
    const matching = rules.flatMap((rule) => {
      const child = childOf(rule, asked);
      return child === undefined ? [] : [{ rule, id: `${rule.key} ${child}` }];
    });
    const full = matching.filter(({ rule, id }) => (used.get(id) ?? 0) >= (rule.maxRequests ?? 0));
    const { rejection } = limiter.admit(matchesOf(limiter, asked), start, 'reject');
    deepEqual(
      rejection?.exhausted.map(({ rule }) => rule.key) ?? [],
      full.map(({ rule }) => rule.key),
    );
    if (rejection !== undefined) refused += 1;
    else for (const { id } of matching) used.set(id, (used.get(id) ?? 0) + 1);
  }
  t.equal(limiter.rules().length, 10_000);
  t.ok(refused > asks / 50 && refused < asks, `${refused} of ${asks} refused`);
});
