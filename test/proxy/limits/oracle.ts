// The plain truth about limits, to hold the engine against: every request and token with its time, every rule tried in turn.
import type { Rule } from '../../../domain/rules/rule.ts';
import { foldCase } from '../../../domain/selector.ts';

/** What a request is about. A consumer, or the target it goes to. */
export type Matched = { path: string } | { provider: string; model: string };

export interface Entry {
  atMs: number;
  count: number;
  /** It had left the trailing period when the store was written: a stored row may hold it or not. */
  isDoubtful?: boolean;
}

/** Everything that happened under one rule, for one child of a template or for all. */
export interface Log {
  readonly rule: Rule;
  readonly child: string;
  requests: Entry[];
  tokens: Entry[];
  open: number;
}

/** What the log of one rule and dimension allows the engine to say. */
export interface Bounds {
  /** Counted in the trailing period: at least this much is used. */
  least: number;
  /** Counted in the trailing period and the slice before it: at most this much is. */
  most: number;
}

/** One request as it was booked. */
export interface Booking {
  atMs: number;
  counted: { log: Log; entry: Entry }[];
  held: Log[];
}

/** Whether an entry has left the trailing period. */
function isPast({ atMs }: Entry, { rule }: Log, nowMs: number): boolean {
  return nowMs - atMs > 1_000 * rule.periodSeconds;
}

/**
 * Says of a rule which child of it is meant (empty: the subject as a whole); undefined when the rule does not match. By definition, not
 * by index. What depends on the question alone is worked out once, because thousands of rules are tried with one question.
 */
export function childFinder(asked: Matched): (rule: Rule) => string | undefined {
  return 'path' in asked ? childOnPath(asked.path) : childAtTarget(foldCase(asked.provider), foldCase(asked.model));
}

/** Paths are compared as normalised texts in lower case: `/a` covers `/a` and what begins with `/a/`. */
function childOnPath(path: string): (rule: Rule) => string | undefined {
  const whole = path === '/' ? '' : foldCase(path);
  return ({ scope, matchSubject, perChild }) => {
    if (scope !== 'user_path') return undefined;
    const own = matchSubject === '/' ? '' : matchSubject;
    if (!whole.startsWith(own) || (whole.length > own.length && whole[own.length] !== '/')) return undefined;
    if (!perChild) return '';
    if (whole.length === own.length) return undefined;
    const end = whole.indexOf('/', own.length + 1);
    return end === -1 ? whole : whole.slice(0, end);
  };
}

function childAtTarget(provider: string, model: string): (rule: Rule) => string | undefined {
  const qualified = `${provider}/${model}`;
  return ({ scope, matchSubject, bareId }) => {
    if (scope === 'provider') return matchSubject === provider ? '' : undefined;
    if (scope !== 'model') return undefined;
    const isBare = bareId === true || !matchSubject.includes('/');
    return matchSubject === (isBare ? model : qualified) ? '' : undefined;
  };
}

export class Oracle {
  rules: Rule[] = [];
  /** By rule key and child. */
  #logs = new Map<string, Log>();
  /** Of concurrency rules that are gone, while requests are open under them. */
  #parted = new Map<string, Log>();
  #stored = new Map<string, Log>();

  /** The logs of the rules that match, made when missing, in the order of scope, subject, period. */
  matching(asked: Matched): Log[] {
    const childIn = childFinder(asked);
    return this.rules.flatMap((rule) => {
      const child = childIn(rule);
      return child === undefined ? [] : [this.#log(rule, child)];
    });
  }

  bounds(entries: readonly Entry[], periodSeconds: number, nowMs: number): Bounds {
    const sum = (isIn: (entry: Entry) => boolean): number =>
      entries.reduce((total, entry) => (isIn(entry) ? total + entry.count : total), 0);
    return {
      least: sum(({ atMs, isDoubtful }) => nowMs - atMs <= 1_000 * periodSeconds && isDoubtful !== true),
      most: sum(({ atMs }) => 60 * (nowMs - atMs) < 61 * 1_000 * periodSeconds),
    };
  }

  /** Books an admitted request on the given logs. */
  book(logs: readonly Log[], nowMs: number): Booking {
    const booking: Booking = { atMs: nowMs, counted: [], held: [] };
    for (const log of logs) {
      if (log.rule.periodSeconds === 0) {
        log.open += 1;
        booking.held.push(log);
      } else if (log.rule.maxRequests !== undefined) {
        const entry = { atMs: nowMs, count: 1 };
        log.requests.push(entry);
        booking.counted.push({ log, entry });
      }
    }
    return booking;
  }

  release(booking: Booking): void {
    for (const log of booking.held.splice(0)) log.open -= 1;
  }

  /** What has left the trailing period is not taken back: nothing depends on it, but a stored row may still hold it. */
  refund(booking: Booking, nowMs: number): void {
    this.release(booking);
    for (const { log, entry } of booking.counted.splice(0)) {
      if (isPast(entry, log, nowMs)) entry.isDoubtful = true;
      else log.requests = log.requests.filter((one) => one !== entry);
    }
  }

  /** `isSpared`: a shadow rule that would have refused the request. */
  charge(asked: Matched, count: number, nowMs: number, isSpared: (log: Log) => boolean): void {
    for (const log of this.matching(asked)) {
      if (isSpared(log)) continue;
      if (log.rule.periodSeconds > 0 && log.rule.maxTokens !== undefined) log.tokens.push({ atMs: nowMs, count });
    }
  }

  /** `rules` sorted. A log belongs to a rule key, its epoch and its kind; slots outlive the epoch, and the rule. */
  reload(rules: Rule[]): void {
    const next = new Map(rules.map((rule) => [rule.key, rule]));
    const logs = new Map<string, Log>();
    const parted = new Map<string, Log>();
    for (const [id, log] of [...this.#logs, ...this.#parted]) {
      const rule = next.get(log.rule.key);
      if (rule === undefined && log.open > 0) parted.set(id, log);
      if (rule === undefined || rule.perChild !== log.rule.perChild) continue;
      const isReset = rule.epoch !== log.rule.epoch;
      // In place: requests under way hold on to their logs.
      logs.set(id, Object.assign(log, { rule }, isReset ? { requests: [], tokens: [] } : {}));
    }
    this.#logs = logs;
    this.#parted = parted;
    this.rules = rules;
  }

  /** What a flush puts into the store. */
  store(nowMs: number): void {
    this.#stored = new Map();
    for (const [id, log] of this.#logs) {
      const copy = (entries: Entry[]): Entry[] =>
        entries.map((entry) => {
          return { ...entry, isDoubtful: entry.isDoubtful === true || isPast(entry, log, nowMs) };
        });
      this.#stored.set(id, { ...log, requests: copy(log.requests), tokens: copy(log.tokens) });
    }
  }

  /** A process starts from the store; what happened later than its clock says, happened now. */
  restart(nowMs: number): void {
    this.#logs = new Map();
    this.#parted = new Map();
    for (const [id, log] of this.#stored) {
      const rule = this.rules.find(({ key }) => key === log.rule.key);
      if (rule === undefined || rule.epoch !== log.rule.epoch || rule.perChild !== log.rule.perChild) continue;
      const past = (entry: Entry): Entry => ({ ...entry, atMs: Math.min(entry.atMs, nowMs) });
      this.#logs.set(id, { ...log, rule, requests: log.requests.map(past), tokens: log.tokens.map(past), open: 0 });
    }
  }

  #log(rule: Rule, child: string): Log {
    const id = `${rule.key} ${child}`;
    const found = this.#logs.get(id) ?? { rule, child, requests: [], tokens: [], open: 0 };
    this.#logs.set(id, found);
    return found;
  }
}
