// Items with an end, such as stored responses: bounded in size, each for its owner alone. They are no documents: the store may lose one.
import { StoreUnavailable } from './store-unavailable.ts';

/** The name of an item. All three texts are free; items of two owners never meet. */
export interface KeptKey {
  /** Such as `response`. */
  readonly kind: string;
  readonly id: string;
  /** A user path, compared as it is written. */
  readonly owner: string;
}

/**
 * Every operation has a deadline and rejects with `StoreUnavailable`. After a put that rejected, the item, the one before it or none
 * may be there.
 */
export interface KeptItems {
  /**
   * Puts the item in the place of one with this key. The oldest items make room when there is too much: those of the owner, then those of
   * all owners. `bytes` must not change until this resolves. Rejects with `ItemTooLarge`.
   */
  put(key: KeptKey, bytes: Uint8Array, expiresAtMs: number): Promise<void>;
  /** Undefined when there is none, when its time is over, and when another owner has it. */
  get(key: KeptKey): Promise<Buffer | undefined>;
  /** Whether there was one. */
  remove(key: KeptKey): Promise<boolean>;
}

export interface KeptLimits {
  /** Of one item, in bytes: half of what an answer of Redis may have, and several times the longest answer of a model. */
  readonly item: number;
  /** Of all items of one owner, in bytes: no owner drives the items of others out soon. */
  readonly owner: number;
  /** Of all items, in bytes: what a small disk, or the memory of a small Redis, can spare. */
  readonly all: number;
}

export const keptLimits: KeptLimits = {
  item: 8 * 1024 * 1024,
  owner: 64 * 1024 * 1024,
  all: 1024 * 1024 * 1024,
};

/**
 * The bytes that an item counts besides its own: its names and its places in the indexes. Without it, millions of tiny
 * items would fit.
 */
export const keptOverheadBytes = 512;

/** Items may be large: an operation on one may take so many times as long as others. */
export const keptPatience = 4;
/** Operations on items at a time that an engine takes: they come with requests of clients, not from the gateway itself. */
export const mostKeptAtOnce = 1_024;
/** Of items on their way to the store at a time, in bytes: they are held in memory. */
const mostWaitingBytes = 64 * 1024 * 1024;

/** The item has more bytes than one may have; it was not kept. */
export class ItemTooLarge extends RangeError {
  override readonly name = 'ItemTooLarge';
}

/** A put as an engine takes it. */
export interface ItemToKeep {
  readonly key: KeptKey;
  readonly bytes: Uint8Array;
  readonly expiresAtMs: number;
  readonly limits: KeptLimits;
}

/** Where items lie. It is told the time with every operation: no item is given away after its end. */
export interface KeptEngine {
  put(item: ItemToKeep, nowMs: number): Promise<void>;
  get(key: KeptKey, nowMs: number): Promise<Buffer | undefined>;
  remove(key: KeptKey, nowMs: number): Promise<boolean>;
  close(): Promise<void>;
}

export interface KeptOptions {
  /** Whole or broken milliseconds since 1970. Without a clock nothing can be kept, and every operation rejects with a TypeError. */
  readonly nowMs?: (() => number) | undefined;
  /** Default: `keptLimits`. */
  readonly keptLimits?: Partial<KeptLimits> | undefined;
}

/** Kept items that end with their store. */
export interface ClosingItems extends KeptItems {
  close(): Promise<void>;
}

/** The items of an engine, which `open` starts at the first operation: most gateways keep nothing. */
export function keptItems(
  open: (nowMs: () => number) => KeptEngine,
  { nowMs, keptLimits: given }: KeptOptions,
): ClosingItems {
  const limits = { ...keptLimits, ...given };
  let engine: KeptEngine | undefined;
  let isClosed = false;
  let waitingBytes = 0;

  async function withEngine<Result>(work: (engine: KeptEngine, now: number) => Promise<Result>): Promise<Result> {
    if (nowMs === undefined) throw new TypeError('the state store was opened without a clock, which kept items need');
    if (isClosed) throw new StoreUnavailable('unreachable', 'the state store is closed');
    engine ??= open(nowMs);
    return work(engine, Math.floor(nowMs()));
  }

  return {
    put: (key, bytes, expiresAtMs) =>
      withEngine(async (opened, now) => {
        const end = Math.floor(expiresAtMs);
        if (bytes.length > limits.item) {
          throw new ItemTooLarge(`an item of ${bytes.length} bytes is not kept: at most ${limits.item} are allowed`);
        }
        if (!(end > now)) {
          await opened.remove(key, now);
          return;
        }
        if (waitingBytes + bytes.length > mostWaitingBytes) {
          throw new StoreUnavailable('timeout', `the state store is busy: items of ${waitingBytes} bytes wait for it`);
        }
        waitingBytes += bytes.length;
        try {
          await opened.put({ key, bytes, expiresAtMs: end, limits }, now);
        } finally {
          waitingBytes -= bytes.length;
        }
      }),
    get: (key) => withEngine((opened, now) => opened.get(key, now)),
    remove: (key) => withEngine((opened, now) => opened.remove(key, now)),
    async close() {
      isClosed = true;
      await engine?.close();
    },
  };
}
