// The set of what is open now, where something opens and ends with each request. Not a Set: when the table of one is full, the old table leads
// V8 to the new one. Once one of them is in the old generation, all that is ever put into the set follows it there, with the request around
// it, until a full collection: with 50 streams side by side a scavenge took 3.0 ms instead of 0.9.

/** Knows where it stands in the list, which sets it; undefined: it is not open. */
export interface Listed {
  place?: number | undefined;
}

export class OpenList<Entry extends Listed> {
  readonly #entries: Entry[] = [];

  get size(): number {
    return this.#entries.length;
  }

  /** One that is open already stays as it is. */
  add(entry: Entry): void {
    if (entry.place === undefined) entry.place = this.#entries.push(entry) - 1;
  }

  /** One that is not open stays as it is. */
  remove(entry: Entry): void {
    const { place } = entry;
    if (place === undefined) return;
    entry.place = undefined;
    const last = this.#entries.pop();
    if (last === undefined || last === entry) return;
    this.#entries[place] = last;
    last.place = place;
  }

  /** Calls `visit` with each; any of them may be removed meanwhile, and one is visited again where it gets the place of another. */
  each(visit: (entry: Entry) => void): void {
    // From the end on: what gets a place was there before it.
    for (let place = this.#entries.length - 1; place >= 0; place -= 1) {
      const entry = this.#entries[place];
      if (entry !== undefined) visit(entry);
    }
  }
}
