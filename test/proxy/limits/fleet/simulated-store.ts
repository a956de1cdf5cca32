// The store of a simulated fleet: the real book on tables in memory, which stalls, forgets, and has its clock set.
import type { LimitCopy } from '../../../support/limit-tables.ts';
import { MemoryTables } from '../../../support/limit-tables.ts';

/** When every world begins, on the store's clock. */
export const worldStartMs = 1_800_000_000_000;

export class SimulatedStore {
  readonly tables = new MemoryTables();
  /** Which run of the server it is. */
  run = 1;
  /** It takes nothing before: it is stopped, or down. Milliseconds from the start, as below. */
  awakeAtMs = 0;
  /** By how much its clock was set. */
  stepMs = 0;
  readonly #copies: { readonly atMs: number; readonly copy: LimitCopy }[] = [];

  /** What its clock says. */
  clockMs(nowMs: number): number {
    return Math.floor(worldStartMs + nowMs + this.stepMs);
  }

  /** Remembers what it holds, for `loseTail`. */
  save(nowMs: number): void {
    this.#copies.push({ atMs: nowMs, copy: this.tables.copy() });
    if (this.#copies.length > 12) this.#copies.shift();
  }

  /** Begins another run with what it held at a moment, as far as that was saved. */
  loseTail(momentMs: number): void {
    const found = this.#copies.findLast(({ atMs }) => atMs <= momentMs);
    if (found === undefined) this.loseAll();
    else this.tables.restore(found.copy);
    this.run += 1;
  }

  loseAll(): void {
    this.tables.clear();
    this.#copies.length = 0;
    this.run += 1;
  }
}
