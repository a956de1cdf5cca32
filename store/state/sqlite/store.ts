// The state store as a file of this machine: every process of it opens the same one, and a thread does the work.
import { inOrder } from '../../../domain/documents/order.ts';
import type { CounterText } from '../../../domain/rules/counter-row.ts';
import { decodeCounts } from '../../../domain/rules/counter-text.ts';
import { changedState } from '../changed-state.ts';
import { changesOf, type NamedChange } from '../changes.ts';
import { type ClosingItems, type KeptOptions, keptItems, keptPatience } from '../kept-items.ts';
import type { LimitOptions, LimitStore } from '../limits/limit-store.ts';
import { mergedRuns } from '../merged-runs.ts';
import {
  bodyText,
  type Commit,
  type CommitResult,
  type CounterBatch,
  counterPageRows,
  type Document,
  type DocumentKey,
  type DocumentUses,
  type Heartbeat,
  type Inspection,
  isSamePosition,
  newMark,
  outdatedCounters,
  type PastChange,
  type StateChanges,
  type StateStore,
  type StoredCounters,
  type StoredState,
  type StorePosition,
  type Turns,
} from '../state-store.ts';
import { StoreUnavailable } from '../store-unavailable.ts';
import { sqliteKept } from './kept.ts';
import { sqliteLimits } from './limits.ts';
import type {
  CommitInput,
  CommitOutput,
  CountersInput,
  CountersOutput,
  EndInput,
  HeartbeatInput,
  LoadInput,
  LoadOutput,
  PageInput,
  PageOutput,
  RevisionOutput,
  RewriteInput,
  SinceInput,
  SinceOutput,
  TakeInput,
  TakeOutput,
  TextChange,
  TextDocument,
  TextName,
  TextNames,
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

/** A document has up to 16 KiB, and mostly some hundred bytes: a page of them is read in a few milliseconds. */
const documentsAtOnce = 500;
/** The most documents of which it is said what has become of them. */
const mostChangedDocuments = 5_000;
/** How often the state is read again while others change it faster. */
const mostReadings = 3;

/** Opens the store, and makes it if there is none. Never throws: what is wrong is said by the first operation. */
export function openSqliteStore(options: SqliteStoreOptions): StateStore {
  const { directory, timeoutMs = 1_000, pollMs = 200 } = options;
  const kept = keptItems((nowMs) => sqliteKept({ directory, timeoutMs: keptPatience * timeoutMs, nowMs }), options);
  const limits = sqliteLimits({ directory, clockMs: options.limitClockMs });
  return new SqliteStore(new SqliteThread({ directory, timeoutMs, pollMs }), kept, limits);
}

const minuteMs = 60_000;

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

  readonly turns: Turns = {
    take: async (turn, times) => {
      const { isTaken, endedMs, value } = await this.#ask<TakeOutput>('takeTurn', {
        ...turn,
        ...times,
      } satisfies TakeInput);
      return { isTaken, ...(endedMs === 0 ? {} : { last: { value, atMs: endedMs } }) };
    },
    end: async (turn, value) => {
      const atMs = await this.#ask<number | null>('endTurn', { ...turn, value } satisfies EndInput);
      return atMs === null ? undefined : { value, atMs };
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
    for (let reading = 1; reading <= mostReadings; reading += 1) {
      const { state, isWhole } = await this.#readPages();
      if (isWhole) return state;
      const changes = await this.changesSince(state);
      if (changes !== undefined) return changedState(state, changes);
    }
    throw new StoreUnavailable('timeout', 'the state store changes faster than it can be read');
  }

  /** Pages are as of several moments, unless the store stood still: then the state is whole. It stands where the first page was read. */
  async #readPages(): Promise<{ readonly state: StoredState; readonly isWhole: boolean }> {
    const ask = (after: TextName | null): Promise<PageOutput> =>
      this.#ask<PageOutput>('readPage', { after, limit: documentsAtOnce } satisfies PageInput);
    const first = await ask(null);
    const begun = positionOf(first);
    const [runs, skipped]: [Document[][], DocumentKey[]] = [[], []];
    let isWhole = true;
    for (let page = first; ; page = await ask(page.last)) {
      // By bytes they are in another order than by characters.
      runs.push(page.documents.map(documentOf).sort(inOrder));
      skipped.push(...page.skipped.map(keyOf));
      isWhole &&= isSamePosition(positionOf(page), begun);
      if (page.last === null) break;
    }
    const documents = await mergedRuns(runs);
    const state = { ...begun, kinds: new Map(first.kinds), documents, skipped: skipped.sort(inOrder) };
    return { state: first.past.length === 0 ? state : { ...state, past: new Map(first.past.map(pastOf)) }, isWhole };
  }

  async changesSince({ storeId, revision, mark }: StorePosition): Promise<StateChanges | undefined> {
    if (storeId === undefined || mark === undefined) return undefined;
    const input: SinceInput = { storeId, revision, mark, limit: mostChangedDocuments };
    const found = await this.#ask<SinceOutput>('since', input);
    if (found === null) return undefined;
    const changes = found.changes.map((change): NamedChange => {
      const [number, past] = pastOf(change);
      return { revision: number, past, names: change[3].map(keyOf) };
    });
    const [documents, skipped] = [found.documents.map(documentOf), found.skipped.map(keyOf)];
    return changesOf({ ...positionOf(found), storeId }, changes, { documents, skipped });
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
    const { sequence, rows, last } = await this.#ask<LoadOutput>('loadCounters', input);
    const found = rows.flatMap(([key, child, counts]) => decodeCounts(key, child, counts) ?? []);
    return {
      sequence,
      rows: found,
      skipped: rows.length - found.length,
      ...(last === null ? {} : { next: JSON.stringify(last) }),
    };
  }

  async writeCounters(instance: string, { sequence, nowMs, removed, rows }: CounterBatch): Promise<void> {
    const input: CountersInput = {
      instance,
      sequence,
      nowMs: Math.floor(nowMs),
      removed,
      rows: rows.map((row) => [row.key, row.child, row.counts, removedAtMs(row)]),
    };
    const { refusedBy } = await this.#ask<CountersOutput>('writeCounters', input);
    if (refusedBy !== null) throw outdatedCounters(instance, sequence, refusedBy);
  }

  async writeHeartbeat({ instance, atMs, body }: Heartbeat): Promise<void> {
    const input: HeartbeatInput = { instance, atMs: Math.floor(atMs) };
    // Beside the input: within it, a megabyte of figures would be written as JSON and parsed once more.
    await this.#thread.exchange('writeHeartbeat', input, Buffer.from(bodyText(body)));
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

function documentOf([kind, id, revision, body]: TextDocument): Document {
  return { kind, id, revision, body };
}

function keyOf([kind, id]: TextName): DocumentKey {
  return { kind, id };
}

function pastOf([revision, marks, deleted]: TextChange | TextNames): [revision: number, change: PastChange] {
  return [revision, { marks, deleted: deleted.map(keyOf) }];
}

/** In whole minutes: the index of these times then changes once a minute and not with every slice. Null: nothing is counted. */
function removedAtMs({ expiresAtMs }: CounterText): number | null {
  return expiresAtMs === undefined ? null : Math.ceil(expiresAtMs / minuteMs) * minuteMs;
}

function positionOf({ storeId, revision, mark }: RevisionOutput): StorePosition {
  return { storeId: storeId ?? undefined, revision, ...(mark === null ? {} : { mark }) };
}
