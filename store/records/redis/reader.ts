// Reads the journal in Redis as one of a group: entries of one reader go to another only when the first does not confirm them in time.
import { randomUUID } from 'node:crypto';
import type { RedisConnection } from '../../state/redis/connection.ts';
import { AbsurdAnswer } from '../../state/redis/guard.ts';
import type { RedisKeys } from '../../state/redis/keys.ts';
import type { JournalBatch, JournalReader } from '../journal.ts';
import { deliverScript, forgetConsumersScript, removeScript } from './scripts.ts';

export interface StreamReaderOptions {
  /** After so long without a confirmation, entries that another reader was given are read by this one; default 10,000 ms. */
  readonly idleMs?: number;
}

/** Of one answer: a line of the longest kind and this stay far below the largest one that is taken. */
const batchBytes = 1024 * 1024;
const mostEntries = 10_000;
/** A reader that ended is removed then. */
const forgottenAfterMs = 3_600_000;

/** Operations reject with `StoreUnavailable`. Closes `connection` at its end. */
export function openStreamReader(
  connection: RedisConnection,
  keys: RedisKeys,
  { idleMs = 10_000 }: StreamReaderOptions = {},
): JournalReader {
  const consumer = randomUUID();
  const both = [keys.journal, keys.journalBytes];

  async function next(most: number): Promise<JournalBatch | undefined> {
    const bounds = [Math.min(most, mostEntries), batchBytes, idleMs].map(String);
    const { ids, lines } = delivered(await connection.script(deliverScript, both, [consumer, ...bounds]));
    if (ids.length === 0) return undefined;
    const sizes = lines.map((line) => String(Buffer.byteLength(line)));
    return {
      lines,
      passedOver: 0,
      async acknowledge() {
        const pairs = ids.flatMap((id, index) => [id, sizes[index] ?? '0']);
        await connection.script(removeScript, both, pairs);
      },
    };
  }

  return {
    next,
    async backlog() {
      return Number(await connection.ask(['XLEN', keys.journal]));
    },
    async close() {
      const values = [consumer, String(forgottenAfterMs)];
      await connection.script(forgetConsumersScript, [keys.journal], values).catch(() => undefined);
      await connection.close();
    },
  };
}

function delivered(answer: unknown): { readonly ids: readonly string[]; readonly lines: readonly string[] } {
  if (!Array.isArray(answer) || !answer.every((each) => typeof each === 'string')) {
    throw new AbsurdAnswer('it answered a script with something else');
  }
  const texts: readonly string[] = answer;
  return { ids: texts.filter((_, index) => index % 2 === 0), lines: texts.filter((_, index) => index % 2 === 1) };
}
