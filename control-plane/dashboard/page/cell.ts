// A value that components watch: they are drawn again when it changes.
import { useEffect, useState } from 'preact/hooks';

export class Cell<Value> {
  #value: Value;
  readonly #watchers = new Set<(value: Value) => void>();

  constructor(value: Value) {
    this.#value = value;
  }

  get value(): Value {
    return this.#value;
  }

  set(value: Value): void {
    if (Object.is(value, this.#value)) return;
    this.#value = value;
    for (const watcher of this.#watchers) watcher(value);
  }

  /** Gives the function that ends it. */
  watch(watcher: (value: Value) => void): () => void {
    this.#watchers.add(watcher);
    return () => void this.#watchers.delete(watcher);
  }
}

/** The value now, in a component. */
export function useCell<Value>(cell: Cell<Value>): Value {
  const [, redraw] = useState({});
  useEffect(() => {
    const seen = cell.value;
    const end = cell.watch(() => redraw({}));
    if (!Object.is(seen, cell.value)) redraw({});
    return end;
  }, [cell]);
  return cell.value;
}
