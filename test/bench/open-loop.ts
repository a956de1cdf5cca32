// Open loop: requests are due at a fixed rate, whether or not earlier ones are answered; what waits counts as waiting.
import { DRAIN_MS } from './closed-loop.ts';
import type { Connection, Owner } from './connection.ts';
import type { LoadResult, Slice } from './slice.ts';
import { Tally } from './tally.ts';
import type { Target } from './target.ts';
import { expectedEvents } from './workload.ts';

const MOST_CONNECTIONS = 1000;
// Requests become due in steps of the timer, which knows whole milliseconds; the step is part of no latency.
const STEP_MS = 1;

/** Runs one slice at `slice.rate`. Resolves when every request that was due is answered or lost. */
export async function runOpenLoop(target: Target, slice: Slice & { rate: number }): Promise<LoadResult> {
  const connections = await target.take(slice.connections);
  return await new Promise((resolve) => {
    new OpenLoop(target, slice, resolve).start(connections);
  });
}

class OpenLoop implements Owner {
  readonly #target: Target;
  readonly #request: Buffer;
  readonly #tally: Tally;
  readonly #startMs: number;
  readonly #perMs: number;
  /** How many requests the slice has in all. */
  readonly #total: number;
  readonly #most: number;
  readonly #done: (result: LoadResult) => void;
  readonly #idle: Connection[] = [];
  readonly #busy = new Set<Connection>();
  /** When the requests that wait for a connection were due, the oldest first, from `#firstWaiting` on. */
  readonly #waiting: number[] = [];
  #firstWaiting = 0;
  #due = 0;
  #connections = 0;
  #opening = 0;
  #ticker: NodeJS.Timeout | undefined;
  #watchdog: NodeJS.Timeout | undefined;

  constructor(target: Target, slice: Slice & { rate: number }, done: (result: LoadResult) => void) {
    this.#target = target;
    this.#request = target.request(slice.workload);
    this.#startMs = performance.now();
    this.#tally = new Tally(expectedEvents(slice.workload), this.#startMs);
    this.#perMs = slice.rate / 1000;
    const total = Math.max(1, Math.round(slice.rate * slice.seconds));
    this.#total = Math.min(total, slice.requests ?? total);
    this.#most = Math.max(slice.connections, slice.mostConnections ?? MOST_CONNECTIONS);
    this.#done = done;
  }

  start(connections: readonly Connection[]): void {
    this.#idle.push(...connections);
    this.#connections = connections.length;
    this.#watchdog = setTimeout(() => this.#giveUp(), this.#total / this.#perMs + DRAIN_MS);
    this.#ticker = setInterval(() => this.#tick(), STEP_MS);
  }

  began(connection: Connection): void {
    this.#tally.first(performance.now() - connection.dueMs);
  }

  completed(connection: Connection): void {
    this.#tally.answer(connection.answer, performance.now() - connection.dueMs);
    this.#free(connection);
  }

  lost(connection: Connection): void {
    this.#tally.failures += 1;
    this.#busy.delete(connection);
    this.#connections -= 1;
    this.#serve();
  }

  // What is due in the step that just ended is due at its end: a request is never sent before its moment.
  #tick(): void {
    const stepMs = Math.floor((performance.now() - this.#startMs) / STEP_MS) * STEP_MS;
    const due = Math.min(this.#total, Math.floor(stepMs * this.#perMs));
    for (; this.#due < due; this.#due += 1) {
      this.#waiting.push(this.#startMs + Math.ceil((this.#due + 1) / this.#perMs / STEP_MS) * STEP_MS);
    }
    if (this.#due === this.#total) clearInterval(this.#ticker);
    this.#serve();
  }

  #serve(): void {
    while (this.#firstWaiting < this.#waiting.length) {
      const connection = this.#idle.pop();
      if (connection === undefined) break;
      if (connection.isOpen) {
        this.#busy.add(connection);
        connection.send(this.#request, this, this.#waiting[this.#firstWaiting] ?? 0);
        this.#firstWaiting += 1;
      } else this.#connections -= 1;
    }
    const uncovered = this.#waiting.length - this.#firstWaiting - this.#opening;
    let missing = Math.min(uncovered, this.#most - this.#connections);
    for (; missing > 0; missing -= 1) void this.#open();
    if (this.#due === this.#total && this.#busy.size === 0) this.#endWhenServed();
  }

  async #open(): Promise<void> {
    this.#opening += 1;
    this.#connections += 1;
    const connection = await this.#target.add().catch(() => undefined);
    this.#opening -= 1;
    if (connection !== undefined) {
      this.#free(connection);
      return;
    }
    // No process answers there: the request that wanted the connection is lost.
    this.#connections -= 1;
    this.#tally.failures += 1;
    this.#firstWaiting += 1;
    this.#serve();
  }

  #free(connection: Connection): void {
    this.#busy.delete(connection);
    this.#idle.push(connection);
    this.#serve();
  }

  #giveUp(): void {
    this.#tally.failures += this.#waiting.length - this.#firstWaiting;
    this.#firstWaiting = this.#waiting.length;
    for (const connection of this.#busy) connection.close();
  }

  #endWhenServed(): void {
    if (this.#firstWaiting < this.#waiting.length || this.#opening > 0) return;
    clearTimeout(this.#watchdog);
    this.#target.touch();
    this.#done(this.#tally.result(performance.now()));
  }
}
