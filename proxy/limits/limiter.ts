// The engine: admits or rejects, counts, refunds. Pure and synchronous, so a decision and its booking are one step; the clock is an argument.
import type { CounterRow } from '../../domain/rules/counter-row.ts';
import { compareRules, type Rule } from '../../domain/rules/rule.ts';
import { type Admission, admitMatched } from './admit.ts';
import type { DecisionCount } from './decisions.ts';
import type { Enforcement, LimiterOptions } from './enforcement.ts';
import type { Lease } from './lease.ts';
import { type LiveFigures, liveFigures } from './live.ts';
import { liveCounter, type Matches, RuleIndex, RuleLookup } from './match.ts';
import { type Overflow, overflowOf } from './overflow.ts';
import { type RuleReport, reportMatched } from './report.ts';
import { restoreRow, takeChanged } from './stored-windows.ts';
import { Sweeper } from './sweeper.ts';
import { Tally, type Unsaved } from './tally.ts';
import { type UtilisationStep, utilisationOf } from './utilisation.ts';
import { SliceClock, tokens as tokenLane } from './window.ts';

/** Creates a limiter without rules, which admits everything. */
export function createLimiter(options: LimiterOptions = {}): Limiter {
  return new Limiter(options);
}

/**
 * All counters of one proxy. Every `nowMs` is a whole number of milliseconds since the Unix epoch from a clock that never goes
 * back. Nothing here throws for what a client sends.
 */
export class Limiter {
  readonly #unsaved: Unsaved;
  readonly #tallies = new Map<string, Tally>();
  /** Concurrency rules that are gone, while requests hold slots under them. */
  readonly #parted = new Map<string, Tally>();
  readonly #lookup = new RuleLookup();
  readonly #sweeper = new Sweeper(this.#tallies);
  #isEnforced = true;
  #dropped = 0;

  constructor({ tokensEnforced = true, isExported = true, mostBytes = Number.POSITIVE_INFINITY }: LimiterOptions) {
    const clocks = new Map<number, SliceClock>();
    this.#unsaved = {
      changed: new Set(),
      removed: new Set(),
      tokensEnforced,
      isExported,
      maxChildren: Number.POSITIVE_INFINITY,
      bytes: 0,
      mostBytes,
      clock(periodSeconds) {
        const clock = clocks.get(periodSeconds) ?? new SliceClock(periodSeconds);
        clocks.set(periodSeconds, clock);
        return clock;
      },
    };
  }

  /**
   * Puts a rule set in force (no key twice, any order). Caps and mode change in place; another epoch empties the windows of a rule;
   * a toggled template starts anew; what is gone is forgotten, but for the slots of open requests: a rule that comes back has them.
   * Matches and leases handed out before stay usable.
   */
  reconcile(rules: readonly Rule[], enforcement: Enforcement = {}): void {
    this.prepare(rules, enforcement)();
  }

  /** `reconcile` in two steps: changes nothing, and returns the function that puts the rule set in force and does not throw. */
  prepare(rules: readonly Rule[], enforcement: Enforcement = {}): () => void {
    const wanted = new Map(rules.toSorted(compareRules).map((rule) => [rule.key, rule]));
    return () => this.#reconcile(wanted, enforcement);
  }

  #reconcile(wanted: ReadonlyMap<string, Rule>, enforcement: Enforcement): void {
    this.#isEnforced = enforcement.isEnforced ?? true;
    this.#unsaved.maxChildren = enforcement.maxChildren ?? Number.POSITIVE_INFINITY;
    for (const [key, tally] of this.#tallies) {
      if (wanted.has(key)) continue;
      this.#tallies.delete(key);
      tally.part();
      if (tally.size > 0) this.#parted.set(key, tally);
    }
    const tallies: Tally[] = [];
    for (const [key, rule] of wanted) {
      const known = this.#tallies.get(key) ?? this.#parted.get(key);
      const tally = known ?? new Tally(rule, this.#unsaved);
      if (known !== undefined) tally.revise(rule);
      this.#parted.delete(key);
      this.#tallies.set(key, tally);
      tallies.push(tally);
    }
    this.#lookup.index = new RuleIndex(this.#isEnforced ? tallies : []);
  }

  /** The rules of what no rule counts: none. */
  get unlimited(): Matches {
    return this.#lookup.none;
  }

  /** The rules of a consumer; `path` as `normaliseUserPath` gives it. */
  forUserPath(path: string): Matches {
    return this.#lookup.forUserPath(path);
  }

  /** The same without those on requests in flight: of what holds no slot. */
  windowsForUserPath(path: string): Matches {
    return this.#lookup.windowsForUserPath(path);
  }

  /** The rules of a provider instance and of the model it executes, named as the provider names it. */
  forTarget(provider: string, model: string): Matches {
    return this.#lookup.forTarget(provider, model);
  }

  /**
   * Checks every rule, then takes from all of them or from none (spec, Limits 5). A shadow rule that would have refused counts that
   * and takes nothing, so that its counts stay those of an enforced rule. `rejectedAs` is how a refusal is counted.
   */
  admit(matches: Matches, nowMs: number, rejectedAs: 'reject' | 'skip_target' = 'reject'): Admission {
    return admitMatched(matches, nowMs, rejectedAs);
  }

  /** Whether `charge` would count anything: a matching rule limits tokens. */
  countsTokens(matches: Matches): boolean {
    for (const { caps } of matches.matched()) if (caps.tokensCap !== Number.POSITIVE_INFINITY) return true;
    return false;
  }

  /**
   * Counts the tokens of a finished request under every matching token rule, now (spec, Limits 7 and 8). `lease` is what `admit` gave
   * for `matches`: a shadow rule that would have refused the request does not count its tokens either, and without a lease no shadow rule does.
   */
  charge(matches: Matches, tokens: number, nowMs: number, lease?: Lease): void {
    if (!(tokens >= 1)) return;
    const count = Math.min(Math.floor(tokens), Number.MAX_SAFE_INTEGER);
    for (const match of matches.matched()) {
      const { tally, tokensCap, shadow } = match.caps;
      if (tokensCap === Number.POSITIVE_INFINITY || (shadow && lease?.counts(tally) !== true)) continue;
      const counter = liveCounter(match) ?? tally.open(match.child);
      counter.window?.add(tokenLane, count, nowMs);
      counter.touch();
    }
  }

  /** The state of the matching rules, in their order. */
  report(matches: Matches, nowMs: number): RuleReport[] {
    return reportMatched(matches.matched(), nowMs);
  }

  /** What is counted under rules that are no templates. */
  live(nowMs: number): LiveFigures {
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

  /** The templates of which children have shared a counter. */
  overflows(): Overflow[] {
    return [...this.#tallies.values()].flatMap(overflowOf);
  }

  /** How many stored counters of children `restore` had no room for. */
  get dropped(): number {
    return this.#dropped;
  }

  /** How full every enforced cap of the rules with these ids is, rule by rule in their order, for a caller that yields in between. */
  *utilisationByRule(ids: ReadonlySet<string>, nowMs: number): Generator<UtilisationStep, void> {
    for (const tally of this.#inOrder(({ id }) => ids.has(id))) yield* utilisationOf(tally, nowMs);
  }

  /** Everything decided so far that happened at least once; it only grows while a rule exists. */
  decisions(): DecisionCount[] {
    return [...this.decisionsByRule()].flat().filter(({ count }) => count > 0);
  }

  /** The same with the refusals that have not happened yet, rule by rule, for a caller that yields in between. */
  *decisionsByRule(): Generator<DecisionCount[], void> {
    for (const tally of this.#tallies.values()) yield tally.decided();
  }

  /**
   * Keys of rules whose counters started anew or went away since this was asked last: delete their stored rows, of every child,
   * before writing what `exportChanged` gives.
   */
  exportRemoved(): string[] {
    const keys = [...this.#unsaved.removed];
    this.#unsaved.removed.clear();
    return keys;
  }

  /** Marks every window for the next export: what was exported before is lost. */
  exportAgain(): void {
    for (const tally of this.#tallies.values()) {
      for (const counter of tally.counters()) if (counter.window !== undefined) counter.touch();
    }
  }

  /** Up to `limit` windows that changed since they were exported last; an empty answer means that all are known. */
  exportChanged(limit: number = Number.POSITIVE_INFINITY): CounterRow[] {
    return takeChanged(this.#unsaved.changed, limit);
  }

  /** Adds stored counters, each once, while there is room for children; says how many rows were of use. */
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
   * Visits up to `visits` children of templates, from where the last call stopped, and evicts those without use and without unexported
   * changes; returns how many.
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
