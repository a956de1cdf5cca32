// The masks of one request: a placeholder for each value, and the value behind each placeholder.

/** The form of a placeholder, in the syntax of RE2. */
export const placeholderForm = '\\[[A-Z_]{1,32}_[0-9]{1,16}\\]';
/** No placeholder is longer. Characters. */
export const longestPlaceholder = 64;

const noneTaken = (): ReadonlySet<string> => new Set();

/** Lives as long as its request, and knows nothing of any other. */
export class Masks {
  readonly #placeholders = new Map<string, string>();
  readonly #values = new Map<string, string>();
  readonly #counts = new Map<string, number>();
  readonly #first: number;
  #findTaken: () => ReadonlySet<string>;
  #taken: ReadonlySet<string> | undefined;

  /** `findTaken` finds the placeholders that the client itself says, when one is needed. `first`: numbers begin behind it. */
  constructor(findTaken: () => ReadonlySet<string> = noneTaken, first: number = 0) {
    this.#findTaken = findTaken;
    this.#first = first;
  }

  /** Nothing more is masked: what the client says need not be kept. */
  release(): void {
    this.#findTaken = noneTaken;
    this.#taken = undefined;
  }

  get size(): number {
    return this.#values.size;
  }

  /** The placeholder of a value, such as `[EMAIL_1]`: the same for the same value. */
  placeholderOf(kind: string, value: string): string {
    const key = `${kind} ${value}`;
    const known = this.#placeholders.get(key);
    if (known !== undefined) return known;
    this.#taken ??= this.#findTaken();
    let count = this.#counts.get(kind) ?? this.#first;
    let placeholder: string;
    do {
      count += 1;
      placeholder = `[${kind.toUpperCase()}_${count}]`;
    } while (this.#taken.has(placeholder));
    this.#counts.set(kind, count);
    this.#placeholders.set(key, placeholder);
    this.#values.set(placeholder, value);
    return placeholder;
  }

  /** The value of a placeholder; undefined: it is none of this request. */
  valueOf(placeholder: string): string | undefined {
    return this.#values.get(placeholder);
  }
}

/** All placeholders that a text holds. */
export function placeholdersIn(text: string): ReadonlySet<string> {
  return new Set(Array.from(text.matchAll(new RegExp(placeholderForm, 'g')), ([placeholder]) => placeholder));
}
