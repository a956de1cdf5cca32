// Opens the journal a plane is configured for. The choice of the engine is made only here.
import { type RedisUrl, redisAddress } from '../state/redis/address.ts';
import type { ConnectionSettings } from '../state/redis/client.ts';
import { RedisConnection } from '../state/redis/connection.ts';
import { redisKeys } from '../state/redis/keys.ts';
import { openFileReader } from './file/reader.ts';
import { journalDirectory } from './file/segment-names.ts';
import { type SegmentOptions, segmentSink } from './file/segment-writer.ts';
import type { Journal, JournalReader } from './journal.ts';
import { openStreamReader, type StreamReaderOptions } from './redis/reader.ts';
import { type StreamBounds, streamSink } from './redis/writer.ts';
import { bufferLines, type WaitingOptions } from './waiting-lines.ts';

/** The settings of a plane for its journal. */
export interface JournalSettings {
  readonly dataDirectory: string;
  /** Redis when there is one, otherwise files in the data directory. */
  readonly redisUrl: RedisUrl | undefined;
  readonly redisPrefix: string;
}

/** The address of Redis may be renewed while the process runs; see `RedisStore`. Without Redis that changes nothing. */
export interface Reconnecting {
  readonly reconnect: (redisUrl: RedisUrl, onTrouble: (trouble: Error) => void) => Promise<boolean>;
}

export interface JournalOptions extends WaitingOptions, StreamBounds, Omit<SegmentOptions, 'directory'> {
  /** Deadline of an operation of Redis; default 2,000. */
  readonly timeoutMs?: number;
}

export interface JournalReaderOptions extends StreamReaderOptions {
  /** Deadline of an operation of Redis; default 2,000. */
  readonly timeoutMs?: number;
}

/** The journal of the process that runs as `instance`. Throws a TypeError for what is no address; everything else its status tells. */
export function openJournal(
  { dataDirectory, redisUrl, redisPrefix, instance }: JournalSettings & { readonly instance: string },
  options: JournalOptions = {},
): Journal & Reconnecting {
  if (redisUrl === undefined) {
    const directory = journalDirectory(dataDirectory, instance);
    return { ...bufferLines(segmentSink({ ...options, directory }), options), reconnect: async () => false };
  }
  const { connection, reconnect } = connect(redisUrl, redisPrefix, options.timeoutMs);
  return { ...bufferLines(streamSink(connection, redisKeys(redisPrefix), options), options), reconnect };
}

/** The journals of all processes. Throws a TypeError for what is no address; what is wrong besides is said by its operations. */
export function openJournalReader(
  { dataDirectory, redisUrl, redisPrefix }: JournalSettings,
  options: JournalReaderOptions = {},
): JournalReader & Reconnecting {
  if (redisUrl === undefined) return { ...openFileReader(dataDirectory), reconnect: async () => false };
  const { connection, reconnect } = connect(redisUrl, redisPrefix, options.timeoutMs);
  return { ...openStreamReader(connection, redisKeys(redisPrefix), options), reconnect };
}

/** A connection of its own: portions of records do not delay counters and documents. */
function connect(
  redisUrl: RedisUrl,
  prefix: string,
  timeoutMs = 2_000,
): Reconnecting & { readonly connection: RedisConnection } {
  const settings = (url: RedisUrl): ConnectionSettings => ({ address: redisAddress(url), timeoutMs, prefix });
  const connection = new RedisConnection(settings(redisUrl));
  return { connection, reconnect: async (url, onTrouble) => connection.renew(settings(url), onTrouble) };
}
