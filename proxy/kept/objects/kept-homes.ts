// Which provider keeps an object, such as a file or a batch, with which API key, for the owner that made it. For other owners it is not there.
import { hash } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { KeptItems, KeptKey } from '../../../store/state/kept-items.ts';
import { StoreUnavailable } from '../../../store/state/store-unavailable.ts';
import { type JsonValue, listOf, parseObject, textOf } from '../../dialects/json/json.ts';
import { refusal } from '../../errors.ts';
import type { FamilyName } from './families.ts';

export type HomeKind = FamilyName;
export type BatchKind = 'batch' | 'message_batch';

/** The stored facts of an id. */
export interface KeptHome {
  /** As its name was; it may be gone from the configuration since. */
  readonly provider: string;
  /** The mark of the API key that it belongs to. */
  readonly key: string;
  /** A file of which every line was read as a call of a model that its sender may ask. */
  readonly isBatchInput: boolean;
  /** Of such a file: the models of its lines, as its provider calls them. */
  readonly models?: readonly string[];
  /** Of the output of a batch: its id. */
  readonly batch?: string | undefined;
}

export interface KeptHomesParts {
  readonly kept: KeptItems;
  /** Unix milliseconds. */
  readonly nowMs: () => number;
  readonly log: Pick<Logger, 'warn'>;
  /** Instead of `againMs`. */
  readonly againMs?: number;
  readonly elsewhere?: WrittenElsewhere | undefined;
}

/**
 * Resolves once what other processes of this proxy were just writing of this id and owner can be read. What was not found before may be there
 * then, also when none of them says so: it may have been written between the two. Never rejects.
 */
export type WrittenElsewhere = (id: string, owner: string) => Promise<unknown>;

/** How long an id is remembered after its last use, and how seldom a use is noted. Milliseconds. */
const ttlMs = 365 * 24 * 3_600_000;
/** The lifetime, in milliseconds, of ids that providers forget sooner. */
const shortTtlMs = 30 * 24 * 3_600_000;
const short: ReadonlySet<HomeKind> = new Set(['response', 'item', 'container', 'thread_message']);
const renewMs = 24 * 3_600_000;
/** Of one batch that are remembered. */
const mostModels = 64;
/** The operator is told of failures once in this time, however many there are. Milliseconds. */
const quietMs = 60_000;
/** A store that does not take a home is asked again after so long, so often: nothing else knows whose the object is. Milliseconds. */
const againMs = 1_000;
const mostTries = 120;
/** Most homes that wait to be written: they are held in memory. */
const mostPending = 10_000;
/** The number of lots of items per owner: each has the room of an owner. */
const lots = 64;

/** Whether an id may be part of a provider's path. */
export function isKeptId(id: string): boolean {
  return /^[A-Za-z0-9_-][A-Za-z0-9_.:-]{0,199}$/.test(id);
}

/** No request waits for a write, and what is being written can already be read. */
export class KeptHomes {
  readonly #parts: KeptHomesParts;
  readonly #pending = new Map<string, { readonly home: KeptHome; readonly written: Promise<void> }>();
  #quietUntilMs = 0;
  #isEnding = false;

  constructor(parts: KeptHomesParts) {
    this.#parts = parts;
  }

  remember(kind: HomeKind, id: string, owner: string, home: KeptHome): void {
    const text = nameOf(kind, id, owner);
    // Frequent kinds leave room for the others.
    const most = short.has(kind) ? mostPending / 2 : mostPending;
    if (!isKeptId(id) || (this.#pending.size >= most && !this.#pending.has(text))) {
      this.#tell(new Error('an id of a provider was not remembered'));
      return;
    }
    const before = this.#pending.get(text)?.written;
    const write = async (): Promise<void> => {
      // In their order: the last one stays.
      await before;
      await this.#putUntilTaken(kind, id, owner, home);
      if (this.#pending.get(text)?.written === written) this.#pending.delete(text);
    };
    const written = Promise.resolve().then(write);
    this.#pending.set(text, { home, written });
  }

  /** Undefined: there is none for this owner. Rejects with 503 `kept_ids_unavailable`. */
  async find(kind: HomeKind, id: string, owner: string): Promise<KeptHome | undefined> {
    const pending = this.#pending.get(nameOf(kind, id, owner));
    if (pending !== undefined || !isKeptId(id)) return pending?.home;
    const bytes = await this.#read(kind, id, owner);
    const { provider, key, at, is_batch_input, models, batch } = (bytes && parseObject(bytes.toString())) ?? {};
    if (typeof provider !== 'string' || typeof key !== 'string') return undefined;
    const home = {
      provider,
      key,
      isBatchInput: is_batch_input === true,
      models: textsIn(models),
      batch: textOf(batch),
    };
    if (typeof at !== 'number' || at + renewMs < this.#parts.nowMs()) this.remember(kind, id, owner, home);
    return home;
  }

  async #read(kind: HomeKind, id: string, owner: string): Promise<Buffer | undefined> {
    const { kept, elsewhere } = this.#parts;
    const get = (): Promise<Buffer | undefined> => kept.get(keyOf(kind, id, owner)).catch(refuseStore);
    const bytes = await get();
    if (bytes !== undefined || elsewhere === undefined) return bytes;
    await elsewhere(id, owner);
    return get();
  }

  /** Resolves once what is being written of this id and owner can be read. */
  async written(id: string, owner: string): Promise<void> {
    const end = endOfName(id, owner);
    const found = [...this.#pending].filter(([name]) => name.endsWith(end));
    await Promise.all(found.map(([, { written }]) => written));
  }

  /** Rejects as `find`. */
  async forget(kind: HomeKind, id: string, owner: string): Promise<void> {
    await this.#pending.get(nameOf(kind, id, owner))?.written;
    if (!isKeptId(id)) return;
    const { kept } = this.#parts;
    await Promise.all([kept.remove(keyOf(kind, id, owner)), kept.remove(markOf(kind, id))]).catch(refuseStore);
  }

  /** A batch was begun, of models as their provider calls them: what it costs is told at its end. No request waits for it. */
  begin(kind: BatchKind, id: string, owner: string, models: readonly string[]): void {
    if (!isKeptId(id)) return;
    const { kept, nowMs } = this.#parts;
    const content = Buffer.from(JSON.stringify({ models: models.slice(0, mostModels) }));
    kept.put(begunOf(kind, id, owner), content, nowMs() + ttlMs).catch((error: unknown) => this.#tell(error));
  }

  /** Gives what was told of a batch that was begun, once in all. Rejects with `StoreUnavailable`. */
  async finish(kind: BatchKind, id: string, owner: string): Promise<{ models: readonly string[] } | undefined> {
    const key = begunOf(kind, id, owner);
    const bytes = isKeptId(id) ? await this.#parts.kept.get(key) : undefined;
    // Of several that read it at once, one removes it.
    if (bytes === undefined || !(await this.#parts.kept.remove(key))) return undefined;
    return { models: textsIn(parseObject(bytes.toString())?.['models']) };
  }

  /** At the end of the process: when nothing is being written. What the store does not take now is lost. */
  async settled(): Promise<void> {
    this.#isEnding = true;
    await Promise.all([...this.#pending.values()].map(({ written }) => written));
  }

  /** Whose the object with this id is, as far as it is known; where several providers have one, the last one. Rejects as `find`. */
  async ownerOf(kind: HomeKind, id: string): Promise<string | undefined> {
    const bytes = isKeptId(id) ? await this.#parts.kept.get(markOf(kind, id)).catch(refuseStore) : undefined;
    return textOf((bytes && parseObject(bytes.toString()))?.['owner']);
  }

  async #putUntilTaken(kind: HomeKind, id: string, owner: string, home: KeptHome): Promise<void> {
    for (let tries = 1; ; tries += 1) {
      try {
        await this.#put(kind, id, owner, home);
        return;
      } catch (error) {
        this.#tell(error);
        if (!(error instanceof StoreUnavailable) || this.#isEnding || tries === mostTries) return;
        await pause(this.#parts.againMs ?? againMs);
      }
    }
  }

  async #put(kind: HomeKind, id: string, owner: string, home: KeptHome): Promise<void> {
    const { kept, nowMs } = this.#parts;
    const { provider, key, isBatchInput, models, batch } = home;
    const at = Math.floor(nowMs());
    const until = at + (short.has(kind) ? shortTtlMs : ttlMs);
    const asked = models?.slice(0, mostModels);
    const content = { provider, key, at, is_batch_input: isBatchInput, models: asked, batch };
    await kept.put(keyOf(kind, id, owner), Buffer.from(JSON.stringify(content)), until);
    await kept.put(markOf(kind, id), Buffer.from(JSON.stringify({ owner })), until);
  }

  #tell(error: unknown): void {
    const { log, nowMs } = this.#parts;
    const now = nowMs();
    if (now < this.#quietUntilMs) return;
    this.#quietUntilMs = now + quietMs;
    log.warn({ err: error }, 'it could not be remembered whose an object at a provider is');
  }
}

/** Items have an owner of their own, so that they displace nothing else. */
function keyOf(kind: HomeKind, id: string, owner: string): KeptKey {
  return { kind: `${kind}_home`, id, owner: kind === 'item' ? `${owner}\nitems` : owner };
}

function markOf(kind: HomeKind, id: string): KeptKey {
  const lot = hash('sha256', `${kind} ${id}`, 'buffer').readUInt16BE() % lots;
  return { kind: `${kind}_owner`, id, owner: `owners ${lot}` };
}

function begunOf(kind: BatchKind, id: string, owner: string): KeptKey {
  return { kind: `${kind}_begun`, id, owner };
}

function textsIn(value: JsonValue | undefined): readonly string[] {
  return (listOf(value) ?? []).flatMap((entry) => textOf(entry) ?? []);
}

function nameOf(kind: HomeKind, id: string, owner: string): string {
  return kind + endOfName(id, owner);
}

function endOfName(id: string, owner: string): string {
  return ` ${id} ${owner}`;
}

function refuseStore(error: unknown): never {
  if (!(error instanceof StoreUnavailable)) throw error;
  throw refusal('kept_ids_unavailable', { headers: { 'retry-after': '1' } });
}
