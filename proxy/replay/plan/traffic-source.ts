// Where the traffic of a plan comes from: a file, a gateway that runs, or the database of its records. Line by line, so that a day fits into little memory.
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import {
  readTrafficHead,
  readTrafficLine,
  type TrafficHead,
  type TrafficLine,
} from '../../../domain/records/traffic.ts';
import { timestamp } from '../../../domain/timestamp.ts';
import { openRecordStore } from '../../../store/records/open-records.ts';
import type { Span, TrafficCursor, TrafficPage } from '../../../store/records/record-store.ts';

export interface Traffic {
  /** As messages name it. */
  readonly name: string;
  readonly head: TrafficHead;
  readonly lines: AsyncIterable<readonly TrafficLine[]>;
}

/** What is wrong with traffic, and where. */
export class TrafficMistake extends Error {}

/** Entries of a database that are read at once. */
const pageLength = 500;
/** Lines of a file that are handed on at once. */
const batchLength = 500;
const databaseUrl = /^postgres(ql)?:\/\//;

/** `postgresql://…`, a directory with the records of a control plane (its GATEWAY_DATA), or a file of lines, which may end in `.gz`. Rejects with a TrafficMistake. */
export async function openTraffic(source: string, span: Span): Promise<Traffic> {
  if (databaseUrl.test(source)) return ofDatabase({ directory: '.', databaseUrl: source }, 'PostgreSQL', span);
  const found = await stat(source).catch(() => undefined);
  if (found === undefined)
    throw new TrafficMistake(`${source} does not exist: name a file of traffic, a data directory or postgresql://…`);
  if (found.isDirectory()) return ofDatabase({ directory: source }, source, span);
  const file = createReadStream(source);
  return ofStream(source, source.endsWith('.gz') ? file.pipe(createGunzip()) : file);
}

/** Lines of text, the head first. Rejects with a TrafficMistake when the head is none; so does reading on when a line is none. */
export async function ofStream(name: string, stream: Readable): Promise<Traffic> {
  const texts = createInterface({ input: stream, crlfDelay: Number.POSITIVE_INFINITY })[Symbol.asyncIterator]();
  let number = 0;
  const next = async (): Promise<string | undefined> => {
    number += 1;
    try {
      const { value, done } = await texts.next();
      return done === true ? undefined : value;
    } catch (error) {
      throw new TrafficMistake(
        `${name}:${number} cannot be read: ${error instanceof Error ? error.message : String(error)}`,
      );
    }
  };
  const head = readTrafficHead(parse((await next()) ?? ''));
  if (typeof head === 'string') throw new TrafficMistake(`${name}:1 ${head}`);
  return { name, head, lines: lines() };

  async function* lines(): AsyncGenerator<readonly TrafficLine[]> {
    let batch: TrafficLine[] = [];
    for (let text = await next(); text !== undefined; text = await next()) {
      if (text === '') continue;
      const line = readTrafficLine(parse(text));
      if (typeof line === 'string') throw new TrafficMistake(`${name}:${number} ${line}`);
      batch.push(line);
      if (batch.length < batchLength) continue;
      yield batch;
      batch = [];
    }
    if (batch.length > 0) yield batch;
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function ofDatabase(options: Parameters<typeof openRecordStore>[0], name: string, span: Span): Traffic {
  const head = { traffic: 1, from: timestamp(span.fromMs), to: timestamp(span.toMs), share: 1, hashed: false } as const;
  return { name, head, lines: lines() };

  async function* lines(): AsyncGenerator<readonly TrafficLine[]> {
    const store = openRecordStore({ ...options, timeoutMs: 60_000 });
    try {
      const read = (after?: TrafficCursor) => store.traffic({ span, after, most: pageLength, succeeded: 1 });
      // The thread of the store reads the next page while this one is replayed.
      for (let coming: ReturnType<typeof read> | undefined = read(); coming !== undefined; ) {
        const page: TrafficPage = await coming;
        coming = page.next && read(page.next);
        yield page.lines;
      }
    } finally {
      await store.close();
    }
  }
}
