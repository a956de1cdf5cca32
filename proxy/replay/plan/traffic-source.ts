// Where the traffic of a plan comes from: a file, or the database of its records. Line by line, so that a day fits into little memory.
import { createReadStream, existsSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { createGunzip } from 'node:zlib';
import { readTrafficLine, type TrafficLine } from '../../../domain/records/traffic.ts';
import { liveSettingsOf } from '../../../domain/replays/live-settings.ts';
import {
  type LiveSettings,
  momentOf,
  readTrafficHead,
  type SpentBefore,
  type TrafficHead,
} from '../../../domain/replays/traffic-head.ts';
import { trafficLines } from '../../../domain/replays/traffic-lines.ts';
import { timestamp } from '../../../domain/timestamp.ts';
import { isNewFile, openRecordStore } from '../../../store/records/open-records.ts';
import type { Span, TrafficCursor, TrafficPage } from '../../../store/records/record-store.ts';
import type { OpenRecordStore } from '../../../store/records/sql/operations.ts';
import { openStateStore } from '../../../store/state/open.ts';
import { stateFilePath } from '../../../store/state/sqlite/file.ts';

export interface Traffic {
  /** As messages name it. */
  readonly name: string;
  readonly head: TrafficHead;
  begin(needs: Needs): Promise<Begun>;
}

/** What a replay wants of the time before the traffic, as far as its source has it. */
export interface Needs {
  /** The longest window of a limit. Milliseconds. */
  readonly longestMs: number;
  /** The budgets in their windows at a moment. */
  readonly windowsAt: (beginMs: number) => readonly Omit<SpentBefore, 'spent'>[];
}

export interface Begun {
  /** Of the first line; those before the time of the head only fill windows. Unix milliseconds. */
  readonly beginMs: number;
  readonly spent: readonly SpentBefore[];
  readonly lines: AsyncIterable<readonly TrafficLine[]>;
}

/** What is wrong with traffic, and where. */
export class TrafficMistake extends Error {}

/** Entries of a database that are read at once. */
const pageLength = 500;
/** Requests before the traffic fill windows of at most this length. Milliseconds. */
const longestWarmMs = 86_400_000;
const databaseUrl = /^postgres(ql)?:\/\//;

/**
 * `postgresql://…`, a directory with the records of a control plane (its GATEWAY_DATA), or a file of lines, which may end in `.gz`. `nowMs`: Unix
 * milliseconds. Rejects with a TrafficMistake.
 */
export async function openTraffic(source: string, span: Span, nowMs: number): Promise<Traffic> {
  if (databaseUrl.test(source)) return ofDatabase({ directory: '.', databaseUrl: source }, 'PostgreSQL', { span });
  const found = await stat(source).catch(() => undefined);
  if (found === undefined)
    throw new TrafficMistake(`${source} does not exist: name a file of traffic, a data directory or postgresql://…`);
  if (found.isDirectory() && isNewFile({ directory: source }))
    throw new TrafficMistake(`${source} has no records of a control plane: name its GATEWAY_DATA`);
  if (found.isDirectory())
    return ofDatabase({ directory: source }, source, { span, live: await liveIn(source, nowMs) });
  const file = createReadStream(source);
  return ofBytes(source, source.endsWith('.gz') ? file.pipe(createGunzip()) : file);
}

/** Lines of text, the head first. Rejects with a TrafficMistake when the head is none; so does reading on when a line is none. */
async function ofBytes(name: string, bytes: AsyncIterable<Uint8Array>): Promise<Traffic> {
  const texts = trafficLines(bytes)[Symbol.asyncIterator]();
  let number = 0;
  const next = async (): Promise<readonly string[] | undefined> => {
    try {
      const { value, done } = await texts.next();
      return done === true ? undefined : value;
    } catch (error) {
      const { message } = error as Error;
      throw new TrafficMistake(
        error instanceof RangeError ? `${name}${message}` : `${name}:${number + 1} cannot be read: ${message}`,
      );
    }
  };
  const [first = '', ...others] = (await next()) ?? [];
  const head = readTrafficHead(parse(first));
  number = 1;
  if (typeof head === 'string') throw new TrafficMistake(`${name}:1 ${head}`);
  const beginMs = momentOf(head.warm_from ?? head.from);
  return { name, head, begin: async () => ({ beginMs, spent: head.spent ?? [], lines: lines() }) };

  async function* lines(): AsyncGenerator<readonly TrafficLine[]> {
    let lastMs = Number.NEGATIVE_INFINITY;
    for (let batch: readonly string[] | undefined = others; batch !== undefined; batch = await next()) {
      const read: TrafficLine[] = [];
      for (const text of batch) {
        number += 1;
        if (text === '') continue;
        const line = readTrafficLine(parse(text));
        if (typeof line === 'string') throw new TrafficMistake(`${name}:${number} ${line}`);
        if (line.at < lastMs)
          throw new TrafficMistake(
            `${name}:${number} began before the request above it: lines are in the order in which requests began`,
          );
        lastMs = line.at;
        read.push(line);
      }
      yield read;
    }
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** What operators have set, where the state store lies in the same directory; undefined: it does not. */
async function liveIn(directory: string, nowMs: number): Promise<LiveSettings | undefined> {
  if (!existsSync(stateFilePath(directory))) return undefined;
  const store = openStateStore({ directory });
  try {
    return liveSettingsOf((await store.read()).documents, nowMs);
  } finally {
    await store.close();
  }
}

function ofDatabase(
  options: Parameters<typeof openRecordStore>[0],
  name: string,
  { span, live }: { readonly span: Span; readonly live?: LiveSettings | undefined },
): Traffic {
  const [from, to] = [timestamp(span.fromMs), timestamp(span.toMs)];
  const head = { traffic: 1, from, to, share: 1, hashed: false, ...(live === undefined ? {} : { live }) } as const;
  return {
    name,
    head,
    async begin({ longestMs, windowsAt }) {
      const store = openRecordStore({ ...options, timeoutMs: 60_000, reads: 'onwards' });
      const beginMs = span.fromMs - Math.min(longestMs, longestWarmMs);
      const rows = windowsAt(beginMs);
      const questions = rows.map(({ scope, subject, per_child: perChild, window_ms: fromMs }) => {
        return { scope, subject, perChild, fromMs };
      });
      const spends = await store.spend(questions, beginMs).catch(async (error: unknown) => {
        await store.close();
        throw error;
      });
      const spent = rows.map((row, place) => ({ ...row, spent: [...(spends[place] ?? [])] }));
      return { beginMs, spent, lines: linesIn(store, { fromMs: beginMs, toMs: span.toMs }) };
    },
  };
}

async function* linesIn(store: OpenRecordStore, span: Span): AsyncGenerator<readonly TrafficLine[]> {
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
