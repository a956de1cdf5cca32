// Takes a database of records back to the tables of an older gateway.

/** The tables of sums, without what stands before their names. */
export const sumTables = [
  'model_day',
  'model_hour',
  'model_quarter',
  'path_day',
  'path_hour',
  'both_day',
  'label_day',
  'label_hour',
  'key_day',
  'key_hour',
  'key_path_day',
];

/** Before requests and calls of providers were counted apart. SQL statements, which leave the version as it is. */
export function withoutCounts(tables: readonly string[] = sumTables): readonly string[] {
  const sums = tables.map((name) => `usage_by_${name}`);
  return [
    ...['usage', ...sums].flatMap((table) =>
      ['requests', 'attempts'].map((column) => `ALTER TABLE ${table} DROP COLUMN ${column}`),
    ),
    ...sums.map((table) => `ALTER TABLE ${table} RENAME COLUMN entries TO requests`),
  ];
}

const revisionTables = ['content', 'content_file', 'file', 'revision', 'verdict'].map((name) => `config_${name}`);

/** Before there were sums of minutes, revisions of the configuration, and comparisons with mirrors. SQL statements, which leave the version as it is. */
export const withoutMinutes: readonly string[] = [
  ...revisionTables,
  'mirror',
  'pace',
  'usage_by_model_minute',
  'usage_by_path_minute',
].map((table) => `DROP TABLE ${table}`);

/** Before records said who has asked. SQL statements, which leave the version as it is. */
export const withoutAskedBy: readonly string[] = [
  ...withoutMinutes,
  ...['usage_path', 'combo'].map((table) => `ALTER TABLE ${table} DROP COLUMN asked_by`),
  ...['listed', 'complete'].map(
    (form) => `UPDATE entry_data SET ${form} = replace(${form}, '"asked_by":"client",', '')`,
  ),
];
