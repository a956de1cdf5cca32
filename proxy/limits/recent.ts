// A bounded cache of recent look-ups: two maps; when the younger is full, the older is dropped.

/**
 * Keeps at least the `room` used last and at most twice as much; an entry takes one of it, or what `set` says. Reading is one map
 * look-up while the working set fits.
 */
export class Recent<Key, Value> {
  readonly #room: number;
  #taken = 0;
  #young = new Map<Key, Value>();
  #old = new Map<Key, Value>();

  constructor(room: number) {
    this.#room = room;
  }

  /** `size` as for `set`. */
  get(key: Key, size?: number): Value | undefined {
    const found = this.#young.get(key);
    if (found !== undefined) return found;
    const older = this.#old.get(key);
    if (older !== undefined) this.set(key, older, size);
    return older;
  }

  /** For a key that is not there. */
  set(key: Key, value: Value, size: number = 1): void {
    if (this.#taken >= this.#room) {
      this.#old = this.#young;
      this.#young = new Map();
      this.#taken = 0;
    }
    this.#young.set(key, value);
    this.#taken += size;
  }
}
