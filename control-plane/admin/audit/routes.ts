// The routes of /admin/audit: sessions, entries, one entry, its conversation, statistics (spec: Audit sessions).
import { Readable } from 'node:stream';
import type { FastifyPluginAsync, FastifyReply } from 'fastify';
import { mayDo } from '../../../domain/keys/role.ts';
import type { AuditEntry } from '../../../domain/records/audit-entry.ts';
import { testOfEntry } from '../../../gitops/config-tests/test-of-entry.ts';
import { listedEntry } from '../../../store/records/sql/read/entry-forms.ts';
import { isInScope } from '../../authenticate.ts';
import { refusal } from '../../errors.ts';
import { invalidQuery } from '../../managed/read-query.ts';
import { nothingRecorded, type ReadableRecords } from '../records/nothing-recorded.ts';
import { dayNames, describeDays, readDays } from '../records/read-days.ts';
import { readFilled, readUserPath, readWhole } from '../records/read-query.ts';
import { tableFile } from '../records/table-file.ts';
import { storeRefusal } from '../store-refusal.ts';
import { entryTable } from './entry-table.ts';
import { readEntryQuestion, readSessionQuestion } from './read-filter.ts';
import { describeStats, edgesOf } from './stats.ts';

export interface AuditParts {
  /** Undefined while the audit log is off: then there are no entries. */
  records(): Pick<ReadableRecords, 'sessions' | 'entries' | 'entry' | 'conversation' | 'stats'> | undefined;
  /** Unix milliseconds. */
  readonly nowMs: () => number;
}

const usualConversation = 40;
const longestConversation = 200;
const comma = Buffer.from(',');
/** A closing brace. */
const closing = 0x7d;

const route = { exposeHeadRoute: false } as const;

/** A scoped operator sees the entries of its user path and below; others are as if they were not there. */
export const auditRoutes: FastifyPluginAsync<{ readonly parts: AuditParts }> = async (app, { parts }) => {
  const recorded = () => parts.records() ?? nothingRecorded;
  /** Undefined: the operator may see nothing of what is asked for. */
  const recordedFor = (asked: string | object | undefined) => (asked === undefined ? nothingRecorded : recorded());

  // Entries may hold what people have written.
  app.addHook('onRequest', async (_, reply) => void reply.header('cache-control', 'no-store'));
  app.setErrorHandler((error) => {
    throw storeRefusal(error, 'record store');
  });

  app.get('/admin/audit/sessions', route, async (asked) => {
    const { filter, page } = readSessionQuestion(asked, parts.nowMs());
    const { sessions, total } = await recordedFor(filter).sessions(filter ?? {}, page);
    const { limit, offset } = page;
    return { sessions, total, limit, offset };
  });

  app.get('/admin/audit/log', route, async (asked, reply) => {
    const { filter, page, days, form } = readEntryQuestion(asked, parts.nowMs());
    const records = recordedFor(filter);
    if (form === 'csv') {
      const { headers, body } = tableFile('requests', days, await entryTable(records, filter ?? {}));
      return reply.headers(headers).send(body);
    }
    const { entries, total } = await records.entries(filter ?? {}, page);
    return { entries, total, ...page };
  });

  app.get('/admin/audit/detail', route, async ({ query, operator }, reply) => {
    const id = readId(readFilled(query, ['log_id']).log_id);
    const entry = await recorded().entry(id);
    if (entry === undefined || !isInScope(operator, entry.userPath)) throw unknownEntry(id);
    return sendJson(reply, withTest(mayDo(operator.role, 'operator') ? entry.json : withoutBodies(entry.json)));
  });

  app.get('/admin/audit/conversation', route, async ({ query, operator }, reply) => {
    const { log_id, limit } = readFilled(query, ['log_id', 'limit']);
    const id = readId(log_id);
    const most = limit === undefined ? usualConversation : readWhole('limit', limit, [1, longestConversation]);
    const found = await recorded().conversation(id, most);
    const isSeen = found?.entries.some((entry) => entry.id === id && isInScope(operator, entry.userPath));
    if (found === undefined || isSeen !== true) throw unknownEntry(id);
    const entries = found.entries.filter(({ userPath }) => isInScope(operator, userPath));
    return sendJson(reply, [
      Buffer.from(`{"anchor_id":${JSON.stringify(id)},"entries":[`),
      ...entries.flatMap(({ json }, index) => (index === 0 ? [json] : [comma, json])),
      Buffer.from(`],"truncated":${found.truncated}}`),
    ]);
  });

  app.get('/admin/audit/stats', route, async ({ query, headers, operator }) => {
    const given = readFilled(query, [...dayNames, 'user_path']);
    const days = readDays(given, headers, parts.nowMs());
    const userPath = readUserPath(given.user_path, operator);
    const { interval, edges } = edgesOf(days);
    const stats = await recordedFor(userPath).stats({ userPath: userPath ?? operator.userPath }, edges);
    return { ...describeDays(days), interval, ...describeStats(stats, interval) };
  });
};

/** With a test of the configuration that expects what became of the request. */
function withTest(json: Uint8Array): readonly Uint8Array[] {
  const test = testOfEntry(JSON.parse(Buffer.from(json).toString('utf8')) as AuditEntry);
  if (test === undefined) return [json];
  return [json.subarray(0, json.lastIndexOf(closing)), Buffer.from(`,"as_test":${JSON.stringify(test)}}`)];
}

/** What people and models have said is not for viewers. The changes of operators stay: they hold no words of others. */
function withoutBodies(json: Uint8Array): Uint8Array {
  const entry = JSON.parse(Buffer.from(json).toString('utf8')) as AuditEntry;
  return entry.data.event_type === undefined ? Buffer.from(JSON.stringify(listedEntry(entry))) : json;
}

/** An answer that is JSON already, in pieces. */
function sendJson(reply: FastifyReply, pieces: readonly Uint8Array[]): FastifyReply {
  const length = pieces.reduce((sum, piece) => sum + piece.length, 0);
  const headers = { 'content-type': 'application/json; charset=utf-8', 'content-length': length };
  return reply.headers(headers).send(Readable.from(pieces));
}

function readId(id: string | undefined): string {
  if (id === undefined || id === '') throw invalidQuery('log_id', 'is required: the id of an entry');
  return id;
}

function unknownEntry(id: string): Error {
  return refusal('audit_entry_not_found', { param: 'log_id', fill: { id } });
}
