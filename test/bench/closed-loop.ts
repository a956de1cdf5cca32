// Closed loop: each connection sends its next request when it has the answer to the one before.
import type { Connection, Owner } from './connection.ts';
import type { LoadResult, Slice } from './slice.ts';
import { Tally } from './tally.ts';
import type { Target } from './target.ts';
import { expectedEvents, isFresh, numbered } from './workload.ts';

/** How long requests under way may take after the end of a slice before they count as lost. Milliseconds. */
export const DRAIN_MS = 15_000;

/** Runs one slice. Resolves when every request that was sent is answered or lost. */
export async function runClosedLoop(target: Target, slice: Slice): Promise<LoadResult> {
  const connections = await target.take(slice.connections);
  return await new Promise((resolve) => {
    new ClosedLoop(target, slice, resolve).start(connections);
  });
}

class ClosedLoop implements Owner {
  readonly #target: Target;
  readonly #requests: readonly Buffer[];
  readonly #isFresh: boolean;
  readonly #tally: Tally;
  readonly #endMs: number;
  readonly #done: (result: LoadResult) => void;
  readonly #watchdog: NodeJS.Timeout;
  #unsent: number;
  #busy = new Set<Connection>();
  /** Connections that are opened in place of lost ones. */
  #opening = 0;

  constructor(target: Target, slice: Slice, done: (result: LoadResult) => void) {
    const nowMs = performance.now();
    this.#target = target;
    this.#requests = target.requests(slice.workload, slice.keys);
    this.#isFresh = isFresh(slice.workload);
    this.#tally = new Tally(expectedEvents(slice.workload), nowMs);
    this.#endMs = nowMs + slice.seconds * 1000;
    this.#unsent = slice.requests ?? Number.POSITIVE_INFINITY;
    this.#done = done;
    this.#watchdog = setTimeout(() => this.#giveUp(), slice.seconds * 1000 + DRAIN_MS);
  }

  start(connections: readonly Connection[]): void {
    for (const connection of connections) this.#next(connection, performance.now());
  }

  began(connection: Connection): void {
    this.#tally.first(performance.now() - connection.dueMs);
  }

  completed(connection: Connection): void {
    const nowMs = performance.now();
    this.#tally.answer(connection.answer, nowMs - connection.dueMs);
    this.#next(connection, nowMs);
  }

  lost(connection: Connection): void {
    this.#tally.failures += 1;
    this.#busy.delete(connection);
    if (this.#isOver(performance.now())) this.#endWhenIdle();
    else void this.#replace();
  }

  #next(connection: Connection, nowMs: number): void {
    if (this.#isOver(nowMs)) {
      this.#busy.delete(connection);
      this.#endWhenIdle();
      return;
    }
    this.#unsent -= 1;
    this.#busy.add(connection);
    const request = this.#target.inTurn(this.#requests);
    connection.send(this.#isFresh ? numbered(request) : request, this, nowMs);
  }

  #isOver(nowMs: number): boolean {
    return nowMs >= this.#endMs || this.#unsent <= 0;
  }

  async #replace(): Promise<void> {
    this.#opening += 1;
    const connection = await this.#target.add().catch(() => undefined);
    this.#opening -= 1;
    if (connection === undefined) this.#endWhenIdle();
    else this.#next(connection, performance.now());
  }

  #giveUp(): void {
    for (const connection of this.#busy) connection.close();
  }

  #endWhenIdle(): void {
    if (this.#busy.size > 0 || this.#opening > 0) return;
    clearTimeout(this.#watchdog);
    this.#target.touch();
    this.#done(this.#tally.result(performance.now()));
  }
}
