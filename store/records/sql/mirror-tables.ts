// The table of comparisons of answers with those of mirrors.
import type { Dialect } from './dialect.ts';

/** A row of the table, in its order; `a_…` is of the answer that the client got, `b_…` of the mirror. Null: not known. */
export const comparedColumns = [
  'model',
  'status_code',
  'success',
  'duration_ns',
  'first_byte_ns',
  'input_tokens',
  'output_tokens',
  'cost',
] as const;

/** Costs are nano-dollars; `success` is 0 or 1. */
export function mirrorTables({ text, countedId }: Dialect): readonly string[] {
  const typeOf: Readonly<Record<string, string>> = {
    model: `${text} NOT NULL`,
    success: 'BIGINT NOT NULL',
    duration_ns: 'BIGINT NOT NULL',
    input_tokens: 'BIGINT NOT NULL',
    output_tokens: 'BIGINT NOT NULL',
  };
  const sides = ['a', 'b'].flatMap((side) =>
    comparedColumns.map((name) => `${side}_${name} ${typeOf[name] ?? 'BIGINT'}`),
  );
  return [
    `CREATE TABLE mirror (id ${countedId}, uid ${text} NOT NULL, at_ms BIGINT NOT NULL, request_id ${text} NOT NULL,
       alias ${text} NOT NULL, stream BIGINT NOT NULL, ${sides.join(', ')}, similarity DOUBLE PRECISION)`,
    'CREATE UNIQUE INDEX mirror_uid ON mirror (uid)',
    'CREATE INDEX mirror_at ON mirror (at_ms, id)',
  ];
}
