// Keeps the records of an embedded store within their size and clear of the reserve of the state store: the oldest bodies go first.
import { setTimeout } from 'node:timers/promises';
import type { Log } from '../../plane/log-events.ts';
import type { RecordRoom } from '../../store/records/record-store.ts';
import type { OpenRecordStore } from '../../store/records/sql/operations.ts';

/** Room is made from the first share of the most room on, down to the second. */
const [fullShare, relievedShare] = [0.95, 0.9];
/** With less than this, removing records would not help: something else fills the disk. */
const leastBytes = 8 * 1024 * 1024;
/** Bodies, or entries, of one step; each may be large. */
const portion = 50;
/** Between two looks, and between two lines of the log. Milliseconds. */
const [everyMs, quietMs] = [1_000, 60_000];

export interface RoomStatus extends RecordRoom {
  /** Since this process started. */
  readonly bodiesRemoved: number;
  readonly entriesRemoved: number;
}

export interface RoomKeeper {
  /** Undefined: before the first look, and for an engine whose disk is its own. */
  status(): RoomStatus | undefined;
  close(): Promise<void>;
}

export interface RoomParts {
  readonly store: Pick<OpenRecordStore, 'room' | 'relieve'>;
  /** The configured size, in bytes; asked each time. */
  readonly mostBytes: () => number;
  readonly nowMs: () => number;
  readonly log: Pick<Log, 'warn'>;
}

/** Begins at once. */
export function keepWithin({ store, mostBytes, nowMs, log }: RoomParts): RoomKeeper {
  const closing = new AbortController();
  const removed = { bodies: 0, entries: 0 };
  let room: RecordRoom | undefined;
  let after = 0;
  let told = { atMs: -quietMs, bodies: 0, entries: 0 };

  /** Whether they are more than this share of what they may be. */
  async function isBeyond(share: number): Promise<boolean> {
    room = await store.room?.(mostBytes());
    return room !== undefined && room.mostBytes >= leastBytes && room.usedBytes > share * room.mostBytes;
  }

  async function look(): Promise<void> {
    if (!(await isBeyond(fullShare))) return;
    while (!closing.signal.aborted && (await isBeyond(relievedShare))) {
      const { bodies, entries, last } = await store.relieve(after, portion);
      after = last;
      removed.bodies += bodies;
      removed.entries += entries;
      if (bodies + entries === 0) break;
    }
    tell();
  }

  function tell(): void {
    const fresh = { bodies: removed.bodies - told.bodies, entries: removed.entries - told.entries };
    if (nowMs() - told.atMs < quietMs || fresh.bodies + fresh.entries === 0) return;
    told = { atMs: nowMs(), ...removed };
    const text =
      'records have reached audit.max_size, or the room that their disk has: the oldest bodies were removed, then the oldest entries; usage stays';
    log.warn({ ...fresh, most_bytes: room?.mostBytes }, text);
  }

  async function run(): Promise<void> {
    while (!closing.signal.aborted) {
      // Writers of the store report its problems.
      await look().catch(() => undefined);
      await setTimeout(everyMs, undefined, { signal: closing.signal, ref: false }).catch(() => undefined);
    }
  }

  const running = store.room === undefined ? Promise.resolve() : run();
  return {
    status: () => room && { ...room, bodiesRemoved: removed.bodies, entriesRemoved: removed.entries },
    close() {
      closing.abort();
      return running;
    },
  };
}
