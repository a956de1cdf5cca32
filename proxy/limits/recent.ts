// A bounded cache of recent look-ups: two maps; when the younger is full, the older is dropped.

/**
 * Keeps at least the last used entries that fill `room`, and at most twice as many. An entry takes 1 of the room, or
 * the `size` given to `set`. A read is one map look-up while the working set fits.
 */
export class Recent<Key, Value> {
  readonly #room: number;
  #taken = 0;
  #young = new Map<Key, Value>();
  #old = new Map<Key, Value>();

  constructor(room: number) {
    this.#room = room;
  }

  /** The value of `key`, if it is kept. `size` as for `set`. */
  get(key: Key, size?: number): Value | undefined {
    const found = this.#young.get(key);
    if (found !== undefined) return found;
    const older = this.#old.get(key);
    if (older !== undefined) this.set(key, older, size);
    return older;
  }

  /** Adds a key that `get` did not find. `size` is the share of the room that it takes. */
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
