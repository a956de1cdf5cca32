// `npm run bench -- --records`: fills the record store on both engines, then asks for each page many times.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { AuditEntry } from '../../domain/records/audit-entry.ts';
import type { RequestRecord } from '../../domain/records/request-record.ts';
import type { RecordStoreOptions } from '../../store/records/open-records.ts';
import { openPostgres } from '../../store/records/postgres/pool.ts';
import type { Database } from '../../store/records/sql/database.ts';
import { RecordFile } from '../../store/records/sqlite/record-file.ts';
import { type PostgresServer, startPostgres } from '../support/postgres.ts';
import { openRecordObjects, type RecordObjects } from '../support/record-objects.ts';
import type { Options } from './options.ts';
import { type RecordLoad, recordBatches } from './record-load.ts';
import { indexesOf } from './record-plans.ts';
import { type Findable, type RecordQuery, recordQueries } from './record-queries.ts';
import { progress, type Session, say } from './session.ts';
import { renderTable } from './table.ts';
import { usageBatches, usageQueries } from './usage-load.ts';

/** What a page, and a report of usage, may take at the 95th percentile, and how many records are to be kept in a second on SQLite. */
export const RECORD_TARGETS = { pageMs: 100, reportMs: 200, recordsPerSecond: 15_000 };

/** As the control plane adds them. */
const batchSize = 500;
const endMs = Date.UTC(2026, 5, 30, 12);
const timeoutMs = 60_000;
const dayMs = 86_400_000;

interface Subject {
  readonly name: string;
  readonly options: RecordStoreOptions;
  readonly database: () => Database & { close(): unknown };
  /** EXPLAIN, and what an index is called in its answer. */
  readonly explain: string;
  /** As the engine does by itself in the background. */
  readonly settle: () => Promise<unknown>;
}

/** Prints as it goes, for it takes minutes. */
export async function measureRecords({ folder }: Session, { entries, rounds = 30 }: Options): Promise<void> {
  const undoing: (() => unknown)[] = [];
  const server = await startPostgres({ teardown: (undo) => undoing.unshift(undo) });
  try {
    for (const content of contentsOf(entries))
      for (const subject of await subjectsOf(server, join(folder, content.name)))
        await measure(subject, content, rounds);
    const { pageMs, reportMs, recordsPerSecond } = RECORD_TARGETS;
    say(
      `targets: pages ≤ ${pageMs} ms, reports of usage ≤ ${reportMs} ms at p95, SQLite keeps ≥ ${recordsPerSecond} records/s`,
    );
  } finally {
    for (const undo of undoing) await undo();
  }
}

/** What a store is filled with, and what it is asked then. */
interface Content {
  readonly name: string;
  readonly batches: () => Iterable<readonly RequestRecord[]>;
  readonly queries: (store: RecordObjects) => Promise<readonly RecordQuery[]>;
}

function contentsOf(entries: number): readonly Content[] {
  const load: RecordLoad = { entries, threads: Math.ceil(entries / 5), days: 30, endMs };
  return [
    {
      name: 'entries',
      batches: () => recordBatches(load, batchSize),
      queries: async (store) => recordQueries(endMs, await findable(store)),
    },
    {
      name: 'usage',
      batches: () => usageBatches(entries, endMs, batchSize),
      queries: async () => usageQueries(endMs),
    },
  ];
}

async function subjectsOf(server: PostgresServer, folder: string): Promise<readonly Subject[]> {
  mkdirSync(folder);
  const databaseUrl = await server.database();
  return [
    {
      name: 'SQLite',
      options: { directory: folder, timeoutMs },
      database: () => new RecordFile(folder, timeoutMs),
      explain: 'EXPLAIN QUERY PLAN',
      settle: async () => undefined,
    },
    {
      name: 'PostgreSQL',
      options: { directory: folder, databaseUrl, timeoutMs },
      database: () => openPostgres({ databaseUrl, timeoutMs }),
      explain: 'EXPLAIN',
      settle: () => server.query(databaseUrl, 'VACUUM ANALYZE'),
    },
  ];
}

async function measure(subject: Subject, { name, batches, queries }: Content, rounds: number): Promise<void> {
  const store = openRecordObjects(subject.options);
  const { kept, perSecond } = await fill(store, batches());
  say(`${subject.name}, ${name}: ${kept} records in batches of ${batchSize}, ${perSecond.toFixed(0)} records/s`);
  const database = subject.database();
  await subject.settle();
  const rows = [['page', '', 'p50 ms', 'p95 ms']];
  const plans: string[][] = [];
  for (const query of await queries(store)) {
    progress(`${subject.name}: ${query.operation} ${query.name}`);
    const times = await timesOf(store, query, rounds);
    rows.push([query.operation, query.name, at(times, 0.5).toFixed(1), at(times, 0.95).toFixed(1)]);
    const plan = await indexesOf(database, query, subject.explain);
    plans.push([`${query.operation} ${query.name}`, plan.join(' ')]);
  }
  progress('');
  await store.close();
  await database.close();
  say(`${renderTable(rows)}\n\nindexes, and tables that are read as a whole:\n${renderTable(plans)}\n`);
}

/** Gives how many were kept, and how many per second, without the time that making them took. */
async function fill(
  store: RecordObjects,
  batches: Iterable<readonly RequestRecord[]>,
): Promise<{ readonly kept: number; readonly perSecond: number }> {
  let spentMs = 0;
  let kept = 0;
  for (const batch of batches) {
    const beganMs = performance.now();
    kept += await store.add(batch);
    spentMs += performance.now() - beganMs;
    if (kept % 50_000 < batchSize) progress(`${kept} records kept`);
  }
  return { kept, perSecond: (kept / spentMs) * 1_000 };
}

/** Entries of sessions of several days. */
async function findable(store: RecordObjects): Promise<readonly Findable[]> {
  const isHex = ({ request_id: requestId }: AuditEntry): boolean => !requestId.startsWith('req_');
  const found: Findable[] = [];
  for (let day = 1; day < 30; day += 3) {
    const span = { fromMs: endMs - (day + 1) * dayMs, toMs: endMs - day * dayMs };
    const { sessions } = await store.sessions({ stream: true, span }, { limit: 100, offset: 50 });
    const latest = sessions.find((each) => each.latest.session_id !== undefined && isHex(each.latest))?.latest;
    if (latest !== undefined)
      found.push({ id: latest.id, requestId: latest.request_id, sessionId: latest.session_id ?? '' });
  }
  if (found.length === 0) throw new Error('no session was found among what was kept');
  return found;
}

/** Rising. Milliseconds. */
async function timesOf(store: RecordObjects, { operation, inputs }: RecordQuery, rounds: number): Promise<number[]> {
  const call = store[operation] as (...values: readonly unknown[]) => Promise<unknown>;
  const times: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const beganMs = performance.now();
    await call(...(inputs[round % inputs.length] ?? []));
    times.push(performance.now() - beganMs);
  }
  return times.sort((a, b) => a - b);
}

function at(sorted: readonly number[], share: number): number {
  return sorted[Math.min(Math.floor(sorted.length * share), sorted.length - 1)] ?? Number.NaN;
}
