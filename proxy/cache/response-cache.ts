// The response cache of this proxy: its engine, as the configuration has it, and what has come of asking it.
import type { AnswerCache, CachedAnswer, CacheStatus } from '../../store/cache/answer-cache.ts';
import type { CaptureBudget } from '../capture/capture-budget.ts';
import { Batch } from '../pacing/batch.ts';
import type { CacheSettings } from '../snapshot/snapshot.ts';
import { Flights } from './flights.ts';
import { Replays, replayBytes } from './replays.ts';
import type { SemanticLayer } from './semantic-layer.ts';

/** `bypass`: the request may not have a kept answer, or did not want one, or the cache was away. */
export const cacheOutcomes = ['hit', 'miss', 'bypass'] as const;
export type CacheOutcome = (typeof cacheOutcomes)[number];

/** An answer that is about to be kept. */
export interface LatePut {
  readonly key: string;
  /** Puts it into the engine; must not throw. */
  put(): void;
}

export interface ResponseCacheOptions {
  /** `engine` undefined: the usual one of the process. */
  readonly open: (engine: CacheSettings['engine'], mostBytes: number) => AnswerCache;
  readonly semantic: SemanticLayer;
  /** The memory for answers while they pass. */
  readonly captures: CaptureBudget;
  /** Unix milliseconds. */
  readonly nowMs: () => number;
}

/** As many numbers as `markOf` gives. */
const marks = 2 ** 12;

const nothing: CacheStatus = { entries: 0, bytes: 0, evicted: 0, dropped: 0 };

export class ResponseCache {
  readonly flights = new Flights();
  readonly semantic: SemanticLayer;
  readonly captures: CaptureBudget;
  readonly nowMs: () => number;
  /** Requests by endpoint. */
  readonly counts = new Map<string, Record<CacheOutcome, number>>();
  /** The tokens and nano-dollars that hits have saved. */
  readonly saved = { tokens: 0, nanoDollars: 0 };
  readonly #open: ResponseCacheOptions['open'];
  readonly #late: Batch<LatePut>;
  /** How many answers wait to be put, by the marks of their keys: less than 256. A set of keys would hash each for the first time. */
  readonly #waiting = new Uint8Array(marks);
  #replays: Replays;
  #opened: { readonly engine: AnswerCache; readonly kind: CacheSettings['engine'] } | undefined;
  /** Of engines that are closed. */
  #before = nothing;

  constructor({ open, semantic, captures, nowMs }: ResponseCacheOptions) {
    this.#open = open;
    this.#replays = this.#noReplays();
    this.semantic = semantic;
    this.captures = captures;
    this.nowMs = nowMs;
    this.#late = new Batch((late) => {
      this.#waitingAt(late.key, -1);
      late.put();
    });
  }

  get replays(): Replays {
    return this.#replays;
  }

  /** Undefined: it is off. */
  get engine(): AnswerCache | undefined {
    return this.#opened?.engine;
  }

  /** Its answers are those of all processes. */
  get isShared(): boolean {
    return this.engine?.isShared === true;
  }

  /**
   * Changes nothing; throws an Error where an engine is missing. The function that it returns puts the settings in
   * force and does not throw. An engine that is switched off loses its answers in memory.
   */
  prepare(settings: CacheSettings): () => void {
    const commitSemantic = this.semantic.prepare(settings);
    return () => {
      commitSemantic();
      this.#apply(settings);
    };
  }

  #apply({ isEnabled, engine: kind, mostBytes }: CacheSettings): void {
    if (this.#opened !== undefined && (!isEnabled || this.#opened.kind !== kind)) void this.#closeEngine();
    if (!isEnabled) return;
    if (this.#opened === undefined) this.#opened = { engine: this.#open(kind, mostBytes), kind };
    else this.#opened.engine.resize(mostBytes);
  }

  /** Keeps it within 50 ms. A request for it that comes before finds it, too. */
  putLater(late: LatePut, mayWait: boolean): void {
    this.#waitingAt(late.key, 1);
    this.#late.add(late, mayWait);
  }

  /** The answer with this key, also one that waits to be written. */
  find(engine: AnswerCache, key: string): ReturnType<AnswerCache['get']> {
    if (this.#waiting[markOf(key)] !== 0) this.#late.flush();
    return engine.get(key, this.nowMs());
  }

  note(endpoint: string, outcome: CacheOutcome): void {
    let counts = this.counts.get(endpoint);
    if (counts === undefined) {
      counts = { hit: 0, miss: 0, bypass: 0 };
      this.counts.set(endpoint, counts);
    }
    counts[outcome] += 1;
  }

  /** An answer was served that was kept. */
  noteSaved({ facts: { usage } }: CachedAnswer): void {
    if (usage === undefined) return;
    this.saved.tokens += usage.total_tokens;
    this.saved.nanoDollars += usage.cost?.total ?? 0;
  }

  status(): CacheStatus {
    this.#late.flush();
    const { entries, bytes, evicted, dropped } = this.engine?.status() ?? nothing;
    return { entries, bytes, evicted: this.#before.evicted + evicted, dropped: this.#before.dropped + dropped };
  }

  async close(): Promise<void> {
    await Promise.all([this.#closeEngine(), this.semantic.close()]);
  }

  #waitingAt(key: string, more: number): void {
    const mark = markOf(key);
    this.#waiting[mark] = (this.#waiting[mark] ?? 0) + more;
  }

  async #closeEngine(): Promise<void> {
    const engine = this.engine;
    this.#before = { ...this.status(), entries: 0, bytes: 0 };
    this.#opened = undefined;
    this.#replays = this.#noReplays();
    await engine?.close();
  }

  #noReplays(): Replays {
    return new Replays(this.#open('memory', replayBytes));
  }
}

/** Of the first two characters of a key, which are random: few keys share one. */
function markOf(key: string): number {
  return ((key.charCodeAt(0) << 6) ^ key.charCodeAt(1)) & (marks - 1);
}
