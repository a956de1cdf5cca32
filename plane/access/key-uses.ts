// In which hour each managed key was used last, as this process has seen it. A request costs one look-up.
import type { DocumentUse } from '../../store/state/state-store.ts';

const hourMs = 3_600_000;
/** Keys that are remembered at a time. The default limit on keys is 10,000 (`admin.max_keys`); uses of more than these are not noted. */
const mostKeys = 100_000;

export class KeyUses {
  /** Of keys that were used in this hour, and of those that are not written yet. */
  #hours = new Map<string, number>();
  readonly #unwritten = new Set<string>();
  #hour = 0;

  /** A request with this key was let in. Undefined: with another credential. `nowMs`: Unix milliseconds. */
  note(keyId: string | undefined, nowMs: number): void {
    // A colon is in the ids of keys that are not stored: those of the configuration, and tokens.
    if (keyId === undefined || keyId.includes(':')) return;
    const hour = Math.floor(nowMs / hourMs);
    if (hour !== this.#hour) this.#begin(hour);
    const before = this.#hours.get(keyId);
    if (before === hour || (before === undefined && this.#hours.size >= mostKeys)) return;
    this.#hours.set(keyId, hour);
    this.#unwritten.add(keyId);
  }

  /** At most so many uses that are not written yet. */
  unwritten(limit: number): DocumentUse[] {
    const uses: DocumentUse[] = [];
    for (const id of this.#unwritten) {
      if (uses.length === limit) break;
      uses.push({ id, hour: this.#hours.get(id) ?? 0 });
    }
    return uses;
  }

  /** These are written; what was used again since then is not. */
  written(uses: readonly DocumentUse[]): void {
    for (const { id, hour } of uses) {
      if (this.#hours.get(id) !== hour) continue;
      this.#unwritten.delete(id);
      if (hour !== this.#hour) this.#hours.delete(id);
    }
  }

  /** Another hour begins: what is written of those before is forgotten. */
  #begin(hour: number): void {
    const kept = new Map<string, number>();
    for (const id of this.#unwritten) kept.set(id, this.#hours.get(id) ?? hour);
    this.#hours = kept;
    this.#hour = hour;
  }

  /** The store has lost what was written: what is known is to be written again. */
  writeAgain(): void {
    for (const id of this.#hours.keys()) this.#unwritten.add(id);
  }
}
