// The state store as a file of this machine: every process of it opens the same one, and a thread does the work.
import { encodeCounts, expiresAtMs, rowOf } from '../../../domain/rules/counter-row.ts';
import { type ClosingItems, type KeptOptions, keptItems, keptPatience } from '../kept-items.ts';
import type { LimitOptions, LimitStore } from '../limits/limit-store.ts';
import {
  bodyText,
  type Commit,
  type CommitResult,
  type CounterBatch,
  counterPageRows,
  type DocumentUses,
  type Heartbeat,
  type Inspection,
  newMark,
  outdatedCounters,
  type PastChange,
  type StateStore,
  type StoredCounters,
  type StoredState,
  type StorePosition,
} from '../state-store.ts';
import { sqliteKept } from './kept.ts';
import { sqliteLimits } from './limits.ts';
import type {
  CommitInput,
  CommitOutput,
  CountersInput,
  CountersOutput,
  HeartbeatInput,
  LoadInput,
  LoadOutput,
  ReadOutput,
  RevisionOutput,
  RewriteInput,
  UsedInput,
  UsesInput,
} from './messages.ts';
import { SqliteThread } from './thread.ts';

export interface SqliteStoreOptions extends KeptOptions, LimitOptions {
  /** The file `state.sqlite` lies in it, `kept.sqlite` once something is kept, and `limits.sqlite` once limits are shared; it is made when it does not exist. */
  readonly directory: string;
  /** Deadline of every operation; default 1,000. */
  readonly timeoutMs?: number;
  /** Between two polls of a watch; default 200. */
  readonly pollMs?: number;
}

/** Opens the store, and makes it if there is none. Never throws: what is wrong is said by the first operation. */
export function openSqliteStore(options: SqliteStoreOptions): StateStore {
  const { directory, timeoutMs = 1_000, pollMs = 200 } = options;
  const kept = keptItems((nowMs) => sqliteKept({ directory, timeoutMs: keptPatience * timeoutMs, nowMs }), options);
  const limits = sqliteLimits({ directory, clockMs: options.limitClockMs });
  return new SqliteStore(new SqliteThread({ directory, timeoutMs, pollMs }), kept, limits);
}

class SqliteStore implements StateStore {
  readonly #thread: SqliteThread;
  readonly #watchers: (() => void)[] = [];
  readonly uses: DocumentUses = {
    note: async (kind, uses) => {
      await this.#ask<null>('noteUses', { kind, uses: uses.map(({ id, hour }) => [id, hour]) } satisfies UsesInput);
    },
    of: async (kind, ids) => {
      return new Map(await this.#ask<[id: string, hour: number][]>('usesOf', { kind, ids } satisfies UsedInput));
    },
    forget: async (kind, ids) => {
      await this.#ask<null>('forgetUses', { kind, ids } satisfies UsedInput);
    },
  };

  readonly kept: ClosingItems;
  readonly limits: LimitStore;

  constructor(thread: SqliteThread, kept: ClosingItems, limits: LimitStore) {
    this.#thread = thread;
    this.kept = kept;
    this.limits = limits;
  }

  async read(): Promise<StoredState> {
    const { kinds, documents, skipped, past, ...position } = await this.#ask<ReadOutput>('read', null);
    const state = {
      ...positionOf(position),
      kinds: new Map(kinds),
      documents: documents.map(([kind, id, written, body]) => ({ kind, id, revision: written, body })),
      skipped: skipped.map(([kind, id]) => ({ kind, id })),
    };
    if (past.length === 0) return state;
    const changes = past.map(([revision, marks, deleted]): [number, PastChange] => {
      return [revision, { marks, deleted: deleted.map(([kind, id]) => ({ kind, id })) }];
    });
    return { ...state, past: new Map(changes) };
  }

  async revision(): Promise<StorePosition> {
    return positionOf(await this.#ask<RevisionOutput>('revision', null));
  }

  async commit({ storeId, expected, changes }: Commit): Promise<CommitResult> {
    const input: CommitInput = {
      storeId,
      mark: newMark(),
      expected: [...expected],
      changes: changes.map(({ kind, id, body }) => [kind, id, body === undefined ? null : bodyText(body)]),
    };
    const done = await this.#ask<CommitOutput>('commit', input);
    if (done === null) return { conflict: true };
    const [revision, mark] = done;
    return { revision, mark: mark ?? undefined };
  }

  async inspect(): Promise<Inspection> {
    return { warnings: [], evicts: undefined };
  }

  initialise(): Promise<string> {
    return this.#ask<string>('initialise', null);
  }

  async rewrite(state: StoredState, over: StorePosition): Promise<boolean> {
    const { storeId, revision, kinds, documents, past = new Map<number, PastChange>() } = state;
    if (storeId === undefined) throw new TypeError('a state without store id cannot be put back');
    const input: RewriteInput = {
      over: { storeId: over.storeId ?? null, revision: over.revision, mark: over.mark ?? null },
      storeId,
      revision,
      past: [...past].map(([number, { marks, deleted }]) => [number, marks, deleted.map(({ kind, id }) => [kind, id])]),
      kinds: [...kinds],
      documents: documents.map(({ kind, id, revision: written, body }) => [kind, id, written, bodyText(body)]),
    };
    return this.#ask<boolean>('rewrite', input);
  }

  watch(onChange: () => void): void {
    this.#watchers.push(onChange);
    this.#thread.watch(() => {
      for (const watcher of this.#watchers) watcher();
    });
  }

  async loadCounters(instance: string, from?: string): Promise<StoredCounters> {
    const after = from === undefined ? null : (JSON.parse(from) as [key: string, child: string]);
    const input: LoadInput = { instance, after, limit: counterPageRows };
    const { sequence, rows, skipped, last } = await this.#ask<LoadOutput>('loadCounters', input);
    return {
      sequence,
      rows: rows.map(([key, child, counts]) => rowOf(key, child, counts)),
      skipped,
      ...(last === null ? {} : { next: JSON.stringify(last) }),
    };
  }

  async writeCounters(instance: string, { sequence, nowMs, removed, rows }: CounterBatch): Promise<void> {
    const input: CountersInput = {
      instance,
      sequence,
      nowMs: Math.floor(nowMs),
      removed,
      rows: rows.map((row) => [row.key, row.child, encodeCounts(row), expiresAtMs(row) ?? null]),
    };
    const { refusedBy } = await this.#ask<CountersOutput>('writeCounters', input);
    if (refusedBy !== null) throw outdatedCounters(instance, sequence, refusedBy);
  }

  async writeHeartbeat({ instance, atMs, body }: Heartbeat): Promise<void> {
    const input: HeartbeatInput = { instance, atMs: Math.floor(atMs), body: bodyText(body) };
    await this.#thread.ask('writeHeartbeat', input);
  }

  heartbeats(instance?: string): Promise<Heartbeat[]> {
    return this.#ask<Heartbeat[]>('heartbeats', instance ?? null);
  }

  async removeHeartbeat(instance: string): Promise<void> {
    await this.#thread.ask('removeHeartbeat', instance);
  }

  async close(): Promise<void> {
    await Promise.all([this.#thread.close(), this.kept.close(), this.limits.close()]);
  }

  /** The text comes from this program's own thread: it is not checked again. */
  async #ask<Output>(name: Parameters<SqliteThread['ask']>[0], input: unknown): Promise<Output> {
    return JSON.parse(await this.#thread.ask(name, input)) as Output;
  }
}

function positionOf({ storeId, revision, mark }: RevisionOutput): StorePosition {
  return { storeId: storeId ?? undefined, revision, ...(mark === null ? {} : { mark }) };
}
