// The tables of usage records: a row for each executed attempt, its labels, and sums of them by time.
import type { Dialect } from './dialect.ts';
import { minuteMs } from './write/tallies.ts';
import { measures, minuteRollups, type Rollup, rollups, tableOf } from './write/usage-rollups.ts';

/** The columns of the first sums; a later step adds more. `requests` were usage records then. */
const firstMeasures = [
  'requests',
  'unpriced',
  'input_tokens',
  'output_tokens',
  'total_tokens',
  'cached_input_tokens',
  'cache_write_input_tokens',
  'reasoning_tokens',
  'input_cost',
  'output_cost',
  'total_cost',
];

/**
 * `usage`: costs are nano-dollars; null: there is no price. `record` and `seq` name the attempt, and keep it once. `cache_type` is empty
 * for an attempt that no cache answered. `model` and `path` are numbers of `usage_model` and `usage_path`, `label` of `usage_label` one of
 * `usage_label_name`: sums are then made over numbers, and no index holds a text of any length.
 * `usage_by_…`: what `rollups` says.
 */
export function usageTables({ text, countedId, clustered }: Dialect): readonly string[] {
  const counts = (names: readonly string[], more = ''): string =>
    names.map((name) => `${name} BIGINT${more}`).join(', ');
  const optional = ['cached_input_tokens', 'cache_write_input_tokens', 'reasoning_tokens', 'audio_input_tokens'];
  return [
    `CREATE TABLE usage (id ${countedId}, record ${text} NOT NULL, seq BIGINT NOT NULL, at_ms BIGINT NOT NULL,
       request_id ${text} NOT NULL, provider_id ${text}, model BIGINT NOT NULL, path BIGINT NOT NULL, endpoint ${text} NOT NULL,
       session_id ${text}, auth_key_id ${text}, cache_type ${text} NOT NULL, source ${text} NOT NULL, input_tokens BIGINT NOT NULL,
       output_tokens BIGINT NOT NULL, total_tokens BIGINT NOT NULL, ${counts(optional)},
       audio_output_tokens BIGINT, audio_seconds DOUBLE PRECISION, characters BIGINT, images BIGINT,
       input_cost BIGINT, output_cost BIGINT, total_cost BIGINT)`,
    'CREATE UNIQUE INDEX usage_attempt ON usage (record, seq)',
    'CREATE INDEX usage_at ON usage (at_ms, id)',
    'CREATE INDEX usage_session ON usage (session_id, at_ms, cache_type) WHERE session_id IS NOT NULL',
    `CREATE TABLE usage_label (usage BIGINT NOT NULL, label BIGINT NOT NULL, PRIMARY KEY (usage, label))${clustered}`,
    'CREATE INDEX usage_label_of ON usage_label (label, usage)',
    ...Object.entries(firstDictionaries).map(
      ([table, columns]) =>
        `CREATE TABLE ${table} (id ${countedId}, key ${text} NOT NULL UNIQUE, ${columns.map((name) => `${name} ${text} NOT NULL`).join(', ')})`,
    ),
    ...[rollups.model, rollups.path, rollups.both, rollups.label].flatMap((rollup) =>
      sumTables(rollup, { text, clustered }),
    ),
  ];
}

/** As they were at first: later steps add columns. */
const firstDictionaries = {
  usage_model: ['model', 'provider', 'provider_name'],
  usage_path: ['user_path'],
  usage_label_name: ['label'],
} as const;

/**
 * User paths are found and summed up without regard to letter case: `folded_path` is in lower case, `user_path` as it came first. Of older
 * records, `lower` of SQLite folds A to Z alone.
 */
export function foldPaths({ text }: Dialect): readonly string[] {
  return [
    `ALTER TABLE usage_path ADD COLUMN folded_path ${text} NOT NULL DEFAULT ''`,
    'UPDATE usage_path SET folded_path = lower(user_path)',
    'UPDATE combo SET user_path = lower(user_path)',
  ];
}

/** Sums for keys, with those of the records that are there. */
export function keyTables({ text, clustered }: Dialect): readonly string[] {
  const sumOf: Readonly<Record<string, string>> = { requests: 'count(*)', unpriced: 'count(*) - count(total_cost)' };
  const sums = firstMeasures.map((name) => sumOf[name] ?? `coalesce(sum(${name}), 0)`).join(', ');
  return [rollups.key, rollups.keyAndPath].flatMap((rollup) => [
    ...sumTables(rollup, { text, clustered }),
    ...rollup.grainsMs.map((grainMs) => {
      const columns = [...rollup.keys, 'cache_type'].join(', ');
      return `INSERT INTO ${tableOf(rollup, grainMs)} (start_ms, ${columns}, ${firstMeasures.join(', ')})
        SELECT at_ms - at_ms % ${grainMs}, ${columns}, ${sums} FROM usage
        WHERE auth_key_id IS NOT NULL GROUP BY at_ms - at_ms % ${grainMs}, ${columns}`;
    }),
  ]);
}

/**
 * Requests of clients and calls of providers apart. Records of an older gateway do not say of which request they are: each counts as one.
 */
export function countedRequests(): readonly string[] {
  const tables = Object.values(rollups).flatMap((rollup) => rollup.grainsMs.map((grainMs) => tableOf(rollup, grainMs)));
  return [
    'ALTER TABLE usage ADD COLUMN requests BIGINT NOT NULL DEFAULT 1',
    'ALTER TABLE usage ADD COLUMN attempts BIGINT NOT NULL DEFAULT 1',
    "UPDATE usage SET attempts = 0 WHERE cache_type <> ''",
    ...tables.flatMap((table) => [
      `ALTER TABLE ${table} RENAME COLUMN requests TO entries`,
      `ALTER TABLE ${table} ADD COLUMN requests BIGINT NOT NULL DEFAULT 0`,
      `ALTER TABLE ${table} ADD COLUMN attempts BIGINT NOT NULL DEFAULT 0`,
      `UPDATE ${table} SET requests = entries, attempts = CASE WHEN cache_type = '' THEN entries ELSE 0 END`,
    ]),
  ];
}

/** Sums of each minute, which begin with the records that come from then on. */
export function minuteTables(dialect: Dialect): readonly string[] {
  return minuteRollups.map((rollup) => sumTable(rollup, minuteMs, measures, dialect));
}

type Columns = Pick<Dialect, 'text' | 'clustered'>;

function sumTables(rollup: Rollup, dialect: Columns): string[] {
  return rollup.grainsMs.map((grainMs) => sumTable(rollup, grainMs, firstMeasures, dialect));
}

function sumTable(rollup: Rollup, grainMs: number, sums: readonly string[], { text, clustered }: Columns): string {
  const { keys } = rollup;
  const named = keys.map((name) => `${name} ${name === 'auth_key_id' ? text : 'BIGINT'} NOT NULL`).join(', ');
  return `CREATE TABLE ${tableOf(rollup, grainMs)} (start_ms BIGINT NOT NULL, ${named},
    cache_type ${text} NOT NULL, ${sums.map((name) => `${name} BIGINT NOT NULL`).join(', ')},
    PRIMARY KEY (start_ms, ${keys.join(', ')}, cache_type))${clustered}`;
}
