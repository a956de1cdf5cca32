// Plays a story to the limiter and to the oracle, and compares in every respect what they say.

import { deepEqual, equal, ok } from 'node:assert/strict';
import type { CounterRow } from '../../../domain/rules/counter-row.ts';
import { compareRules, type Rule } from '../../../domain/rules/rule.ts';
import { rateLimitHeaders } from '../../../proxy/limits/headers.ts';
import type { Lease } from '../../../proxy/limits/lease.ts';
import { createLimiter, type Limiter } from '../../../proxy/limits/limiter.ts';
import type { Matches } from '../../../proxy/limits/match.ts';
import type { Rejection } from '../../../proxy/limits/rejection.ts';
import type { RuleReport } from '../../../proxy/limits/report.ts';
import { atOnce } from '../../../proxy/pacing/slices.ts';
import { exported } from '../../support/counter-rows.ts';
import { type Booking, type Log, type Matched, Oracle } from './oracle.ts';
import { ruleOf } from './rule-of.ts';
import { type Edit, paths, periods, type Step, subjects, targets } from './stories.ts';

/** When every story begins. */
export const start = 1_800_000_000_000;

/** A request under way: what it holds in the engine, and what the oracle booked for it. */
interface Open {
  asked: Matched[];
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

/** One engine and the log beside it: takes the steps of a story, and holds the engine against the log after each. */
export class World {
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
  /** The refusals of shadow rules after the last admission: only an admission, a reload or a start may change them. */
  #shadowed: ReadonlyMap<string, number> | undefined;

  run(steps: readonly Step[]): void {
    for (const one of steps) {
      this.seen.operations += 1;
      this.#take(one);
    }
    for (const { leases, bookings } of this.#open) {
      for (const lease of leases) lease.release();
      for (const booking of bookings) this.#oracle.release(booking);
    }
    for (const [key, , , , inFlight] of atOnce(this.#limiter.live(this.#nowMs)).counters) {
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

  #request(path: Matched, target: Matched, tokens: number): void {
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
  #stage(asked: Matched, request: Open, rejectedAs: 'reject' | 'skip_target'): boolean {
    const nowMs = this.#nowMs;
    const matches = matchesOf(this.#limiter, asked);
    request.matches.push(matches);
    const logs = this.#oracle.matching(asked);
    const before = this.#limiter.report(matches, nowMs);
    const shadowedBefore = this.#shadowed ?? this.#countShadowed();
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
    const shadowedAfter = this.#countShadowed();
    this.#shadowed = shadowedAfter;
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
  #checkWait({ retryAfterSeconds, exhausted }: Rejection, asked: Matched): void {
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
  #countShadowed(): Map<string, number> {
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
    const headers = rateLimitHeaders({ matches: target }, { matches: path }, this.#nowMs);
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
    this.#shadowed = undefined;
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
    for (let rows = exported(this.#limiter, portion); rows.length > 0; ) {
      changes.push({ removed: [], rows });
      rows = exported(this.#limiter, portion);
    }
    for (const change of changes) write(this.#exported, change);
    this.#unwritten.push(...changes);
  }

  /** Starts a new engine from the store; who was under way is gone, and what they still give back goes nowhere. */
  #start(): void {
    this.seen.restarts += 1;
    this.#shadowed = undefined;
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

function targetAt(index: number): Matched {
  const [provider, model] = targets[index] ?? targets[0];
  return { provider, model };
}

export function matchesOf(limiter: Limiter, asked: Matched): Matches {
  return 'path' in asked ? limiter.forUserPath(asked.path) : limiter.forTarget(asked.provider, asked.model);
}
