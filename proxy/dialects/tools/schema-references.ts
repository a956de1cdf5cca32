// Finds what the references of a schema point to, and sees when a schema holds itself.
import { isObject, type JsonObject, type JsonValue, writeJson } from '../json/json.ts';

/** How often one reference may stand within itself before it is cut off. */
const maxNested = 2;

export class SchemaReferences {
  readonly #root: JsonObject;
  /** References that are being written out now, and how often. */
  readonly #open = new Map<string, number>();

  readonly #sizes = new Map<string, number>();

  constructor(root: JsonObject) {
    this.#root = root;
  }

  /** The schema behind a reference, until `leave`; undefined when there is none, or it holds itself too often. */
  enter(reference: string): JsonObject | undefined {
    const nested = this.#open.get(reference) ?? 0;
    const found = nested < maxNested ? this.find(reference) : undefined;
    if (found !== undefined) this.#open.set(reference, nested + 1);
    return found;
  }

  leave(reference: string): void {
    this.#open.set(reference, (this.#open.get(reference) ?? 1) - 1);
  }

  /** How long the schema behind a reference is, as JSON. Characters. */
  size(reference: string): number {
    const known = this.#sizes.get(reference);
    if (known !== undefined) return known;
    const size = writeJson(this.find(reference) ?? {}).length;
    this.#sizes.set(reference, size);
    return size;
  }

  /** The schema that a JSON pointer within this one names (`#/$defs/place`). */
  find(reference: string): JsonObject | undefined {
    if (reference !== '#' && !reference.startsWith('#/')) return undefined;
    let found: JsonValue | undefined = this.#root;
    for (const step of reference.split('/').slice(1)) {
      const key = unescaped(step);
      if (key === undefined || typeof found !== 'object' || found === null || !Object.hasOwn(found, key))
        return undefined;
      found = (found as JsonObject)[key];
    }
    return isObject(found) ? found : undefined;
  }
}

function unescaped(step: string): string | undefined {
  try {
    return decodeURIComponent(step).replaceAll('~1', '/').replaceAll('~0', '~');
  } catch {
    return undefined;
  }
}
