// GET /admin/traffic: the requests of a time as a plan replays them, a line each, without bodies.
import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import type { FastifyPluginAsync } from 'fastify';
import type { TrafficLine } from '../../../domain/records/traffic.ts';
import type { TrafficHead } from '../../../domain/replays/traffic-head.ts';
import { timestamp } from '../../../domain/timestamp.ts';
import { parseMoment } from '../../../schemas/formats/moment.ts';
import type { RecordStore, Span } from '../../../store/records/record-store.ts';
import { isScoped, type Operator } from '../../authenticate.ts';
import { refusal } from '../../errors.ts';
import { invalidQuery } from '../../managed/read-query.ts';
import { nothingRecorded, type ReadableRecords } from '../records/nothing-recorded.ts';
import { readChoice, readFilled } from '../records/read-query.ts';
import { storeRefusal } from '../store-refusal.ts';
import { type AroundParts, readAround } from './around.ts';

export interface TrafficRouteParts {
  /** Undefined while nothing is recorded. */
  records(): Pick<ReadableRecords, 'traffic' | 'spend'> | undefined;
  /** The share of the requests that went well which the audit log keeps, 0 to 1. */
  readonly sample: () => number;
  readonly around: AroundParts;
  /** Unix milliseconds. */
  readonly nowMs: () => number;
}

const usualMs = 86_400_000;
/** Entries that are read at once, and how many such readings may be open. */
const pageLength = 2_000;
const mostOpen = 8;

export const trafficRoutes: FastifyPluginAsync<{ readonly parts: TrafficRouteParts }> = async (app, { parts }) => {
  let open = 0;
  app.addHook('onRequest', async (_, reply) => void reply.header('cache-control', 'no-store'));
  app.setErrorHandler((error) => {
    throw storeRefusal(error, 'record store');
  });

  app.get('/admin/traffic', { exposeHeadRoute: false }, async ({ query, operator }, reply) => {
    const { span, share, isWhole } = readQuestion(query, parts.nowMs());
    if (open >= mostOpen)
      throw refusal('too_many_exports', { fill: { count: open }, headers: { 'retry-after': '10' } });
    open += 1;
    let isOpen = true;
    const close = (): void => {
      if (isOpen) open -= 1;
      isOpen = false;
    };
    const records = parts.records() ?? nothingRecorded;
    try {
      // A store that does not answer is told by a status.
      const { beginMs, ...around } =
        isWhole && !isScoped(operator)
          ? await readAround(parts.around, records, { fromMs: span.fromMs, nowMs: parts.nowMs() })
          : { beginMs: span.fromMs };
      const read = { fromMs: beginMs, toMs: span.toMs };
      const pages = pagesOf(records, { span: read, operator, succeeded: parts.sample() });
      const first = await pages.next();
      const head = {
        traffic: 1,
        from: timestamp(span.fromMs),
        to: timestamp(span.toMs),
        share,
        hashed: false,
        ...around,
      } as const;
      const body = Readable.from(texts(head, first, pages));
      // Also of a client that leaves.
      body.once('close', close);
      return await reply.type('application/x-ndjson; charset=utf-8').send(body);
    } catch (error) {
      close();
      throw error;
    }
  });
};

type Pages = AsyncGenerator<readonly TrafficLine[], void>;

async function* pagesOf(
  records: Pick<RecordStore, 'traffic'>,
  { span, operator, succeeded }: { readonly span: Span; readonly operator: Operator; readonly succeeded: number },
): Pages {
  const { userPath } = operator;
  let after: Awaited<ReturnType<RecordStore['traffic']>>['next'];
  do {
    const page = await records.traffic({ span, after, most: pageLength, userPath, succeeded });
    yield page.lines;
    after = page.next;
  } while (after !== undefined);
}

async function* texts(
  head: TrafficHead,
  first: IteratorResult<readonly TrafficLine[], void>,
  rest: Pages,
): AsyncGenerator<string> {
  const write = (lines: readonly TrafficLine[]): string =>
    lines
      .filter(({ id }) => isSampled(id, head.share))
      .map((line) => `${JSON.stringify(line)}\n`)
      .join('');
  yield `${JSON.stringify(head)}\n`;
  if (first.done !== true) yield write(first.value);
  for await (const lines of rest) yield write(lines);
}

/** The same requests at every export. */
function isSampled(id: string, share: number): boolean {
  return share === 1 || createHash('sha256').update(id).digest().readUInt32BE(0) / 2 ** 32 < share;
}

interface Question {
  readonly span: Span;
  readonly share: number;
  /** With what stands around: see `readAround`. */
  readonly isWhole: boolean;
}

function readQuestion(query: unknown, nowMs: number): Question {
  const { from, to, share = '1', around = 'false' } = readFilled(query, ['from', 'to', 'share', 'around']);
  const toMs = to === undefined ? Math.floor(nowMs) : momentOf('to', to);
  const fromMs = from === undefined ? toMs - usualMs : momentOf('from', from);
  if (fromMs >= toMs) throw invalidQuery('from', 'must be before to');
  const part = /^(0?\.\d{1,6}|1(\.0+)?)$/.test(share) ? Number(share) : 0;
  if (part === 0) throw invalidQuery('share', 'must be a number above 0, at most 1, such as 0.1');
  return { span: { fromMs, toMs }, share: part, isWhole: readChoice('around', around, ['true', 'false']) === 'true' };
}

function momentOf(name: string, text: string): number {
  const moment = parseMoment(text);
  if (moment === undefined) throw invalidQuery(name, 'must be a moment, such as 2026-03-31T00:00:00Z');
  return moment;
}
