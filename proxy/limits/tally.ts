// All that is counted under one rule: rules are data and get replaced, their tallies stay.
import type { Rule } from '../../schemas/rules/rule.ts';
import { Decisions } from './decisions.ts';
import { Gauge } from './gauge.ts';
import { type Dial, Window } from './window.ts';

/** What every tally of a limiter shares. */
export interface Ledger {
  /** Counters that differ from what was exported last. */
  readonly changed: Set<Counter>;
  /** Keys of rules whose counters were dropped since that was asked last. */
  readonly removed: Set<string>;
  /** One dial per period. */
  dial(periodSeconds: number): Dial;
  /** Somebody calls `exportChanged` now and then. */
  readonly isExported: boolean;
  /** False: token caps are known but neither counted nor checked (spec, Errors: usage tracking off). */
  readonly tokensEnforced: boolean;
}

/** The caps of a rule as numbers to compare with: Infinity for a cap it does not have. */
export interface Terms {
  readonly tally: Tally;
  readonly rule: Rule;
  readonly requestsCap: number;
  readonly tokensCap: number;
  readonly slotsCap: number;
  /** Some cap is 0: nothing is admitted, whether or not anything was counted. */
  readonly isBlock: boolean;
  readonly shadow: boolean;
}

/** One window or gauge: of a whole subject, or of one child of a template. */
export class Counter {
  readonly tally: Tally;
  /** Full path of the child; empty for the counter of a whole subject. */
  readonly child: string;
  readonly window: Window | undefined;
  readonly gauge: Gauge | undefined;
  /** No longer the counter of its rule and child: whoever still holds it must look again. */
  retired = false;
  #changed = false;

  constructor(tally: Tally, child: string, dial: Dial | undefined) {
    this.tally = tally;
    this.child = child;
    this.window = dial && new Window(dial);
    this.gauge = dial ? undefined : new Gauge();
  }

  /** Marks the counter for the next export. */
  touch(): void {
    if (this.#changed) return;
    this.#changed = true;
    this.tally.ledger.changed.add(this);
  }

  /** The mark is taken off: the caller has what is counted now. */
  collect(): void {
    this.#changed = false;
    this.tally.ledger.changed.delete(this);
  }

  /** Leases that still hold a slot give it back into the void. */
  retire(): void {
    this.retired = true;
    this.window?.clear();
    this.collect();
  }

  /** Without use, and nothing to be told about it where changes are exported: else a stored row would outlive its counter. */
  isIdle(nowMs: number): boolean {
    if (this.#changed && this.tally.ledger.isExported) return false;
    return this.window ? this.window.isEmpty(nowMs) : this.gauge?.inFlight === 0;
  }
}

/** The counters of one rule key, and what the rule decided. */
export class Tally {
  readonly ledger: Ledger;
  terms: Terms;
  readonly decisions = new Decisions();
  readonly #counters = new Map<string, Counter>();
  /** Undefined for requests in flight. */
  readonly #dial: Dial | undefined;

  constructor(rule: Rule, ledger: Ledger) {
    this.ledger = ledger;
    this.#dial = rule.periodSeconds === 0 ? undefined : ledger.dial(rule.periodSeconds);
    this.terms = this.#termsOf(rule);
    if (!rule.perChild) this.open('');
  }

  /**
   * Takes a new version of the same rule. Caps and mode keep the counters; another epoch empties the windows but not the slots of
   * open requests; a rule that became a template, or stopped being one, starts anew (spec, States and transitions).
   */
  revise(rule: Rule): void {
    const { epoch, perChild } = this.terms.rule;
    this.terms = this.#termsOf(rule);
    if (rule.perChild !== perChild || (rule.epoch !== epoch && this.#dial !== undefined)) this.drop();
    if (!rule.perChild) this.open('');
  }

  /** The live counter of a child (empty: of the whole subject), if anything was ever counted there. */
  find(child: string): Counter | undefined {
    return this.#counters.get(child);
  }

  /** Likewise, made when missing. */
  open(child: string): Counter {
    const found = this.#counters.get(child);
    if (found !== undefined) return found;
    // A slice of a longer path would keep the whole path in memory; joining copies.
    const counter = new Counter(this, child.split('').join(''), this.#dial);
    this.#counters.set(counter.child, counter);
    return counter;
  }

  counters(): MapIterator<Counter> {
    return this.#counters.values();
  }

  evict(counter: Counter): void {
    counter.retire();
    this.#counters.delete(counter.child);
  }

  /** Forgets every counter, and has what is stored of them removed. */
  drop(): void {
    this.ledger.removed.add(this.terms.rule.key);
    for (const counter of this.#counters.values()) counter.retire();
    this.#counters.clear();
  }

  get size(): number {
    return this.#counters.size;
  }

  #termsOf(rule: Rule): Terms {
    const isWindow = this.#dial !== undefined;
    const requestsCap = (isWindow ? rule.maxRequests : undefined) ?? Number.POSITIVE_INFINITY;
    const tokensCap = (isWindow && this.ledger.tokensEnforced ? rule.maxTokens : undefined) ?? Number.POSITIVE_INFINITY;
    const slotsCap = (isWindow ? undefined : rule.maxRequests) ?? Number.POSITIVE_INFINITY;
    return {
      tally: this,
      rule,
      requestsCap,
      tokensCap,
      slotsCap,
      isBlock: Math.min(requestsCap, tokensCap, slotsCap) === 0,
      shadow: rule.mode === 'shadow',
    };
  }
}
