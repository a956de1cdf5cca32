// The engine: admits or rejects, counts, refunds. Pure and synchronous, so a decision and its booking are one step; the clock is an argument.

import type { CounterRow, CounterText } from '../../domain/rules/counter-row.ts';
import { compareRules, type Rule } from '../../domain/rules/rule.ts';
import { differences } from '../../domain/sorted-list.ts';
import { type Admission, type Admitting, admitMatched, admitNow } from './admit.ts';
import { AnswerLengths } from './answer-lengths.ts';
import type { DecisionCount } from './decisions.ts';
import type { Enforcement, LimiterOptions, ReserveTokens } from './enforcement.ts';
import type { Fleet } from './fleet/fleet.ts';
import { refresh } from './fleet/refresh.ts';
import type { Stock } from './fleet/stock.ts';
import type { OwnUse } from './fleet/tell-again.ts';
import type { Lease } from './lease.ts';
import { type LiveFigures, liveFigures } from './live.ts';
import { liveCounter, type Matches, RuleIndex, RuleLookup } from './match.ts';
import { ownUsesOf } from './own-uses.ts';
import { type RuleReport, reportMatched } from './report.ts';
import { lanesOf } from './room.ts';
import { restoreRow, takeChanged } from './stored-windows.ts';
import { Sweeper } from './sweeper.ts';
import { newUnsaved, Tally, type Unsaved } from './tally.ts';
import { type UtilisationStep, utilisationOf } from './utilisation.ts';
import { tokens as tokenLane } from './window.ts';

/** Creates a limiter without rules, which admits every request until `reconcile` gives it rules. */
export function createLimiter(options: LimiterOptions = {}): Limiter {
  return new Limiter(options);
}

/**
 * All counters of one proxy. Every `nowMs` is a whole number of milliseconds since the Unix epoch from a clock that never goes
 * back. Nothing here throws for what a client sends.
 */
export class Limiter {
  /** The lengths of answers so far, by which requests set tokens aside. */
  readonly lengths = new AnswerLengths();
  readonly #unsaved: Unsaved;
  readonly #tallies = new Map<string, Tally>();
  /** Concurrency rules that are gone, while requests hold slots under them. */
  readonly #parted = new Map<string, Tally>();
  readonly #lookup = new RuleLookup();
  /** Those of `#tallies` that are templates, or were: others have no children. */
  readonly #templates = new Set<Tally>();
  readonly #sweeper = new Sweeper(this.#templates);
  /** The rules as they were given, and sorted. */
  #inForce: InForce = { given: [], sorted: [], enforcement: undefined };
  #isEnforced = true;
  #reserveTokens: ReserveTokens = 'p90';
  #dropped = 0;

  constructor(options: LimiterOptions) {
    this.#unsaved = newUnsaved(options);
  }

  /** Counts shared caps with the fleet from now on; call it once, before there are rules. */
  share(fleet: Fleet): void {
    this.#unsaved.fleet = fleet;
  }

  /** What goes on between this proxy and the store of shared caps; undefined: no cap is shared. */
  get fleet(): Fleet | undefined {
    return this.#unsaved.isShared ? this.#unsaved.fleet : undefined;
  }

  /** All that this proxy has counted under shared caps in the trailing periods. */
  *ownUses(nowMs: number): Generator<OwnUse, void> {
    for (const tally of this.#tallies.values()) {
      for (const counter of tally.counters()) yield* ownUsesOf(counter, nowMs);
    }
  }

  /**
   * Puts a rule set in force; `rules` has each key once, in any order. A changed cap or mode keeps the counters;
   * another epoch empties the windows of a rule; a rule that became a template, or stopped being one, starts from 0.
   * The counters of a removed rule are dropped, except the slots of open requests, which a rule with the same key takes
   * over. Matches and leases handed out before stay usable.
   */
  reconcile(rules: readonly Rule[], enforcement: Enforcement = {}): void {
    this.prepare(rules, enforcement)();
  }

  /**
   * `reconcile` in two steps: changes nothing, and returns the function that puts the rule set in force and does not throw. With the same
   * enforcement as before, only rules that are other objects are looked at.
   */
  prepare(rules: readonly Rule[], enforcement: Enforcement = {}): () => void {
    const before = this.#inForce;
    if (before.given === rules && before.enforcement === enforcement) return () => undefined;
    const sorted = isSorted(rules) ? rules : rules.toSorted(compareRules);
    const isSame = before.enforcement === enforcement;
    const { gone, come } = isSame
      ? differences(before.sorted, sorted, compareRules)
      : { gone: before.sorted, come: sorted };
    const staying = new Set(come.map(({ key }) => key));
    const parted = gone.filter(({ key }) => !staying.has(key));
    return () => {
      if (!isSame) this.#follow(enforcement);
      for (const { key } of parted) this.#part(key);
      const tallies = come.map((rule) => this.#tallyOf(rule));
      const { index } = this.#lookup;
      this.#lookup.index = isSame ? index.changed(gone, tallies) : new RuleIndex(tallies);
      if (!this.#isEnforced) this.#lookup.index = new RuleIndex([]);
      this.#inForce = { given: rules, sorted, enforcement };
    };
  }

  #follow(enforcement: Enforcement): void {
    this.#isEnforced = enforcement.isEnforced ?? true;
    this.#reserveTokens = enforcement.reserveTokens ?? 'p90';
    this.#unsaved.isShared = enforcement.isShared === true && this.#unsaved.fleet !== undefined;
    this.#unsaved.onStoreLoss = enforcement.onStoreLoss ?? 'share';
    if (this.#unsaved.fleet !== undefined) this.#unsaved.fleet.leaseWaitMs = enforcement.leaseWaitMs ?? 250;
    this.#unsaved.areBounds = this.#reserveTokens === 'max';
    this.#unsaved.maxChildren = enforcement.maxChildren ?? Number.POSITIVE_INFINITY;
  }

  #part(key: string): void {
    const tally = this.#tallies.get(key);
    if (tally === undefined) return;
    this.#tallies.delete(key);
    this.#templates.delete(tally);
    tally.part();
    if (tally.size > 0) this.#parted.set(key, tally);
  }

  #tallyOf(rule: Rule): Tally {
    const known = this.#tallies.get(rule.key) ?? this.#parted.get(rule.key);
    const tally = known ?? new Tally(rule, this.#unsaved);
    known?.revise(rule);
    this.#parted.delete(rule.key);
    this.#tallies.set(rule.key, tally);
    if (rule.perChild) this.#templates.add(tally);
    return tally;
  }

  /** The matches of a request that no rule counts: none. */
  get unlimited(): Matches {
    return this.#lookup.none;
  }

  /** The rules that match a consumer; `path` as `normaliseUserPath` returns it. */
  forUserPath(path: string): Matches {
    return this.#lookup.forUserPath(path);
  }

  /** `forUserPath` without concurrency rules, for a request that holds no slot. */
  windowsForUserPath(path: string): Matches {
    return this.#lookup.windowsForUserPath(path);
  }

  /** The rules of a provider instance and of the model it executes, named as the provider names it. */
  forTarget(provider: string, model: string): Matches {
    return this.#lookup.forTarget(provider, model);
  }

  /**
   * Checks every rule, then takes from all of them or from none (spec, Limits 5). A shadow rule that would have refused
   * counts a `shadow_reject` and takes nothing, so that its counts equal those of an enforced rule. A refusal is
   * counted as `rejectedAs`. Every token rule must have room for `wanted` tokens, which are set aside until the lease is released; with 0,
   * it must only not be used up. Where a fleet shares a rule, it is decided with what this proxy holds. `nowMs` in Unix milliseconds. Does
   * not throw.
   */
  admit(
    matches: Matches,
    nowMs: number,
    rejectedAs: 'reject' | 'skip_target' = 'reject',
    wanted: number = 0,
  ): Admission {
    return admitNow(matches, nowMs, { rejectedAs, wanted });
  }

  /**
   * `admit`, which asks the state store where a fleet shares a rule and this proxy holds nothing of it: a promise then. It resolves within
   * the time that requests may wait for the store.
   */
  admitSoon(matches: Matches, nowMs: number, admitting: Admitting): Admission | Promise<Admission> {
    return admitMatched(matches, nowMs, admitting);
  }

  /** Whether `charge` would count anything: a matching rule limits tokens. */
  countsTokens(matches: Matches): boolean {
    for (const { caps } of matches.matched()) if (caps.tokensCap !== Number.POSITIVE_INFINITY) return true;
    return false;
  }

  /** What requests set aside under token rules from now on. */
  get reserveTokens(): ReserveTokens {
    return this.#reserveTokens;
  }

  /**
   * Counts the tokens of a finished request under every matching token rule, at `nowMs` (spec, Limits 7 and 8). `lease`
   * is the result of `admit` for `matches`: a shadow rule counts the tokens only if it is in the lease. Fractions are
   * cut; below 1 token nothing is counted.
   */
  charge(matches: Matches, tokens: number, nowMs: number, lease?: Lease): void {
    if (!(tokens >= 1)) return;
    const count = Math.min(Math.floor(tokens), Number.MAX_SAFE_INTEGER);
    for (const match of matches.matched()) {
      const { tally, tokensCap, shadow } = match.caps;
      if (tokensCap === Number.POSITIVE_INFINITY || (shadow && lease?.counts(tally) !== true)) continue;
      const counter = liveCounter(match) ?? tally.open(match.child);
      counter.window?.add(tokenLane, count, nowMs);
      counter.shared?.charge(count, nowMs);
      counter.touch();
    }
  }

  /**
   * Asks the state store how the matching rules stand that the fleet shares, before they are reported. Resolves within the time that requests
   * may wait for it.
   */
  async refresh(all: readonly Matches[], nowMs: number): Promise<void> {
    const { fleet } = this;
    if (fleet === undefined) return;
    const stocks = all.flatMap((matches) => stocksOf(matches, nowMs));
    if (stocks.length > 0 && !fleet.isLost) await refresh(fleet, [...new Set(stocks)], nowMs);
  }

  /** The state of the matching rules, in their order. */
  report(matches: Matches, nowMs: number): RuleReport[] {
    return reportMatched(matches.matched(), nowMs);
  }

  /** The figures of the heartbeat: the live counts of rules that are no templates, and the refusals of all rules. Pauses where it yields. */
  live(nowMs: number): Generator<undefined, LiveFigures, undefined> {
    return liveFigures(this.#tallies.values(), nowMs);
  }

  /** The rules in force, in their order; none while rate limits are switched off. */
  rules(): Rule[] {
    return this.#isEnforced ? this.#inOrder().map(({ caps }) => caps.rule) : [];
  }

  /** Whether a rule on a provider or a model is in force. */
  get limitsTargets(): boolean {
    return this.#lookup.index.limitsTargets;
  }

  /** Whether a rule on models may refuse a call of this provider: then it must be known which model is asked. Shadow rules refuse nothing. */
  limitsModelsOf(provider: string): boolean {
    return this.#lookup.index.limitsModelsOf(provider);
  }

  /** Whether there is a rule with this key, also while rate limits are switched off. */
  knows(key: string): boolean {
    return this.#tallies.has(key);
  }

  /** The templates whose children have shared a counter, with the number of requests counted there. */
  overflows(): Overflow[] {
    return [...this.#templates].flatMap(overflowOf);
  }

  /** The number of stored counters of children for which `restore` had no room. */
  get dropped(): number {
    return this.#dropped;
  }

  /**
   * The used share of every enforced cap of the rules with these ids, in the order of rules. A generator, so that the
   * caller can yield to other work.
   */
  *utilisationByRule(ids: ReadonlySet<string>, nowMs: number): Generator<UtilisationStep, void> {
    for (const tally of this.#inOrder(({ id }) => ids.has(id))) yield* utilisationOf(tally, nowMs);
  }

  /** The count of each decision that has happened at least once. A count never falls while its rule exists. */
  decisions(): DecisionCount[] {
    return [...this.decisionsByRule()].flat().filter(({ count }) => count > 0);
  }

  /**
   * One list per rule, which includes refusals with count 0. A generator, so that the caller can yield to other work.
   */
  *decisionsByRule(): Generator<DecisionCount[], void> {
    for (const tally of this.#tallies.values()) yield tally.decided();
  }

  /**
   * Keys of rules whose counters were dropped since the last call. Delete the stored rows of these keys, of every
   * child, before writing the result of `exportChanged`.
   */
  exportRemoved(): string[] {
    const keys = [...this.#unsaved.removed];
    this.#unsaved.removed.clear();
    return keys;
  }

  /** Marks every window for the next export. Call it when the stored rows are lost. */
  exportAgain(): void {
    for (const tally of this.#tallies.values()) {
      for (const counter of tally.counters()) if (counter.window !== undefined) counter.touch();
    }
  }

  /** Up to `limit` windows that changed since their last export; an empty list means that all are exported. */
  exportChanged(limit: number = Number.POSITIVE_INFINITY): CounterText[] {
    return takeChanged(this.#unsaved.changed, limit);
  }

  /**
   * Adds each stored counter once, while there is room for children; returns the number of rows that were added. Rows
   * of unknown rules are skipped.
   */
  restore(rows: Iterable<CounterRow>, nowMs: number): number {
    let restored = 0;
    for (const row of rows) {
      const outcome = restoreRow(row, this.#tallies.get(row.key), nowMs);
      if (outcome === 'restored') restored += 1;
      if (outcome === 'dropped') this.#dropped += 1;
    }
    return restored;
  }

  /**
   * Visits up to `visits` children of templates, from where the last call stopped, and evicts those without use and
   * without unexported changes. Returns the number evicted.
   */
  sweep(nowMs: number, visits: number = 1_000): number {
    for (const [key, tally] of this.#parted) {
      tally.evictIdle(nowMs);
      if (tally.size === 0) this.#parted.delete(key);
    }
    return this.#sweeper.sweep(nowMs, visits);
  }

  /** The number of live counters, children included. */
  get size(): number {
    let count = 0;
    for (const tally of this.#tallies.values()) count += tally.size;
    return count;
  }

  #inOrder(isWanted: (rule: Rule) => boolean = () => true): Tally[] {
    const wanted = [...this.#tallies.values()].filter(({ caps }) => isWanted(caps.rule));
    return wanted.sort((a, b) => compareRules(a.caps.rule, b.caps.rule));
  }
}

interface InForce {
  readonly given: readonly Rule[];
  readonly sorted: readonly Rule[];
  /** Undefined before the first. */
  readonly enforcement: Enforcement | undefined;
}

function isSorted(rules: readonly Rule[]): boolean {
  return rules.every((rule, at) => at === 0 || compareRules(rules[at - 1] as Rule, rule) < 0);
}

/** The stocks of the matching rules, those of shadow rules included. Counters are made where they are missing. */
function stocksOf(matches: Matches, nowMs: number): Stock[] {
  return matches.matched().flatMap(({ caps, child }) => {
    const { shared } = caps.tally.open(child);
    return shared === undefined ? [] : lanesOf(caps, 0).map(({ lane }) => shared.stock(lane, nowMs));
  });
}

/** A template with more children than may have counters of their own. */
export interface Overflow {
  readonly rule: Rule;
  /** The number of requests counted on the shared counter so far. */
  readonly requests: number;
  /** Whether children share a counter now. */
  readonly isOverflowing: boolean;
}

/** One entry for a template whose children have shared a counter, else none. */
function overflowOf({ caps, overflowed, isOverflowing }: Tally): Overflow[] {
  return overflowed === 0 ? [] : [{ rule: caps.rule, requests: overflowed, isOverflowing }];
}
