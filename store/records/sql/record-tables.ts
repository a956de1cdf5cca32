// The tables of audit entries. Lists are answered from small tables that are kept in step with the entries in the same transaction.
import type { Dialect } from './dialect.ts';
import { outcomes } from './write/pace.ts';

/**
 * `combo`: what filters ask for, each combination once, so that a text is looked for in hundreds of rows and not in millions.
 * `stream` in it is -1 where that is not known. The user path is in lower case, because filters compare it so.
 * `thread`: entries of one session; an entry without one is a thread without a row, its number the entry's own, negative.
 * `facet`: entries of one thread with one combo. `last_uid` is the id of the newest one. `first_ms` may be too early once old ones
 * were removed.
 * `tally`: entries of one hour or one day with one combo; `single` of them without a session.
 * `entry_data`: `listed` is the entry as lists show it, `complete` the whole of it, where lists leave something out.
 * `search_block`: a later step removes it.
 */
export function recordTables({ text, countedId, givenId, clustered }: Dialect): readonly string[] {
  return [
    'CREATE TABLE progress (one BIGINT PRIMARY KEY CHECK (one = 1), last_entry BIGINT NOT NULL)',
    'INSERT INTO progress VALUES (1, 0)',
    `CREATE TABLE combo (id ${countedId}, key ${text} NOT NULL UNIQUE, n BIGINT NOT NULL, method ${text} NOT NULL, path ${text} NOT NULL,
       requested_model ${text}, provider ${text}, provider_name ${text}, user_path ${text} NOT NULL, error_type ${text},
       status_code BIGINT NOT NULL, stream BIGINT NOT NULL)`,
    `CREATE TABLE thread (id ${countedId}, key ${text} NOT NULL UNIQUE, n BIGINT NOT NULL, first_ms BIGINT NOT NULL,
       last_ms BIGINT NOT NULL, last_uid ${text} NOT NULL)`,
    'CREATE INDEX thread_last ON thread (last_ms, first_ms)',
    `CREATE TABLE facet (thread BIGINT NOT NULL, combo BIGINT NOT NULL, n BIGINT NOT NULL, first_ms BIGINT NOT NULL,
       last_ms BIGINT NOT NULL, last_uid ${text} NOT NULL, PRIMARY KEY (thread, combo))${clustered}`,
    'CREATE INDEX facet_last ON facet (last_ms, first_ms, combo, thread)',
    'CREATE INDEX facet_combo ON facet (combo, last_ms, thread)',
    `CREATE TABLE tally (grain_ms BIGINT NOT NULL, start_ms BIGINT NOT NULL, combo BIGINT NOT NULL, n BIGINT NOT NULL,
       single BIGINT NOT NULL, duration_ns DOUBLE PRECISION NOT NULL, PRIMARY KEY (grain_ms, start_ms, combo))${clustered}`,
    `CREATE TABLE entry (id ${givenId}, uid ${text} NOT NULL, started_ms BIGINT NOT NULL, duration_ns BIGINT NOT NULL,
       thread BIGINT NOT NULL, combo BIGINT NOT NULL, request_id ${text} NOT NULL, error_message ${text})`,
    'CREATE UNIQUE INDEX entry_uid ON entry (uid)',
    'CREATE INDEX entry_started ON entry (started_ms, combo)',
    'CREATE INDEX entry_combo ON entry (combo, started_ms)',
    'CREATE INDEX entry_thread ON entry (thread, started_ms, combo) WHERE thread > 0',
    'CREATE INDEX entry_single ON entry (started_ms, combo) WHERE thread < 0',
    `CREATE TABLE entry_data (id ${givenId}, listed ${text} NOT NULL, complete ${text})`,
    `CREATE TABLE search_block (first_entry ${givenId}, last_entry BIGINT NOT NULL, words ${text} NOT NULL, hex ${text} NOT NULL)`,
  ];
}

/**
 * The tables of the search for free text, instead of blocks of text. `search_segment`: some thousand entries whose
 * numbers follow each other. `search_gram`: the entries in which three characters follow each other, `source` 0: in the
 * entry, 1: in its session.
 */
export function searchTables({ text, givenId, clustered }: Dialect): readonly string[] {
  return [
    'DROP TABLE search_block',
    `CREATE TABLE search_segment (first_entry ${givenId}, last_entry BIGINT NOT NULL, first_ms BIGINT NOT NULL,
       last_ms BIGINT NOT NULL)`,
    `CREATE TABLE search_gram (segment BIGINT NOT NULL, source BIGINT NOT NULL, gram ${text} NOT NULL, places ${text} NOT NULL,
       PRIMARY KEY (segment, source, gram))${clustered}`,
  ];
}

/**
 * `pace`: what requests of a user path and below it were like in one minute or hour; `duration`, `first_byte`: see `TimeSteps`. `path` is
 * a short name of the path. `answered`: a list of `Answered`, of minutes. Those of minutes are removed after some hours, those of hours
 * with the entries.
 */
export function paceTables({ text, clustered }: Dialect): readonly string[] {
  return [
    `CREATE TABLE pace (path ${text} NOT NULL, grain_ms BIGINT NOT NULL, start_ms BIGINT NOT NULL,
       ${outcomes.map((name) => `${name} BIGINT NOT NULL`).join(', ')}, duration ${text} NOT NULL, first_byte ${text} NOT NULL,
       answered ${text} NOT NULL, PRIMARY KEY (path, grain_ms, start_ms))${clustered}`,
    'CREATE INDEX pace_start ON pace (grain_ms, start_ms)',
  ];
}
