// Models as clients of Anthropic list them: entries of another shape, in pages.
import { refusal } from '../errors.ts';
import type { ModelEntry } from '../snapshot/snapshot.ts';

/** `schemas/model-api/model.schema.json`, as Anthropic has it. */
export interface AnthropicModel {
  readonly type: 'model';
  readonly id: string;
  readonly display_name: string;
  readonly created_at: string;
}

/** A page; `has_more`: there are more models in the direction in which the page was asked for. */
export interface ModelPage {
  readonly data: readonly AnthropicModel[];
  readonly has_more: boolean;
  readonly first_id: string | null;
  readonly last_id: string | null;
}

/** Query parameters by name; a list where one was sent more than once. */
export type Query = Readonly<Record<string, string | readonly string[] | undefined>>;

const usualLimit = 20;
const mostModels = 1_000;
/** The release time that Anthropic gives for a model of unknown release. */
const unknownTime = '1970-01-01T00:00:00Z';

export function anthropicModel({ id }: ModelEntry): AnthropicModel {
  return { type: 'model', id, display_name: id, created_at: unknownTime };
}

/**
 * The page that `limit`, `after_id` and `before_id` ask for, of models sorted by id. A cursor names a place, so a client can go on when the
 * model of that name is gone. Throws 400 `invalid_query`; parameters of other names are passed over.
 */
export function pageOf(models: readonly ModelEntry[], query: Query): ModelPage {
  const limit = readLimit(query);
  const after = readCursor(query, 'after_id');
  const before = readCursor(query, 'before_id');
  if (after !== undefined && before !== undefined) throw wrong('before_id', 'must not stand beside after_id');
  const { from, to } =
    before === undefined
      ? forwards(models, after, limit)
      : backwards(
          placeOf(models, (id) => id >= before),
          limit,
        );
  const data = models.slice(from, to).map(anthropicModel);
  return {
    data,
    has_more: before === undefined ? to < models.length : from > 0,
    first_id: data[0]?.id ?? null,
    last_id: data.at(-1)?.id ?? null,
  };
}

interface Range {
  readonly from: number;
  readonly to: number;
}

function forwards(models: readonly ModelEntry[], after: string | undefined, limit: number): Range {
  const from = after === undefined ? 0 : placeOf(models, (id) => id > after);
  return { from, to: from + limit };
}

function backwards(to: number, limit: number): Range {
  return { from: Math.max(0, to - limit), to };
}

/** Where the first model stands whose id is such; behind the last one when there is none. */
function placeOf(models: readonly ModelEntry[], isSuch: (id: string) => boolean): number {
  const place = models.findIndex(({ id }) => isSuch(id));
  return place === -1 ? models.length : place;
}

function readLimit({ limit }: Query): number {
  if (limit === undefined) return usualLimit;
  const count = typeof limit === 'string' && /^\d{1,4}$/.test(limit) ? Number(limit) : 0;
  if (count < 1 || count > mostModels) throw wrong('limit', `must be a whole number from 1 to ${mostModels}`);
  return count;
}

function readCursor(query: Query, name: 'after_id' | 'before_id'): string | undefined {
  const cursor = query[name];
  if (cursor === undefined) return undefined;
  if (typeof cursor !== 'string' || cursor === '') throw wrong(name, 'must be the id of a model');
  return cursor;
}

function wrong(name: string, problem: string): Error {
  return refusal('invalid_query', { param: name, fill: { name, problem } });
}
