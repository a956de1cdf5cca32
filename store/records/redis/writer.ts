// The journal of one process in Redis: each portion of lines is one command, and a full journal refuses it.
import type { RedisConnection } from '../../state/redis/connection.ts';
import type { RedisKeys } from '../../state/redis/keys.ts';
import type { LineSink } from '../waiting-lines.ts';
import { appendScript } from './scripts.ts';

export interface StreamBounds {
  /** Of the whole journal, of all processes; default 1,000,000 entries. */
  readonly mostEntries?: number;
  /** Of the lines in it; default 1 GiB: in the memory of Redis they take somewhat more. */
  readonly mostBytes?: number;
}

/** A portion whose answer is lost is sent again, so it may be there twice. Closes `connection` at its end. */
export function streamSink(
  connection: RedisConnection,
  keys: RedisKeys,
  { mostEntries = 1_000_000, mostBytes = 1024 * 1024 * 1024 }: StreamBounds = {},
): LineSink {
  const bounds = [String(mostEntries), String(mostBytes)];
  const full = 'the journal in Redis is full of records that the control plane has not read';
  return {
    async write({ bytes, ends }) {
      const lines = ends.map((end, index) => bytes.subarray(ends[index - 1] ?? 0, end - 1));
      try {
        const answer = await connection.script(appendScript, [keys.journal, keys.journalBytes], [...bounds, ...lines]);
        const count = typeof answer === 'number' ? answer : 0;
        return { count, trouble: count < lines.length ? full : undefined };
      } catch (error) {
        return { count: 0, trouble: `the journal cannot be written: ${(error as Error).message}` };
      }
    },
    close: () => connection.close(),
  };
}
