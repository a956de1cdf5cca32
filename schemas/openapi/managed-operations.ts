// The operations that every kind of operators' documents has: list, put and delete, and for limits their resets.
import { bodySchemas, type SchemaName } from './body-schemas.ts';
import { type Operation, type ParameterName, storedRefusals, writeHeaders } from './operation.ts';

/** One kind. */
export interface ManagedKindRow {
  readonly tag: string;
  readonly path: string;
  /** How ids of operations name one of them and all: `RateLimit`, `RateLimits`; bodies are `rate-limit-write` and the like, codes `rate_limit_…`. */
  readonly names: readonly [one: string, all: string];
  /** How sentences name all of them. */
  readonly noun: string;
  readonly list: Said & { readonly parameters?: readonly ParameterName[] };
  readonly put: Said;
  /** `conflicts`: further codes of 409. */
  readonly remove: Said & { readonly conflicts?: readonly string[] };
  /** The kind counts something. */
  readonly resets?: {
    readonly one: string;
    readonly all: string;
  };
}

interface Said {
  readonly summary: string;
  readonly description: string;
}

/** The operations of a kind, in the order of the description. */
export function managedOperations(row: ManagedKindRow): Operation[] {
  const { list, put, remove } = row;
  const [one, all] = row.names;
  const { body, code, common, listing, write, denied } = sharedBy(row);
  const own = `${body}-delete`;
  const { conflicts = [], ...removal } = remove;
  return [
    {
      ...common,
      ...list,
      id: `list${all}`,
      method: 'get',
      success: { ...listing, says: `The ${row.noun}.`, headers: ['ETag', 'x-gateway-stale'] },
      refusals: { 400: ['invalid_query'], 503: ['store_unavailable'] },
    },
    {
      ...common,
      ...put,
      id: `put${one}`,
      method: 'put',
      parameters: ['IfMatch'],
      body: `${body}-write`,
      success: listing,
      refusals: {
        ...write,
        ...(row.resets === undefined ? {} : { 403: ['quota_templates_not_entitled', 'admin_scope_denied'] }),
        409: [`too_many_${code}s`, 'write_conflict'],
      },
    },
    {
      ...common,
      ...removal,
      id: `delete${one}`,
      method: 'delete',
      parameters: ['IfMatch'],
      body: bodySchemas.has(own) ? own : 'entry-delete',
      success: listing,
      refusals: {
        ...write,
        ...denied,
        404: [`${code}_not_found`],
        409: [`${code}_config_owned`, ...conflicts, 'write_conflict'],
      },
    },
    ...(row.resets === undefined ? [] : resetOperations(row, row.resets)),
  ];
}

function resetOperations(row: ManagedKindRow, { one, all }: NonNullable<ManagedKindRow['resets']>): Operation[] {
  const { body, code, common, listing, write, denied } = sharedBy(row);
  return [
    {
      ...common,
      id: `reset${row.names[0]}`,
      method: 'post',
      path: `${row.path}/reset-one`,
      summary: one,
      parameters: ['IfMatch'],
      body: `${body}-reset-one`,
      success: listing,
      refusals: { ...write, ...denied, 404: [`${code}_not_found`] },
    },
    {
      ...common,
      id: `reset${row.names[1]}`,
      method: 'post',
      path: `${row.path}/reset`,
      summary: all,
      parameters: ['IfMatch'],
      body: `${body}-reset`,
      success: { status: 200, says: 'It is done.', schema: 'reset-done', headers: ['ETag', ...writeHeaders] },
      refusals: { ...write, 400: ['reset_not_confirmed'] },
    },
  ];
}

/** The parts that the operations of a kind share. */
function sharedBy({ tag, resets, path, names: [one, all], noun }: ManagedKindRow) {
  return {
    body: fileName(one),
    code: fileName(one).replaceAll('-', '_'),
    common: { tag, access: 'operator', path },
    listing: {
      status: 200,
      says: `The ${noun} after it.`,
      schema: fileName(all),
      headers: ['ETag', ...writeHeaders],
    },
    write: { 409: ['write_conflict'], 412: ['precondition_failed'], 503: storedRefusals },
    denied: resets === undefined ? {} : { 403: ['admin_scope_denied'] },
  } as const;
}

/** `RateLimits` becomes `rate-limits`. */
function fileName(name: string): SchemaName {
  return name.replace(/(?<=.)[A-Z]/g, '-$&').toLowerCase();
}
