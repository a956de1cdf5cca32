// Which provider keeps a file or a batch, with which API key, for the user path that made it. For other user paths it is not there.
import type { Logger } from 'pino';
import type { KeptItems, KeptKey } from '../store/state/kept-items.ts';
import { StoreUnavailable } from '../store/state/store-unavailable.ts';
import { type JsonValue, listOf, parseObject, textOf } from './dialects/json.ts';
import { refusal } from './errors.ts';

export type HomeKind = 'file' | 'batch' | 'message_batch';
export type BatchKind = Exclude<HomeKind, 'file'>;

/** What is remembered of an id. */
export interface KeptHome {
  /** As its name was; it may be gone from the configuration since. */
  readonly provider: string;
  /** The mark of the API key that it belongs to. */
  readonly key: string;
  /** A file of which every line was read as a call of a model that its sender may ask. */
  readonly isBatchInput: boolean;
  /** Of such a file: the models of its lines, as its provider calls them. */
  readonly models?: readonly string[];
}

export interface KeptHomesParts {
  readonly kept: KeptItems;
  /** Unix milliseconds. */
  readonly nowMs: () => number;
  readonly log: Pick<Logger, 'warn'>;
}

/** How long an id is remembered after its last use, and how seldom a use is noted. Milliseconds. */
const ttlMs = 30 * 24 * 3_600_000;
const renewMs = 24 * 3_600_000;
/** Of one batch that are remembered. */
const mostModels = 64;
/** The operator is told of failures once in this time, however many there are. Milliseconds. */
const quietMs = 60_000;
/** Most homes that wait to be written: they are held in memory. */
const mostPending = 10_000;

/** What may stand in a path of a provider. */
export function isKeptId(id: string): boolean {
  return /^[A-Za-z0-9_-][A-Za-z0-9_.:-]{0,199}$/.test(id);
}

/** No request waits for a write, and what is being written can already be read. */
export class KeptHomes {
  readonly #parts: KeptHomesParts;
  readonly #pending = new Map<string, { readonly home: KeptHome; readonly written: Promise<void> }>();
  #quietUntilMs = 0;

  constructor(parts: KeptHomesParts) {
    this.#parts = parts;
  }

  remember(kind: HomeKind, id: string, userPath: string, home: KeptHome): void {
    const text = nameOf(kind, id, userPath);
    if (!isKeptId(id) || (this.#pending.size >= mostPending && !this.#pending.has(text))) {
      this.#tell(new Error('an id of a provider was not remembered'));
      return;
    }
    const before = this.#pending.get(text)?.written;
    const write = async (): Promise<void> => {
      // In their order: the last one stays.
      await before;
      await this.#put(keyOf(kind, id, userPath), home).catch((error: unknown) => this.#tell(error));
      if (this.#pending.get(text)?.written === written) this.#pending.delete(text);
    };
    const written = Promise.resolve().then(write);
    this.#pending.set(text, { home, written });
  }

  /** Undefined: there is none for this user path. Rejects with 503 `kept_ids_unavailable`. */
  async find(kind: HomeKind, id: string, userPath: string): Promise<KeptHome | undefined> {
    const pending = this.#pending.get(nameOf(kind, id, userPath));
    if (pending !== undefined || !isKeptId(id)) return pending?.home;
    const bytes = await this.#parts.kept.get(keyOf(kind, id, userPath)).catch(refuseStore);
    const { provider, key, at, is_batch_input, models } = (bytes && parseObject(bytes.toString())) ?? {};
    if (typeof provider !== 'string' || typeof key !== 'string') return undefined;
    const home = { provider, key, isBatchInput: is_batch_input === true, models: textsIn(models) };
    if (typeof at !== 'number' || at + renewMs < this.#parts.nowMs()) this.remember(kind, id, userPath, home);
    return home;
  }

  /** Rejects as `find`. */
  async forget(kind: HomeKind, id: string, userPath: string): Promise<void> {
    await this.#pending.get(nameOf(kind, id, userPath))?.written;
    if (isKeptId(id)) await this.#parts.kept.remove(keyOf(kind, id, userPath)).catch(refuseStore);
  }

  /** A batch was begun, of models as their provider calls them: what it costs is told at its end. No request waits for it. */
  begin(kind: BatchKind, id: string, userPath: string, models: readonly string[]): void {
    if (!isKeptId(id)) return;
    const { kept, nowMs } = this.#parts;
    const content = Buffer.from(JSON.stringify({ models: models.slice(0, mostModels) }));
    kept.put(begunOf(kind, id, userPath), content, nowMs() + ttlMs).catch((error: unknown) => this.#tell(error));
  }

  /** Gives what was told of a batch that was begun, once in all. Rejects with `StoreUnavailable`. */
  async finish(kind: BatchKind, id: string, userPath: string): Promise<{ models: readonly string[] } | undefined> {
    const key = begunOf(kind, id, userPath);
    const bytes = isKeptId(id) ? await this.#parts.kept.get(key) : undefined;
    // Of several that read it at once, one removes it.
    if (bytes === undefined || !(await this.#parts.kept.remove(key))) return undefined;
    return { models: textsIn(parseObject(bytes.toString())?.['models']) };
  }

  /** When nothing is being written. */
  async settled(): Promise<void> {
    await Promise.all([...this.#pending.values()].map(({ written }) => written));
  }

  async #put(key: KeptKey, { provider, key: mark, isBatchInput, models }: KeptHome): Promise<void> {
    const { kept, nowMs } = this.#parts;
    const at = Math.floor(nowMs());
    const content = { provider, key: mark, at, is_batch_input: isBatchInput, models: models?.slice(0, mostModels) };
    await kept.put(key, Buffer.from(JSON.stringify(content)), at + ttlMs);
  }

  #tell(error: unknown): void {
    const { log, nowMs } = this.#parts;
    const now = nowMs();
    if (now < this.#quietUntilMs) return;
    this.#quietUntilMs = now + quietMs;
    log.warn({ err: error }, 'it could not be remembered which provider keeps a file or a batch');
  }
}

function keyOf(kind: HomeKind, id: string, owner: string): KeptKey {
  return { kind: `${kind}_home`, id, owner };
}

function begunOf(kind: BatchKind, id: string, owner: string): KeptKey {
  return { kind: `${kind}_begun`, id, owner };
}

function textsIn(value: JsonValue | undefined): readonly string[] {
  return (listOf(value) ?? []).flatMap((entry) => textOf(entry) ?? []);
}

function nameOf(kind: HomeKind, id: string, userPath: string): string {
  return `${kind} ${id} ${userPath}`;
}

function refuseStore(error: unknown): never {
  if (!(error instanceof StoreUnavailable)) throw error;
  throw refusal('kept_ids_unavailable', { headers: { 'retry-after': '1' } });
}
