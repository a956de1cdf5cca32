// Keeps a batch of records: audit entries, what lists are answered from, and usage records, in one transaction.
import type { RequestRecord } from '../../../../domain/records/request-record.ts';
import { readRecords } from '../../read-record.ts';
import type { AddedRecords } from '../../record-store.ts';
import type { Insertion, Statements } from '../database.ts';
import { plainMoment, plainText, plainTextOrNull, wholeNumber } from '../plain-values.ts';
import { completeEntry, listedEntry } from '../read/entry-forms.ts';
import { fillSegments } from '../search/search-segments.ts';
import { countCombos } from './combos.ts';
import { insertMirrors } from './mirrors.ts';
import { type AuditedRecord, type Extent, extend, isAudited, type NewEntry } from './new-entry.ts';
import { addPace } from './pace.ts';
import { tally } from './tallies.ts';
import { extendFacets, extendThreads } from './threads.ts';
import { insertUsage } from './usage-insert.ts';

const entryRows: Insertion = {
  table: 'entry',
  columns: {
    id: 'BIGINT',
    uid: 'TEXT',
    started_ms: 'BIGINT',
    duration_ns: 'BIGINT',
    thread: 'BIGINT',
    combo: 'BIGINT',
    request_id: 'TEXT',
    error_message: 'TEXT',
  },
};

const dataRows: Insertion = { table: 'entry_data', columns: { id: 'BIGINT', listed: 'TEXT', complete: 'TEXT' } };

/** `lines` of the journal, in UTF-8, with line breaks between them; see `RecordStore`. */
export async function addLines(statements: Statements, lines: Uint8Array): Promise<AddedRecords> {
  const { records, unreadable } = readRecords(new TextDecoder().decode(lines).split('\n'));
  return { added: records.length === 0 ? 0 : await addRecords(statements, records), unreadable };
}

/**
 * Each id once, whether it comes again in this batch or in another one. Gives how many records there was something new of.
 */
async function addRecords(statements: Statements, records: readonly RequestRecord[]): Promise<number> {
  const unique = [...new Map(records.map((record) => [plainText(record.id), record])).values()];
  const added = await addEntries(statements, unique.filter(isAudited));
  for (const id of await insertUsage(statements, unique)) added.add(id);
  for (const id of await insertMirrors(statements, unique)) added.add(id);
  await addPace(
    statements,
    unique.filter(({ id }) => added.has(plainText(id))),
  );
  return added.size;
}

/** Gives the ids of those that are new. */
async function addEntries(statements: Statements, records: readonly AuditedRecord[]): Promise<Set<string>> {
  const uids = records.map(({ id }) => plainText(id));
  const isKnown = statements.dialect.isOneOf('uid', 'TEXT');
  const known = await statements.all(`SELECT uid FROM entry WHERE ${isKnown}`, uids);
  const stored = new Set(known.map(({ uid }) => String(uid)));
  const fresh = records.filter(({ id }) => !stored.has(plainText(id)));
  if (fresh.length === 0) return new Set();
  const entries = await placeEntries(statements, fresh);
  await insertEntries(statements, entries);
  await extendFacets(statements, entries);
  await tally(statements, entries, 1);
  await fillSegments(statements, entries.at(-1)?.id ?? 0);
  return new Set(entries.map(({ uid }) => uid));
}

/** Numbers them, in the order in which they came, and finds their threads and combos. */
async function placeEntries(statements: Statements, records: readonly AuditedRecord[]): Promise<NewEntry[]> {
  const raised = 'UPDATE progress SET last_entry = last_entry + ? RETURNING last_entry';
  const [progress] = await statements.all(raised, records.length);
  const before = Number(progress?.['last_entry']) - records.length;
  const combos = await countCombos(statements, records);
  const extents = new Map<string, Extent>();
  for (const { session_id = '', started_ms, id } of records)
    if (session_id !== '') extend(extents, plainText(session_id), plainMoment(started_ms), plainText(id));
  const threads = await extendThreads(statements, extents);
  return records.map((record, index) => {
    const id = before + index + 1;
    return {
      id,
      uid: plainText(record.id),
      startedMs: plainMoment(record.started_ms),
      durationNs: wholeNumber(record.duration_ns),
      thread: threads.get(plainText(record.session_id ?? '')) ?? -id,
      combo: combos.get(record) ?? 0,
      record,
    };
  });
}

async function insertEntries(statements: Statements, entries: readonly NewEntry[]): Promise<void> {
  const rows = entries.map(({ id, uid, startedMs, durationNs, thread, combo, record }) => [
    id,
    uid,
    startedMs,
    durationNs,
    thread,
    combo,
    plainText(record.request_id),
    plainTextOrNull(record.data.error_message),
  ]);
  await statements.insert(entryRows, rows);
  const data = entries.map(({ id, record }) => {
    const complete = completeEntry(record, record.data);
    const listed = listedEntry(complete);
    return [id, JSON.stringify(listed), complete === listed ? null : JSON.stringify(complete)];
  });
  await statements.insert(dataRows, data);
}
