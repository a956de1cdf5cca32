// Reads entries as they come in, once for all listeners, and only while there are any.
import type { AuditEntry } from '../../../domain/records/audit-entry.ts';
import { liveHeartbeatMs } from '../../../domain/records/live-stream.ts';
import type { RecordStore } from '../../../store/records/record-store.ts';
import { heartbeat, readyEvent, unavailableEvent } from './events.ts';
import { Listener, type Sink } from './listener.ts';

export interface FeedParts {
  /** Undefined while the audit log is off: then nothing comes in. */
  records(): Pick<RecordStore, 'arrived'> | undefined;
  /** Hears once of each outage of the record store. */
  report(trouble: Error): void;
  /** How long between two readings. Milliseconds; default 500. */
  readonly pollMs?: number;
  /** How long between two signs of life. Milliseconds; default `liveHeartbeatMs`. */
  readonly heartbeatMs?: number;
}

/** A listener in the feed. */
export interface Joined {
  /** The client has read all that waited for it. */
  drained(): void;
  left(): void;
}

/** The number of entries that are read at once. */
const batchSize = 100;
/** The most missed entries that are sent again to a client; with more, it has to read lists. */
const mostReplayed = 1_000;
/** The number of readings without a pause; the rest waits for the next turn. */
const mostRounds = 50;

/** All work is done in turns, one after the other: a turn reads what has come in for all, then lets new listeners catch up. */
export class LiveFeed {
  readonly #listeners = new Set<Listener>();
  readonly #parts: Required<FeedParts>;
  #cursor: number | undefined;
  #isTroubled = false;
  #isAtWork = false;
  #turn: NodeJS.Timeout | undefined;
  #beats: NodeJS.Timeout | undefined;
  #watch: NodeJS.Timeout | undefined;

  constructor(parts: FeedParts) {
    this.#parts = { pollMs: 500, heartbeatMs: liveHeartbeatMs, ...parts };
  }

  get size(): number {
    return this.#listeners.size;
  }

  /** `resumesAt`: a cursor that the client had from an earlier stream; undefined: it gets the entries that come in from now on. */
  join(sink: Sink, resumesAt: number | undefined): Joined {
    const listener = new Listener(sink, resumesAt);
    this.#listeners.add(listener);
    this.#beats ??= setInterval(() => this.#beat(), this.#parts.heartbeatMs);
    // A store that does not answer holds up a turn, but not the end of an authority.
    this.#watch ??= setInterval(() => this.#endDisallowed(), this.#parts.pollMs);
    void this.#takeTurn();
    return { drained: () => listener.drained(this.#cursor), left: () => this.#drop(listener) };
  }

  /** Ends every stream. */
  close(): void {
    for (const listener of this.#listeners) this.#end(listener);
  }

  #end(listener: Listener): void {
    this.#drop(listener);
    listener.sink.end();
  }

  /** Before anything is sent: what was read from the store may have taken a while. */
  #endDisallowed(): void {
    for (const listener of this.#listeners) if (!listener.sink.isAllowed()) this.#end(listener);
  }

  #drop(listener: Listener): void {
    this.#listeners.delete(listener);
    if (this.#listeners.size > 0) return;
    clearInterval(this.#beats);
    clearInterval(this.#watch);
    clearTimeout(this.#turn);
    this.#beats = undefined;
    this.#watch = undefined;
    this.#turn = undefined;
    // The next listener begins where the store is then.
    this.#cursor = undefined;
  }

  #beat(): void {
    this.#endDisallowed();
    for (const listener of this.#listeners)
      if (!listener.beat(heartbeat(listener.isReady ? this.#cursor : undefined))) this.#end(listener);
  }

  async #takeTurn(): Promise<void> {
    if (this.#isAtWork) return;
    this.#isAtWork = true;
    clearTimeout(this.#turn);
    this.#endDisallowed();
    try {
      await this.#advance();
      for (const listener of this.#listeners) if (!listener.isReady) await this.#admit(listener);
      this.#isTroubled = false;
    } catch (error) {
      this.#suffer(error as Error);
    }
    this.#isAtWork = false;
    if (this.#listeners.size > 0) this.#turn = setTimeout(() => void this.#takeTurn(), this.#parts.pollMs);
  }

  #suffer(trouble: Error): void {
    if (this.#isTroubled) return;
    this.#isTroubled = true;
    this.#parts.report(trouble);
    for (const listener of this.#listeners) listener.say(unavailableEvent);
  }

  /** Sends the new entries to all listeners. */
  async #advance(): Promise<void> {
    for (let round = 0; round < mostRounds; round += 1) {
      const { entries, cursor } = await this.#arrived(this.#cursor);
      this.#endDisallowed();
      if (this.#listeners.size === 0) return;
      const before = this.#cursor;
      this.#cursor = cursor;
      for (const listener of this.#listeners) {
        if (!listener.isReady) continue;
        if (this.#isTroubled) listener.say(readyEvent(before ?? cursor));
        if (before !== undefined && cursor < before) listener.reset('unknown', cursor);
        else listener.deliver(entries, cursor);
      }
      this.#isTroubled = false;
      if (entries.length < batchSize) return;
    }
  }

  /** Lets a new listener catch up, as far as it has missed something. */
  async #admit(listener: Listener): Promise<void> {
    const present = this.#cursor;
    // All have left meanwhile; this one came after them, and begins with the next turn.
    if (present === undefined) return;
    const { resumesAt } = listener;
    if (resumesAt === undefined || resumesAt === present) listener.say(readyEvent(present));
    else if (resumesAt > present) listener.reset('unknown', present);
    else await this.#catchUp(listener, resumesAt, present);
    listener.isReady = true;
  }

  async #catchUp(listener: Listener, from: number, present: number): Promise<void> {
    const sent = new Set<string>();
    let at = from;
    for (;;) {
      const { entries, cursor } = await this.#arrived(at);
      this.#endDisallowed();
      if (!this.#listeners.has(listener) || listener.isBehind) return;
      if (sent.size + entries.length > mostReplayed) return listener.reset('too_old', present);
      listener.deliver(entries, cursor);
      for (const { id } of entries) sent.add(id);
      at = cursor;
      if (entries.length < batchSize) break;
    }
    listener.isAheadBy(sent, at);
    listener.say(readyEvent(at));
  }

  async #arrived(
    cursor: number | undefined,
  ): Promise<{ readonly entries: readonly AuditEntry[]; readonly cursor: number }> {
    const records = this.#parts.records();
    return records === undefined ? { entries: [], cursor: cursor ?? 0 } : records.arrived(cursor, batchSize);
  }
}
