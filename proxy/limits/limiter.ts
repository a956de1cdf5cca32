// The engine: admits or refuses, counts, gives back. Pure and synchronous, so a decision and its booking are one step; the clock is an argument.

import type { CounterRow } from '../../schemas/rules/counter-row.ts';
import { compareRules, type Rule } from '../../schemas/rules/rule.ts';
import { type Admission, admitPlan } from './admit.ts';
import type { DecisionCount } from './decisions.ts';
import { Book, type Matches, RuleIndex } from './match.ts';
import { isExhausted, type Rejection, refuseTargets } from './rejection.ts';
import { type LiveFigures, liveFigures, type RuleReport, reportPlan, reportRule } from './report.ts';
import { restoreRow, rowOf } from './rows.ts';
import { type Counter, type Ledger, Tally } from './tally.ts';
import { type Utilisation, utilisationOf } from './utilisation.ts';
import { Dial, tokens as tokenLane } from './window.ts';

export interface LimiterOptions {
  /** False while usage tracking is off: token caps are then listed, not enforced. Default true. */
  readonly tokensEnforced?: boolean;
  /** False where nobody calls `exportChanged` (no periodic flush): idle children then need not wait for it. Default true. */
  readonly isExported?: boolean;
}

/** Creates a limiter without rules, which admits everything. */
export function createLimiter(options: LimiterOptions = {}): Limiter {
  return new Limiter(options);
}

/**
 * All counters of one proxy. Every `nowMs` is a whole number of milliseconds since the Unix epoch from a clock that never goes
 * back. Nothing here throws for what a client sends.
 */
export class Limiter {
  readonly #ledger: Ledger;
  readonly #tallies = new Map<string, Tally>();
  readonly #book = new Book();
  #round: Iterator<Counter> | undefined;

  constructor({ tokensEnforced = true, isExported = true }: LimiterOptions) {
    const dials = new Map<number, Dial>();
    this.#ledger = {
      changed: new Set(),
      removed: new Set(),
      tokensEnforced,
      isExported,
      dial(periodSeconds) {
        const dial = dials.get(periodSeconds) ?? new Dial(periodSeconds);
        dials.set(periodSeconds, dial);
        return dial;
      },
    };
  }

  /**
   * Puts a rule set in force (no key twice, any order). Caps and mode change in place; another epoch empties the windows of a rule;
   * a toggled template starts anew; what is gone is forgotten. Matches and leases handed out before stay usable.
   */
  reconcile(rules: readonly Rule[]): void {
    const wanted = new Map(rules.toSorted(compareRules).map((rule) => [rule.key, rule]));
    for (const [key, tally] of this.#tallies) {
      if (wanted.has(key)) continue;
      tally.drop();
      this.#tallies.delete(key);
    }
    const tallies: Tally[] = [];
    for (const [key, rule] of wanted) {
      const tally = this.#tallies.get(key) ?? new Tally(rule, this.#ledger);
      if (tally.terms.rule !== rule) tally.revise(rule);
      this.#tallies.set(key, tally);
      tallies.push(tally);
    }
    this.#book.index = new RuleIndex(tallies);
  }

  /** The rules of a consumer; `path` as `normaliseUserPath` gives it. */
  forUserPath(path: string): Matches {
    return this.#book.forUserPath(path);
  }

  /** The rules of a provider instance and of the model it executes, named as the provider names it. */
  forTarget(provider: string, model: string): Matches {
    return this.#book.forTarget(provider, model);
  }

  /**
   * Checks every rule, then takes from all of them or from none (spec, Limits 5). A shadow rule that would have refused counts that
   * and takes nothing, so that it keeps saying what enforcing it would mean. `refusedAs` is how a refusal is counted.
   */
  admit(matches: Matches, nowMs: number, refusedAs: 'reject' | 'skip_target' = 'reject'): Admission {
    return admitPlan(matches, nowMs, refusedAs);
  }

  /** Whether `admit` would refuse now. Changes nothing and counts nothing. */
  peek(matches: Matches, nowMs: number): boolean {
    const plan = matches.plan();
    return plan.terms.some((rule, index) => !rule.shadow && isExhausted(rule, plan.counter(index), nowMs));
  }

  /**
   * Explains the refusal of a request whose every target `peek` refuses, and counts it. `consumer` must hold nothing of the request
   * any more. Throws when a target has room.
   */
  refuseTargets(targets: readonly Matches[], consumer: Matches, nowMs: number): Rejection {
    const plans = targets.map((matches) => matches.plan());
    return refuseTargets(plans, consumer.plan(), nowMs);
  }

  /** Counts the tokens of a finished request under every matching token rule, now (spec, Limits 7 and 8). */
  charge(matches: Matches, tokens: number, nowMs: number): void {
    if (!(tokens >= 1)) return;
    const count = Math.min(Math.floor(tokens), Number.MAX_SAFE_INTEGER);
    const plan = matches.plan();
    for (const [index, { tally, tokensCap }] of plan.terms.entries()) {
      if (tokensCap === Number.POSITIVE_INFINITY) continue;
      const counter = tally.open(plan.children[index] ?? '');
      counter.window?.add(tokenLane, count, nowMs);
      counter.touch();
    }
  }

  /** The state of the matching rules, in their order. */
  report(matches: Matches, nowMs: number): RuleReport[] {
    return reportPlan(matches.plan(), nowMs);
  }

  /** The state of all rules, in their order; templates without figures. */
  reportAll(nowMs: number): RuleReport[] {
    return [...this.#inOrder()].map(({ terms }) => reportRule(terms, nowMs));
  }

  /** What is counted under rules that are no templates. */
  live(nowMs: number): LiveFigures {
    return liveFigures(this.#tallies.values(), nowMs);
  }

  /** The rules in force, in their order. */
  rules(): Rule[] {
    return this.#inOrder().map(({ terms }) => terms.rule);
  }

  /** How full every enforced cap of the rules with these ids is, rule by rule in their order, and how many counters were looked through. */
  *utilisationByRule(
    ids: ReadonlySet<string>,
    nowMs: number,
  ): Generator<{ figures: Utilisation[]; counters: number }, void> {
    for (const tally of this.#inOrder(({ id }) => ids.has(id)))
      yield { figures: utilisationOf(tally, nowMs), counters: tally.size };
  }

  /** Everything decided so far that happened at least once; it only grows while a rule exists. */
  decisions(): DecisionCount[] {
    return [...this.decisionsByRule()].flat();
  }

  /** The same, rule by rule, for whoever cannot wait for all of them. */
  *decisionsByRule(): Generator<DecisionCount[], void> {
    for (const { terms, decisions } of this.#tallies.values()) yield decisions.counts(terms.rule);
  }

  /**
   * Keys of rules whose counters started anew or went away since this was asked last: delete their stored rows, of every child,
   * before writing what `exportChanged` gives.
   */
  exportRemoved(): string[] {
    const keys = [...this.#ledger.removed];
    this.#ledger.removed.clear();
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
    const rows: CounterRow[] = [];
    for (const counter of this.#ledger.changed) {
      if (rows.length >= limit) break;
      counter.collect();
      const row = rowOf(counter);
      if (row !== undefined) rows.push(row);
    }
    return rows;
  }

  /** Every window in which something is counted. */
  exportAll(): CounterRow[] {
    const rows = this.#inOrder().flatMap((tally) => [...tally.counters()].map(rowOf));
    return rows.filter((row) => row !== undefined && row.requests.length + row.tokens.length > 0) as CounterRow[];
  }

  /** Adds stored counters of the rules in force; says how many rows were of use. Call it once, after the first `reconcile`. */
  restore(rows: Iterable<CounterRow>, nowMs: number): number {
    let restored = 0;
    for (const row of rows) if (restoreRow(row, this.#tallies.get(row.key), nowMs)) restored += 1;
    return restored;
  }

  /**
   * Looks at up to `visits` children of templates, going on where it stopped, and forgets those without use and without unexported
   * changes; says how many.
   */
  sweep(nowMs: number, visits: number = 1_000): number {
    let evicted = 0;
    this.#round ??= this.#children();
    for (let visited = 0; visited < visits; visited += 1) {
      const { value: counter, done } = this.#round.next();
      if (done) {
        this.#round = undefined;
        break;
      }
      if (!counter.isIdle(nowMs)) continue;
      counter.tally.evict(counter);
      evicted += 1;
    }
    return evicted;
  }

  /** The number of live counters, children included. */
  get size(): number {
    let count = 0;
    for (const tally of this.#tallies.values()) count += tally.size;
    return count;
  }

  *#children(): Generator<Counter, undefined> {
    for (const tally of this.#tallies.values()) if (tally.terms.rule.perChild) yield* tally.counters();
  }

  #inOrder(isWanted: (rule: Rule) => boolean = () => true): Tally[] {
    const wanted = [...this.#tallies.values()].filter(({ terms }) => isWanted(terms.rule));
    return wanted.sort((a, b) => compareRules(a.terms.rule, b.terms.rule));
  }
}
