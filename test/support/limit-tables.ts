// The tables of shared limits in memory, for tests and simulations: what they held at a moment can be put back, as after a loss.
import type { Counter } from '../../store/state/limits/counter.ts';
import type { LimitGrave, LimitMeta, LimitSession, LimitTables } from '../../store/state/limits/tables.ts';

interface KeptCounter {
  readonly counter: Counter;
  /** Milliseconds of the store's time. */
  readonly endsMs: number;
}

/** What the tables hold, apart from them. */
export interface LimitCopy {
  readonly meta: LimitMeta | undefined;
  readonly sessions: ReadonlyMap<number, LimitSession>;
  readonly graves: ReadonlyMap<number, LimitGrave>;
  readonly counters: ReadonlyMap<string, KeptCounter>;
}

export class MemoryTables implements LimitTables {
  readonly #forgets: boolean;
  #meta: LimitMeta | undefined;
  #sessions = new Map<number, LimitSession>();
  #graves = new Map<number, LimitGrave>();
  #counters = new Map<string, KeptCounter>();

  /** Counters are forgotten when their time is over, by the last moment that the store has told; unless `forgets` is false. */
  constructor({ forgets = true }: { readonly forgets?: boolean } = {}) {
    this.#forgets = forgets;
  }

  meta(): LimitMeta | undefined {
    return this.#meta;
  }

  putMeta(meta: LimitMeta): void {
    this.#meta = meta;
  }

  session(id: number): LimitSession | undefined {
    return this.#sessions.get(id);
  }

  putSession(id: number, session: LimitSession | undefined): void {
    if (session === undefined) this.#sessions.delete(id);
    else this.#sessions.set(id, session);
  }

  sessions(): readonly (readonly [id: number, session: LimitSession])[] {
    return [...this.#sessions];
  }

  grave(id: number): LimitGrave | undefined {
    return this.#graves.get(id);
  }

  putGrave(id: number, grave: LimitGrave): void {
    this.#graves.set(id, grave);
  }

  counter(key: string): Counter | undefined {
    const kept = this.#counters.get(key);
    if (kept === undefined || !this.#forgets || kept.endsMs > this.#nowMs()) return kept?.counter;
    this.#counters.delete(key);
    return undefined;
  }

  putCounter(key: string, counter: Counter, expiresInMs: number): void {
    this.#counters.set(key, { counter, endsMs: this.#nowMs() + expiresInMs });
  }

  /** All that is held now; later changes do not reach it. */
  copy(): LimitCopy {
    const held = { meta: this.#meta, sessions: this.#sessions, graves: this.#graves, counters: this.#counters };
    return structuredClone(held);
  }

  /** Puts back what `copy` gave. */
  restore(copy: LimitCopy): void {
    const { meta, sessions, graves, counters } = structuredClone(copy);
    this.#meta = meta;
    this.#sessions = new Map(sessions);
    this.#graves = new Map(graves);
    this.#counters = new Map(counters);
  }

  /** Loses everything. */
  clear(): void {
    this.restore({ meta: undefined, sessions: new Map(), graves: new Map(), counters: new Map() });
  }

  /** The keys of all counters, those whose time is over included. */
  counterKeys(): readonly string[] {
    return [...this.#counters.keys()];
  }

  #nowMs(): number {
    return this.#meta?.lastMs ?? 0;
  }
}
