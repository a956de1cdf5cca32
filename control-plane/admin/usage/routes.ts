// The routes of /admin/usage: totals, by time, model, user path, key, label and session, and single records; as JSON, most also as CSV.
import type { FastifyInstance, FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify';
import { bucketsOf, type Days, type Interval, intervals, mostHourlyDays } from '../../../domain/records/buckets.ts';
import { dollars, dollarText } from '../../../domain/records/dollars.ts';
import { invalidQuery } from '../../managed/read-query.ts';
import { readForm } from '../records/form.ts';
import { nothingRecorded, type ReadableRecords } from '../records/nothing-recorded.ts';
import { describeDays } from '../records/read-days.ts';
import { readChoice, readPage } from '../records/read-query.ts';
import { type RowPage, type Table, tableOf } from '../records/table.ts';
import { tableFile, truncatedHeader } from '../records/table-file.ts';
import { storeRefusal } from '../store-refusal.ts';
import { readUsageQuestion, type UsageQuestion } from './read-filter.ts';
import { columns, logEntry, type Money, rowOf, sums, totalSums } from './rows.ts';

export interface UsageParts {
  /** Undefined while usage is not tracked: then all sums are zero. */
  records(): Pick<ReadableRecords, 'usageTotals' | 'usageBuckets' | 'usageBy' | 'usageLog'> | undefined;
  /** Unix milliseconds. */
  readonly nowMs: () => number;
}

type Records = NonNullable<ReturnType<UsageParts['records']>>;
type RecordsFor = (question: UsageQuestion<string>) => Records;
type Row = RowPage['rows'][number];

const usualLimit = 50;
/** The longest list in JSON that has no pages. The most expensive rows are in it. */
const longestList = 10_000;

const route = { exposeHeadRoute: false } as const;
const byDimension = [
  ['models', 'model'],
  ['user-paths', 'user_path'],
  ['keys', 'auth_key_id'],
  ['labels', 'label'],
] as const;

/** A scoped operator sees the usage of its user path and below; of others there is none. */
export const usageRoutes: FastifyPluginAsync<{ readonly parts: UsageParts }> = async (app, { parts }) => {
  const recordsFor: RecordsFor = ({ isSeen }) => (isSeen ? parts.records() : undefined) ?? nothingRecorded;

  app.addHook('onRequest', async (_, reply) => void reply.header('cache-control', 'no-store'));
  app.setErrorHandler((error) => {
    throw storeRefusal(error, 'record store');
  });

  app.get('/admin/usage/summary', route, async (asked) => {
    const question = readUsageQuestion(asked, parts.nowMs());
    const totals = await recordsFor(question).usageTotals(question.filter);
    return { ...describeDays(question.days), ...totalSums(totals, dollars) };
  });

  app.get('/admin/usage/daily', route, async (request, reply) => {
    const question = readUsageQuestion(request, parts.nowMs(), ['interval', 'format']);
    const { given, days, filter } = question;
    const interval = readInterval(given.interval, days);
    const form = readForm(given.format, request.headers.accept);
    const { names, edges } = bucketsOf(days, interval);
    const buckets = await recordsFor(question).usageBuckets(filter, edges);
    const rows = (money: Money) => buckets.map((row) => ({ date: names[row.bucket], ...sums(row, money) }));
    if (form === 'json') return rows(dollars);
    const written = rows(dollarText);
    return sendTable(reply, `usage-${interval}`, days, await tableOf(columns.daily, pagesOf(written)));
  });

  addRows(app, parts, recordsFor);
  addSessions(app, parts, recordsFor);
  addLog(app, parts, recordsFor);
};

/** The routes that list every value of a dimension. */
function addRows(app: FastifyInstance, { nowMs }: UsageParts, recordsFor: RecordsFor): void {
  for (const [name, dimension] of byDimension) {
    app.get(`/admin/usage/${name}`, route, async (request, reply) => {
      const question = readUsageQuestion(request, nowMs(), ['format']);
      const { filter, given, days } = question;
      const form = readForm(given.format, request.headers.accept);
      const records = recordsFor(question);
      if (form === 'json') {
        const { total, rows } = await records.usageBy(filter, dimension, { limit: longestList, offset: 0 });
        reply.headers(truncatedHeader(total > rows.length));
        return rows.map((row) => rowOf(row, dimension, dollars));
      }
      // Rows change their places when they cost more: as many as a list in JSON may have are of one moment.
      const paging = { pageLength: longestList, idOf: (row: Row) => nameOf(row, dimension) };
      const readPageOf = async (page: { limit: number; offset: number }): Promise<RowPage> => {
        const { total, rows } = await records.usageBy(filter, dimension, page);
        return { total, rows: rows.map((row) => rowOf(row, dimension, dollarText) as Row) };
      };
      const table = await tableOf(columns[dimension], readPageOf, paging);
      return sendTable(reply, `usage-${name}`, days, table);
    });
  }
}

/** The identity of a row. */
function nameOf(row: Row, dimension: string): string {
  return JSON.stringify([row[dimension], row['provider'], row['provider_name']]);
}

function addSessions(app: FastifyInstance, { nowMs }: UsageParts, recordsFor: RecordsFor): void {
  app.get('/admin/usage/sessions', route, async (asked) => {
    const question = readUsageQuestion(asked, nowMs(), ['limit', 'offset']);
    const page = readPage(question.given, usualLimit);
    const { total, rows } = await recordsFor(question).usageBy(question.filter, 'session', page);
    return { entries: rows.map((row) => rowOf(row, 'session', dollars)), total, ...page };
  });
}

function addLog(app: FastifyInstance, { nowMs }: UsageParts, recordsFor: RecordsFor): void {
  app.get('/admin/usage/log', route, async (request: FastifyRequest, reply) => {
    const question = readUsageQuestion(request, nowMs(), ['search', 'limit', 'offset', 'format']);
    const { filter, given, days } = question;
    const page = readPage(given, usualLimit);
    const form = readForm(given.format, request.headers.accept);
    const records = recordsFor(question);
    if (form === 'json') {
      const { total, entries } = await records.usageLog(filter, page, given.search);
      return { entries: entries.map((entry) => logEntry(entry, dollars)), total, ...page };
    }
    const table = await tableOf(
      columns.log,
      async (each) => {
        const { total, entries } = await records.usageLog(filter, each, given.search);
        return { total, rows: entries.map((entry) => logEntry(entry, dollarText) as Row) };
      },
      { idOf: ({ id }) => id },
    );
    return sendTable(reply, 'usage-log', days, table);
  });
}

/** Minutes are told one by one, and nothing else is. Throws 400 `invalid_query`. */
function readInterval(given: string | undefined, { first, last, minutes }: Days): Interval {
  const usual = minutes === undefined ? 'daily' : 'minutely';
  const interval = given === undefined ? usual : readChoice('interval', given, intervals);
  if ((interval === 'minutely') !== (minutes !== undefined))
    throw invalidQuery('interval', 'must be minutely where minutes are asked for, and only there');
  if (interval === 'hourly' && last - first >= mostHourlyDays)
    throw invalidQuery('interval', `may be hourly for at most ${mostHourlyDays} days`);
  return interval;
}

/** The pages of rows that are there already. */
function pagesOf(rows: readonly Row[]) {
  return async ({ limit, offset }: { limit: number; offset: number }): Promise<RowPage> => ({
    total: rows.length,
    rows: rows.slice(offset, offset + limit),
  });
}

function sendTable(reply: FastifyReply, name: string, days: Days, table: Table): FastifyReply {
  const { headers, body } = tableFile(name, days, table);
  return reply.headers(headers).send(body);
}
