// Keeps objects of the demo provider in bounded memory: the oldest one makes room. Lists them in pages.
import { Refusal } from './requests.ts';

/** A thing under its id, with the JSON that tells of it. */
export type Thing = { readonly id: string; readonly record: object; readonly bytes: number };

/** How much is kept. */
type Bounds = { readonly things: number; readonly bytes: number };

type Page = {
  readonly data: readonly object[];
  readonly first_id: string | null;
  readonly last_id: string | null;
  readonly has_more: boolean;
};

export class Kept<T extends Thing> {
  /** The oldest first. */
  readonly #things = new Map<string, T>();
  readonly #bounds: Bounds;
  #bytes = 0;

  constructor(bounds: Bounds) {
    this.#bounds = bounds;
  }

  /** Adds a thing, or puts it in the place of the one with its id. */
  keep(thing: T): T {
    this.#bytes += thing.bytes - (this.#things.get(thing.id)?.bytes ?? 0);
    this.#things.set(thing.id, thing);
    for (const [id] of this.#things) {
      if (this.#things.size <= this.#bounds.things && this.#bytes <= this.#bounds.bytes) break;
      this.forget(id);
    }
    return thing;
  }

  find(id: string): T | undefined {
    return this.#things.get(id);
  }

  forget(id: string): void {
    this.#bytes -= this.#things.get(id)?.bytes ?? 0;
    this.#things.delete(id);
  }

  newestFirst(): T[] {
    return [...this.#things.values()].toReversed();
  }
}

/** How a list is asked for: the parameter with the id behind which a page begins, and how many things there are on one. */
type PageStyle = { readonly after: 'after' | 'after_id'; readonly usual: number; readonly most: number };

/** The page that a query asks for, of things in their order. Refuses (400, 404) what cannot be one. */
export function pageOf(things: readonly Thing[], query: URLSearchParams, { after, usual, most }: PageStyle): Page {
  const limit = Number(query.get('limit') ?? usual);
  if (!Number.isInteger(limit) || limit < 1 || limit > most) {
    throw new Refusal(400, `'limit' must be a whole number from 1 to ${most}.`, 'limit', 'invalid_value');
  }
  const last = query.get(after);
  const from = last === null ? 0 : things.findIndex(({ id }) => id === last) + 1;
  if (last !== null && from === 0) throw new Refusal(404, `No such object: ${last}`, after);
  const page = things.slice(from, from + limit);
  return {
    data: page.map(({ record }) => record),
    first_id: page[0]?.id ?? null,
    last_id: page.at(-1)?.id ?? null,
    has_more: from + page.length < things.length,
  };
}
