// The operations of shared limits on their file, each a transaction: the book, and the notices between processes.
import { randomUUID } from 'node:crypto';
import type {
  AttachAnswer,
  AttachMessage,
  DetachMessage,
  ExchangeMessage,
  LimitNotice,
  LimitView,
} from '../../../domain/limits/exchange.ts';
import { attach, detach, exchange, isNewer, look } from '../limits/book.ts';
import { identityOf } from './database-file.ts';
import { failure } from './failure.ts';
import { limitFile, type SqliteLimitTables } from './limit-file.ts';
import type { ExchangeOutput, LookInput, SaidInput } from './limit-messages.ts';
import { Listening } from './listening.ts';
import type { SpareFile } from './spare-file.ts';

const empty: LimitView = { used: 0, held: 0, oldest: -1, newest: -1, sessions: [] };

/** Every method throws `StoreUnavailable`. */
export class LimitDesk {
  readonly #file: SpareFile<SqliteLimitTables>;
  /** This process, as the writer of notices. */
  readonly #writer = randomUUID();
  readonly #listening = new Listening();
  /** Up to which notice all have been read, and the data version when they were looked for last. */
  #read = { notice: 0, dataVersion: -1 };

  /** `busyMs`: how long a statement waits for a lock of another process. */
  constructor(directory: string, busyMs: number) {
    this.#file = limitFile(directory, busyMs);
  }

  /** Which file it is: messages must name it. */
  open(): string {
    return this.#file.use((tables, identity) => {
      this.#read = { notice: tables.lastNotice(), dataVersion: -1 };
      return inodeOf(identity);
    });
  }

  attach({ message, ...said }: SaidInput<AttachMessage>): AttachAnswer {
    const answer = this.#onFile(said, (tables, clockMs) => attach(tables, message, clockMs));
    // A session that goes on still holds what it held.
    if (answer.former !== 'known') this.#listening.begin();
    return answer;
  }

  exchange({ message, ...said }: SaidInput<ExchangeMessage>): ExchangeOutput {
    return this.#onFile(said, (tables, clockMs) => {
      const notices: LimitNotice[] = [];
      const answer = exchange(tables, message, clockMs, (notice) => notices.push(notice));
      for (const notice of notices) tables.tell(this.#writer, notice);
      if (message.beat) tables.sweep();
      if (answer.status === 'done') this.#listening.take(message, answer);
      return { answer, notices };
    });
  }

  detach({ message, ...said }: SaidInput<DetachMessage>): null {
    this.#onFile(said, (tables, clockMs) => detach(tables, message, clockMs));
    return null;
  }

  /** Makes no file. */
  look({ keys, clockMs }: LookInput): LimitView[] {
    if (identityOf(this.#file.path) === undefined) return keys.map(() => empty);
    return this.#file.use((tables) =>
      tables.transact(() => keys.map((key) => look(tables, key, clockMs ?? tables.clockMs()))),
    );
  }

  /** Those of other processes since the last call. */
  notices(): LimitNotice[] {
    return this.#file.use((tables) => {
      // Others write meanwhile: what comes behind this one is read next time.
      const last = tables.lastNotice();
      const found = tables.noticesBetween(this.#read.notice, last, this.#writer);
      this.#read = { ...this.#read, notice: last };
      return found;
    });
  }

  /** Whether there are notices to read; it looks only while they can concern this process. Asked every `passedMs`. */
  hasNotices(passedMs: number): boolean {
    if (!this.#listening.isNeeded(passedMs)) return false;
    return this.#file.use((tables) => {
      // Own changes do not show in it.
      const dataVersion = tables.dataVersion();
      if (dataVersion === this.#read.dataVersion) return false;
      this.#read = { ...this.#read, dataVersion };
      return tables.lastNotice() > this.#read.notice;
    });
  }

  close(): void {
    this.#file.close();
  }

  /** Another file in the place of the one that was attached to is refused: its sessions are others. */
  #onFile<Result>(
    { server, clockMs }: Omit<SaidInput, 'message'>,
    work: (tables: SqliteLimitTables, clockMs: number) => Result,
  ): Result {
    return this.#file.use((tables, identity) => {
      const { path } = this.#file;
      if (inodeOf(identity) !== server) {
        throw failure(path, 'unreachable', new Error('another file has taken its place'));
      }
      return tables.transact(() => {
        if (isNewer(tables)) throw failure(path, 'newer_schema');
        return work(tables, clockMs ?? tables.clockMs());
      });
    });
  }
}

/** Without the device, whose number need not be the same for all processes. */
function inodeOf(identity: string): string {
  return identity.slice(identity.indexOf(':') + 1);
}
