// Streams that the provider never ends: opened by the load client, counted while they are watched, ended by the client.
import type { Connection, Owner } from './connection.ts';
import type { HeldStreams } from './slice.ts';
import { Target } from './target.ts';

const OPENED_AT_ONCE = 100;
const FIRST_EVENT_DEADLINE_MS = 30_000;

/** The open streams to one target. */
export class HeldSet implements Owner {
  readonly #target: Target;
  readonly #request: Buffer;
  readonly #streams = new Set<Connection>();
  readonly #awaited = new Map<Connection, (problem?: string) => void>();
  #problem: string | undefined;

  constructor(url: string, token: string) {
    this.#target = new Target(url, token);
    this.#request = this.#target.request('held');
  }

  /** Opens so many streams more, and waits for the first event of each. */
  async open(count: number): Promise<HeldStreams> {
    let left = count;
    while (left > 0 && this.#problem === undefined) {
      await Promise.all(Array.from({ length: Math.min(left, OPENED_AT_ONCE) }, () => this.#openOne()));
      left -= OPENED_AT_ONCE;
    }
    return this.#report(0);
  }

  /** Counts the events of all streams for a while. */
  async watch(seconds: number): Promise<HeldStreams> {
    const before = this.#events();
    await new Promise((resolve) => setTimeout(resolve, seconds * 1000));
    return this.#report(this.#events() - before);
  }

  close(): void {
    this.#target.close();
  }

  began(connection: Connection): void {
    this.#settle(connection);
  }

  completed(connection: Connection): void {
    this.lost(connection);
  }

  lost(connection: Connection): void {
    this.#streams.delete(connection);
    const { status } = connection.answer;
    this.#problem ??= status > 299 ? `a stream was answered ${status}` : 'a stream ended';
    this.#settle(connection);
  }

  async #openOne(): Promise<void> {
    try {
      const connection = await this.#target.add();
      this.#streams.add(connection);
      await new Promise<void>((resolve) => {
        const deadline = setTimeout(() => connection.close(), FIRST_EVENT_DEADLINE_MS);
        this.#awaited.set(connection, () => {
          clearTimeout(deadline);
          resolve();
        });
        connection.send(this.#request, this, performance.now());
      });
    } catch (error) {
      this.#problem ??= error instanceof Error ? error.message : String(error);
    }
  }

  #settle(connection: Connection): void {
    this.#awaited.get(connection)?.();
    this.#awaited.delete(connection);
  }

  #events(): number {
    let events = 0;
    for (const { answer } of this.#streams) events += answer.events;
    return events;
  }

  #report(events: number): HeldStreams {
    const problem = this.#problem;
    return { open: this.#streams.size, events, ...(problem === undefined ? {} : { problem }) };
  }
}
