// One listener of the live stream: the entries it is sent, and those left out because it does not read.
import type { AuditEntry } from '../../../domain/records/audit-entry.ts';
import { entryEvent, type ResetReason, resetEvent } from './events.ts';

/** The connection of a client. */
export interface Sink {
  write(text: string): void;
  /** The bytes that were written and not yet taken. */
  waitingBytes(): number;
  /** Whether the client may see the entry. */
  sees(entry: AuditEntry): boolean;
  /** Whether the client may still listen; its key may be revoked. */
  isAllowed(): boolean;
  end(): void;
}

/** When more than this waits for a client, further entries are left out until it has read all of it. Bytes. */
const mostWaitingBytes = 256 * 1024;
/** A client that took nothing during so many heartbeats is given up. */
const mostMissed = 4;

export class Listener {
  /** The cursor that its client had from an earlier stream. */
  readonly resumesAt: number | undefined;
  /** Whether it has caught up, and gets entries as they come in. */
  isReady = false;
  readonly sink: Sink;
  #isBehind = false;
  #missed = 0;
  /** The entries that it got before the others, until they are at the cursor. */
  #ahead: { readonly ids: ReadonlySet<string>; readonly cursor: number } | undefined;

  constructor(sink: Sink, resumesAt: number | undefined) {
    this.sink = sink;
    this.resumesAt = resumesAt;
  }

  /** Entries are left out for it now. */
  get isBehind(): boolean {
    return this.#isBehind;
  }

  /** Entries that were read together, up to `cursor`. */
  deliver(entries: readonly AuditEntry[], cursor: number): void {
    // Every write waits at first for every client, so only the rest of earlier entries counts.
    this.#isBehind ||= this.sink.waitingBytes() > mostWaitingBytes;
    const ahead = this.#ahead;
    const seen = entries.filter((entry) => ahead?.ids.has(entry.id) !== true && this.sink.sees(entry));
    for (const [index, entry] of seen.entries()) {
      // Behind the last one the client has everything up to the cursor.
      this.say(entryEvent(entry, index === seen.length - 1 ? cursor : undefined));
    }
    if (ahead !== undefined && cursor >= ahead.cursor) this.#ahead = undefined;
  }

  /** It has been sent what lies before `cursor`; the others come to it later. */
  isAheadBy(ids: ReadonlySet<string>, cursor: number): void {
    this.#ahead = { ids, cursor };
  }

  reset(reason: ResetReason, cursor: number): void {
    this.#ahead = undefined;
    this.say(resetEvent(reason, cursor));
  }

  say(text: string): void {
    if (!this.#isBehind) this.sink.write(text);
  }

  /** The client has read all that waited. */
  drained(cursor: number | undefined): void {
    if (!this.#isBehind) return;
    this.#isBehind = false;
    this.#missed = 0;
    if (cursor !== undefined) this.reset('slow', cursor);
  }

  /** False: the client has read nothing for too long. */
  beat(text: string): boolean {
    this.#missed = this.#isBehind ? this.#missed + 1 : 0;
    this.say(text);
    return this.#missed < mostMissed;
  }
}
