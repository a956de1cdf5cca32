// Every operation of the record store, as a function of the statements of one transaction: both engines run these.
import type { Output } from '../../state/sqlite/thread.ts';
import type { RecordStore, SpendQuestion } from '../record-store.ts';
import { type PackedEntries, unpackEntries } from '../written-entries.ts';
import type { Database, Statements } from './database.ts';
import { arrivedEntries } from './read/listed-entries.ts';
import { listEntries } from './read/log-page.ts';
import { findConversation, findEntry } from './read/one-entry.ts';
import { filesOfRevision, listRevisions, packedFiles } from './read/revisions.ts';
import { listSessions } from './read/session-page.ts';
import { readTraffic } from './read/traffic.ts';
import { mirrorReport } from './report/mirrors.ts';
import { auditStats } from './report/stats.ts';
import { listUsage } from './report/usage-log.ts';
import { usageBy } from './report/usage-rows.ts';
import { spendSince } from './report/usage-spend.ts';
import { usageBuckets, usageTotals } from './report/usage-sums.ts';
import { addLines } from './write/add.ts';
import { pruneRecords, relieveRecords } from './write/prune.ts';
import { keepFiles, keepRevision } from './write/revisions.ts';
import { noteVerdicts } from './write/verdicts.ts';

/** Operations that only read: a page never waits for a write. */
export const reads = {
  sessions: listSessions,
  entries: listEntries,
  entry: findEntry,
  conversation: findConversation,
  stats: auditStats,
  arrived: arrivedEntries,
  traffic: readTraffic,
  usageTotals,
  usageBuckets,
  usageBy,
  usageLog: listUsage,
  spend: spendSince,
  mirrors: mirrorReport,
  revisions: listRevisions,
  revisionFiles: filesOfRevision,
  packedFiles,
};

/** Operations that write, one at a time. */
export const writes = {
  add: addLines,
  prune: pruneRecords,
  relieve: relieveRecords,
  keepFiles,
  keepRevision,
  noteVerdicts,
};

/** An operation as callers see it. */
type Called<Work> = Work extends (statements: Statements, ...input: infer Input) => Promise<infer Output>
  ? (...input: Input) => Promise<Output>
  : never;

type Table = typeof reads & typeof writes;
export type OperationName = keyof Table;
type Special = 'spend' | 'entry' | 'conversation' | 'add';
export type Operations = { readonly [Name in Exclude<OperationName, Special>]: Called<Table[Name]> } & Pick<
  RecordStore,
  Special
>;

type AnyWork = (statements: Statements, ...input: never[]) => Promise<unknown>;
export const readNames = Object.keys(reads) as readonly OperationName[];
export const operationNames = [...readNames, ...(Object.keys(writes) as OperationName[])];

/** One operation, by name, with its input as a list. */
export function runOperation(database: Database, name: OperationName, input: readonly unknown[]): Promise<unknown> {
  const table: Readonly<Record<OperationName, AnyWork>> = { ...reads, ...writes };
  const work = table[name];
  const call = (statements: Statements): Promise<unknown> => work(statements, ...(input as never[]));
  return readNames.includes(name) ? database.read(call) : database.write(call, name !== 'add');
}

/** All operations, each done by `run`, which gives JSON and, of entries, their bytes. */
export function operationsBy(
  run: (name: OperationName, input: readonly unknown[], bytes?: Uint8Array) => Promise<Output>,
): Operations {
  const answer = async <Answer>(name: OperationName, ...input: unknown[]): Promise<Answer | undefined> =>
    (JSON.parse((await run(name, input)).output) as Answer | null) ?? undefined;
  const unpacked = async <Facts extends object>(name: OperationName, ...input: unknown[]) => {
    const { output, bytes = noBytes } = await run(name, input);
    const found = JSON.parse(output) as (Facts & Pick<PackedEntries, 'entries'>) | null;
    return found === null ? undefined : { ...found, entries: unpackEntries(found.entries, bytes) };
  };
  const calls = operationNames.map((name) => [name, (...input: unknown[]) => answer(name, ...input)]);
  return {
    ...(Object.fromEntries(calls) as Operations),
    async add(lines) {
      const { output } = await run('add', [], Buffer.from(lines.join('\n')));
      return JSON.parse(output) as Awaited<ReturnType<typeof addLines>>;
    },
    // No map passes between threads as JSON.
    async spend(questions: readonly SpendQuestion[], untilMs?: number) {
      const answers = (await answer<Awaited<ReturnType<typeof spendSince>>>('spend', questions, untilMs)) ?? [];
      return answers.map((amounts) => new Map(amounts));
    },
    entry: async (id) => (await unpacked('entry', id))?.entries[0],
    conversation: (id, most) => unpacked<{ readonly truncated: boolean }>('conversation', id, most),
  };
}

const noBytes = new Uint8Array();

/** The store that `open` gives. */
export type OpenRecordStore = Operations & Pick<RecordStore, 'room' | 'close'>;
