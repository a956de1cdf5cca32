// The journal as both planes see it: proxies append records, the control plane reads them into the record store. Two engines keep this contract.
import type { RecordLine } from './record-line.ts';

/** Counts of records so far, for metrics and the log. */
export interface JournalStatus {
  /** Accepted, and not yet on disk or in Redis. */
  readonly waitingRecords: number;
  readonly waitingBytes: number;
  /** Accepted since the start. */
  readonly appendedRecords: number;
  /** Given up, because the journal could not take them for too long or before it was closed, or they were too long. */
  readonly droppedRecords: number;
  /** The present problem, as a sentence; undefined: none. */
  readonly trouble: string | undefined;
}

/**
 * The end of the journal that a process appends to. Neither operation fails or waits for what lies below it: what cannot be written is held
 * up to a bound, then the newest is dropped, counted, and told.
 */
export interface Journal {
  /** Takes the line of one record, up to 4 MiB, without a line break; bytes are copied. Returns at once; it is written within the flush interval. */
  append(line: RecordLine): void;
  status(): JournalStatus;
  /** Takes nothing more, and writes what waits, for a few seconds at most; what is left then is dropped. */
  close(): Promise<void>;
}

/** Lines as they lie in the journal, in the order in which their process wrote them. */
export interface JournalBatch {
  /** Not yet read: some may be no records, after a crash or a full disk. */
  readonly lines: readonly string[];
  /** Lines that were too long. */
  readonly passedOver: number;
  /**
   * Removes them from the journal: they are stored. Until then they come again: with the next call of `next`, or in another process. When
   * it rejects they come again too. Even after it some may, when a writer had no answer about them or two processes read at once: the store
   * keeps each id once.
   */
  acknowledge(): Promise<void>;
}

/** The end of the journal that the control plane reads: of every process that appends. */
export interface JournalReader {
  /**
   * The next records, at most about `most` and one MiB, or one longer record; undefined: there are none now. Rejects when the journal cannot
   * be read; a part that cannot be read is told when the others are empty. One call at a time.
   */
  next(most: number): Promise<JournalBatch | undefined>;
  /** Records that wait to be read, as far as that is known without reading them: bytes or entries, for a metric. */
  backlog(): Promise<number>;
  close(): Promise<void>;
}
