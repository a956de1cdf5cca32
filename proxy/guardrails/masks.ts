// What was masked in one request: a placeholder for each value, and the value behind each placeholder.

/** Lives as long as its request, and knows nothing of any other. */
export class Masks {
  readonly #placeholders = new Map<string, string>();
  readonly #values = new Map<string, string>();
  readonly #counts = new Map<string, number>();
  readonly #isTaken: (placeholder: string) => boolean;

  readonly #first: number;

  /** `isTaken`: whether the client itself says such a placeholder. `first`: numbers begin behind it. */
  constructor(isTaken: (placeholder: string) => boolean, first: number = 0) {
    this.#isTaken = isTaken;
    this.#first = first;
  }

  get size(): number {
    return this.#values.size;
  }

  /** The placeholder of a value, such as `[EMAIL_1]`: the same for the same value. */
  placeholderOf(kind: string, value: string): string {
    const key = `${kind} ${value}`;
    const known = this.#placeholders.get(key);
    if (known !== undefined) return known;
    let count = this.#counts.get(kind) ?? this.#first;
    let placeholder: string;
    do {
      count += 1;
      placeholder = `[${kind.toUpperCase()}_${count}]`;
    } while (this.#isTaken(placeholder));
    this.#counts.set(kind, count);
    this.#placeholders.set(key, placeholder);
    this.#values.set(placeholder, value);
    return placeholder;
  }

  /** What a placeholder stands for; undefined: it is none of this request. */
  valueOf(placeholder: string): string | undefined {
    return this.#values.get(placeholder);
  }

  /** All placeholders. */
  placeholders(): Iterable<string> {
    return this.#values.keys();
  }
}
