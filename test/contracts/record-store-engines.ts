// The engines of the record store for the contract suite: how to open one, and how to look into it from outside.
import { DatabaseSync } from 'node:sqlite';
import type { RecordStoreOptions } from '../../store/records/open-records.ts';
import { recordFilePath } from '../../store/records/sqlite/record-file.ts';
import type { PostgresServer } from '../support/postgres.ts';
import { openRecordObjects, type RecordObjects } from '../support/record-objects.ts';
import { type Teardown, temporaryDirectory } from '../support/teardown.ts';

/** One empty store for one test. */
export interface RecordPlace {
  /** Also as JSON, for other processes. */
  readonly options: RecordStoreOptions;
  readonly store: RecordObjects;
  /** Another one on the same records, closed with the test. */
  readonly open: (more?: Partial<RecordStoreOptions>) => RecordObjects;
  /** Runs SQL beside the store. */
  readonly query: (sql: string) => Promise<readonly Record<string, unknown>[]>;
}

export interface RecordEngine {
  readonly name: string;
  start(t: Teardown): Promise<RecordPlace>;
}

export const sqliteRecords: RecordEngine = {
  name: 'SQLite',
  async start(t) {
    const options = { directory: temporaryDirectory(t, 'gateway-records') };
    const query = async (sql: string): Promise<readonly Record<string, unknown>[]> => {
      const database = new DatabaseSync(recordFilePath(options.directory), { timeout: 10_000 });
      const rows = database.prepare(sql).all();
      database.close();
      return rows;
    };
    return { options, ...opener(t, options), query };
  },
};

export function postgresRecords(server: PostgresServer): RecordEngine {
  let database: Promise<string> | undefined;
  return {
    name: 'PostgreSQL',
    async start(t) {
      // To make a database takes the server longer than to make the tables.
      database ??= server.database();
      const databaseUrl = await database;
      await server.query(databaseUrl, 'DROP SCHEMA IF EXISTS gateway_records CASCADE');
      const options = { directory: '/nonexistent', databaseUrl };
      const inSchema = `${databaseUrl}&options=-c%20search_path%3Dgateway_records`;
      const query = (sql: string): ReturnType<RecordPlace['query']> => server.query(inSchema, sql);
      return { options, ...opener(t, options), query };
    },
  };
}

function opener(t: Teardown, options: RecordStoreOptions): Pick<RecordPlace, 'open' | 'store'> {
  const open: RecordPlace['open'] = (more = {}) => {
    const store = openRecordObjects({ ...options, ...more });
    t.teardown(() => store.close());
    return store;
  };
  return { open, store: open() };
}
