// The semantic layer of this proxy: its engine, as the configuration has it, how many may ask it at once, and what has come of it.
import type { NeighbourStatus, Neighbours, VectorPlace } from '../../store/cache/semantic/neighbours.ts';
import type { NeighbourSettings } from '../../store/cache/semantic/open.ts';
import type { CacheSettings, SemanticSettings } from '../snapshot/snapshot.ts';

/** schemas/metrics/cache-metrics.ts says what each means. */
export const semanticOutcomes = [
  'hit',
  'miss',
  'skipped',
  'busy',
  'refused',
  'timeout',
  'failed',
  'paused',
  'cancelled',
] as const;
export type SemanticOutcome = (typeof semanticOutcomes)[number];

/** The result of the semantic layer for one request. */
export interface SemanticLook {
  outcome: SemanticOutcome;
  readonly threshold: number;
  /** Of the nearest one; undefined: there is none, or it is not known. */
  similarity?: number;
  /** The key of its answer. */
  matched?: string;
  /** Where the answer to this request is put. */
  place?: VectorPlace;
}

export interface SemanticLayerOptions {
  /** Throws where this process does not have the engine. */
  readonly demand: (engine: SemanticSettings['engine']) => void;
  /** Called for an engine that this process has. */
  readonly open: (settings: NeighbourSettings) => Neighbours;
  /** Unix milliseconds. */
  readonly nowMs: () => number;
  /** Something is wrong; a sentence. */
  readonly warn: (sentence: string) => void;
}

/** Requests beyond these go on without. */
const mostAtOnce = 64;
/** After so many failures in a row the layer is left alone for a while. */
const mostFailures = 3;
const pauseMs = 2_000;
const nothing: NeighbourStatus = { entries: 0, dropped: 0 };

export class SemanticLayer {
  readonly nowMs: () => number;
  readonly counts = Object.fromEntries(semanticOutcomes.map((outcome) => [outcome, 0])) as Record<
    SemanticOutcome,
    number
  >;
  readonly #demand: SemanticLayerOptions['demand'];
  readonly #open: SemanticLayerOptions['open'];
  readonly #warn: SemanticLayerOptions['warn'];
  #opened: { readonly neighbours: Neighbours; readonly engine: SemanticSettings['engine'] } | undefined;
  /** Of engines that are closed. */
  #dropped = 0;
  #running = 0;
  #failures = 0;
  #pausedUntilMs = 0;

  constructor({ demand, open, nowMs, warn }: SemanticLayerOptions) {
    this.#demand = demand;
    this.#open = open;
    this.nowMs = nowMs;
    this.#warn = warn;
  }

  /** Undefined: it is off. */
  get neighbours(): Neighbours | undefined {
    return this.#opened?.neighbours;
  }

  /**
   * Changes nothing; throws where the engine is missing. The function that it returns puts the settings in force and does not throw:
   * an engine that cannot be used is told of and left alone. What is switched off forgets what was in memory.
   */
  prepare({ isEnabled, semantic }: Pick<CacheSettings, 'isEnabled' | 'semantic'>): () => void {
    const wanted = isEnabled ? semantic : undefined;
    if (wanted !== undefined && this.#opened?.engine !== wanted.engine) this.#demand(wanted.engine);
    return () => {
      if (wanted === undefined) void this.close();
      else if (this.#opened?.engine === wanted.engine) this.#opened.neighbours.resize(wanted.mostEntries);
      else
        this.#replace(wanted).catch((error: unknown) =>
          this.#warn(`the semantic cache cannot be used: ${reasonOf(error)}`),
        );
    };
  }

  async #replace(wanted: SemanticSettings): Promise<void> {
    void this.close();
    const neighbours = this.#open(wanted);
    this.#opened = { neighbours, engine: wanted.engine };
    await neighbours.ready();
  }

  /** Why a request goes on without; undefined: it may ask, and says then that it has ended. */
  enter(): 'busy' | 'paused' | undefined {
    const nowMs = this.nowMs();
    if (nowMs < this.#pausedUntilMs) return 'paused';
    if (this.#running >= mostAtOnce) return 'busy';
    // Behind a pause one request tries.
    if (this.#failures >= mostFailures) this.#pausedUntilMs = nowMs + pauseMs;
    this.#running += 1;
    return undefined;
  }

  /** A request that had entered goes on. */
  leave(): void {
    this.#running -= 1;
  }

  worked(): void {
    this.#failures = 0;
    this.#pausedUntilMs = 0;
  }

  /** Neither the model nor the store is asked for a while when this comes too often. */
  failed(error: unknown): void {
    this.#failures += 1;
    if (this.#failures < mostFailures) return;
    this.#pausedUntilMs = this.nowMs() + pauseMs;
    if (this.#failures === mostFailures)
      this.#warn(`the semantic cache is left alone while it fails: ${reasonOf(error)}`);
  }

  note(outcome: SemanticOutcome): void {
    this.counts[outcome] += 1;
  }

  /** Its embeddings are those of all processes. */
  get isShared(): boolean {
    return this.neighbours?.isShared === true;
  }

  status(): NeighbourStatus {
    const { entries, dropped } = this.neighbours?.status() ?? nothing;
    return { entries, dropped: this.#dropped + dropped };
  }

  async close(): Promise<void> {
    const { neighbours } = this;
    this.#dropped = this.status().dropped;
    this.#opened = undefined;
    await neighbours?.close();
  }
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
