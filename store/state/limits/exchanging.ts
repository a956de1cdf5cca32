// The counters of one exchange: what the session reports is booked first, then the requests that wait are granted units, in order, then spare ones.
import type { ExchangeMessage, LimitAnswer, LimitItem, LimitNotice } from '../../../domain/limits/exchange.ts';
import {
  buryHeld,
  type Counter,
  emptyCounter,
  expiresInMs,
  freeInMs,
  heldBy,
  hold,
  newestOf,
  oldestOf,
  openOfOthers,
  refund,
  spare,
  turn,
  use,
} from './counter.ts';
import { type LimitMeta, type LimitTables, lastUseMs } from './tables.ts';

/** How long others are given time to give back at least, and the least time between two calls to do so. */
export const recallMs = 20;
export const recallEveryMs = 100;
/** The spare units of a session that was silent for longer may not come back: a beat, and the time for which a request waits. */
export const silentMs = 750;
/** A session is given at most this share of its even part of what is free, as spare units. */
export const spread = 2;
/** The spare units of a session are at most this share of its even part of the cap. */
export const spareShare = 10;

interface Row {
  readonly item: LimitItem;
  readonly counter: Counter;
  granted: number;
  /** Of what the session holds behind it. */
  spare: number;
  /** Units that the smallest of the requests lacks that may not go; 0: nothing lacks. */
  lacking: number;
  recallMs: number;
}

interface Moment {
  readonly nowMs: number;
  readonly tell: (notice: LimitNotice) => void;
}

export class Exchanging {
  readonly #tables: LimitTables;
  readonly #meta: LimitMeta;
  readonly #message: ExchangeMessage;
  readonly #moment: Moment;
  readonly #rows: readonly Row[];
  /** For each group, how many of its requests may go. */
  readonly admitted: number[];

  constructor(tables: LimitTables, meta: LimitMeta, message: ExchangeMessage, moment: Moment) {
    this.#tables = tables;
    this.#meta = meta;
    this.#message = message;
    this.#moment = moment;
    this.#rows = message.items.map((item) => this.#book(item));
    this.admitted = message.groups.map(() => 0);
  }

  /** Books what was used, given back and taken back. */
  #book(item: LimitItem): Row {
    const { nowMs, tell } = this.#moment;
    const { graves } = this.#meta;
    const counter = this.#tables.counter(item.key) ?? emptyCounter(item.period, graves);
    turn(counter, nowMs);
    const before = counter.used + counter.held;
    buryHeld(counter, graves, (id) => lastUseMs(this.#tables, id, nowMs));
    for (const [slice, units] of item.uses) use(counter, slice, units);
    for (const [low, high, units] of item.refunds) refund(counter, low, high, units);
    hold(counter, this.#message.session, item.held);
    if (counter.isDry && counter.used + counter.held < before) {
      counter.isDry = false;
      tell({ kind: 'room', key: item.key });
    }
    return { item, counter, granted: 0, spare: item.spare, lacking: 0, recallMs: 0 };
  }

  /** Grants units to waiting requests, then spare ones. */
  grant(): void {
    for (const [index, group] of this.#message.groups.entries()) this.admitted[index] = this.#admit(group);
    for (const row of this.#rows) this.#addSpare(row);
  }

  /** As many requests as all their counters have room for: none holds the unit of one rule while it waits for another's. */
  #admit({ requests, needs }: ExchangeMessage['groups'][number]): number {
    let admitted = requests;
    const rows = needs.map(([index, units, kept, alone]) => ({ row: this.#rows[index] as Row, units, kept, alone }));
    for (const { row, units, kept, alone } of rows) {
      const room = Math.max(0, free(row)) + kept;
      const fits = units === 0 ? requests : Math.floor(room / units);
      admitted = Math.min(admitted, fits === 0 && alone === 1 && this.#isAlone(row, kept) ? 1 : fits);
    }
    for (const { row, units, kept } of rows) {
      const wanted = Math.max(0, admitted * units - kept);
      this.#give(row, Math.min(wanted, Math.max(0, free(row))));
      row.spare = Math.max(0, row.spare - Math.min(kept, admitted * units));
      const left = Math.max(0, kept - admitted * units);
      if (admitted < requests && free(row) + left < units) this.#lack(row, units - left);
    }
    return admitted;
  }

  /** No request is open under the counter, and its cap is not reached. */
  #isAlone({ item, counter }: Row, kept: number): boolean {
    return counter.held === kept && counter.used < item.cap;
  }

  #addSpare(row: Row): void {
    const { item, counter } = row;
    if (item.wish === 0) return;
    const { live } = this.#meta;
    const most = Math.max(item.least, Math.ceil(item.cap / (spareShare * live))) - item.spare;
    const part = Math.floor(Math.max(0, free(row)) / (spread * live));
    const granted = Math.max(0, Math.min(item.wish, most, part));
    this.#give(row, granted);
    row.spare += granted;
    if (granted > 0 || row.lacking > 0 || free(row) > 0) return;
    row.lacking = 1;
    counter.isDry = true;
    // What others hold may come back: that is no verdict.
    row.recallMs = counter.held > heldBy(counter, this.#message.session) ? -1 : 0;
  }

  #give(row: Row, units: number): void {
    if (units === 0) return;
    const { session } = this.#message;
    hold(row.counter, session, heldBy(row.counter, session) + units);
    row.granted += units;
  }

  /** A request lacks units. What others hold is called back, and waited for: for a moment, and as long as one has not given its spare units back. */
  #lack(row: Row, units: number): void {
    const { nowMs, tell } = this.#moment;
    const { counter, item } = row;
    row.lacking = row.lacking === 0 ? units : Math.min(row.lacking, units);
    counter.isDry = true;
    row.recallMs = 0;
    if (counter.held === heldBy(counter, this.#message.session)) return;
    if (nowMs - counter.recalledMs >= recallEveryMs) {
      counter.recalledMs = nowMs;
      tell({ kind: 'return', key: item.key });
    }
    const sinceMs = nowMs - counter.recalledMs;
    if (sinceMs < recallMs) row.recallMs = recallMs - sinceMs;
    else if (this.#isAwaiting(counter)) row.recallMs = recallEveryMs - sinceMs;
  }

  /** Whether another session has spare units, and answers. */
  #isAwaiting({ spares }: Counter): boolean {
    const afterMs = this.#moment.nowMs - silentMs;
    for (const id of spares.keys()) {
      if (id !== this.#message.session && (this.#tables.session(id)?.contactMs ?? 0) >= afterMs) return true;
    }
    return false;
  }

  /** Keeps the counters, and says what became of each. */
  finish(): LimitAnswer[] {
    const { session } = this.#message;
    return this.#rows.map((row) => {
      const { item, counter, granted, lacking } = row;
      spare(counter, session, row.spare);
      this.#tables.putCounter(item.key, counter, expiresInMs(counter));
      const freeIn = lacking === 0 ? 0 : freeInMs(counter, item.cap, lacking, this.#moment.nowMs);
      const others = counter.held - heldBy(counter, session);
      return {
        granted,
        spare: row.spare,
        free: free(row),
        used: counter.used,
        others,
        othersOpen: openOfOthers(counter, session),
        freeInMs: freeIn,
        recallMs: row.recallMs,
        ...(item.dated ? { oldest: oldestOf(counter), newest: newestOf(counter) } : { oldest: -1, newest: -1 }),
      };
    });
  }
}

function free({ item, counter }: Row): number {
  return item.cap - counter.used - counter.held;
}
