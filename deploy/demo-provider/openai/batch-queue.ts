// Works through batches, one after the other, each request at the pace of a token.
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { Refusal } from '../requests.ts';

/** The outcome of a request of a batch. `line` goes to its results. */
export type Result = { readonly isGood: boolean; readonly line: object };

export type Work = {
  /** It is its turn. Gives how many requests there are. */
  readonly begin: () => number;
  /** Makes a request; without room its answer would not be kept. */
  readonly answer: (index: number, hasRoom: boolean) => Result;
  /** Asked before each request. */
  readonly isWanted: () => boolean;
  /** Told after each request. */
  readonly progressed: (results: readonly Result[]) => void;
  readonly ended: (results: readonly Result[]) => void;
};

/** Requests of a batch. */
export const mostRequests = 1000;
/** Batches that are not done. */
const mostWaiting = 4;
/** Of the results of a batch. Bytes. */
const mostResultBytes = 4 * 1024 * 1024;

/** Gives how work is added; refuses (429) what would wait behind too much. */
export function openQueue(intervalMs: number): (work: Work) => void {
  let waiting = 0;
  let last = Promise.resolve();
  return (work) => {
    if (waiting >= mostWaiting) {
      throw new Refusal(
        429,
        `${waiting} batches are in progress; try again when one is done.`,
        null,
        'batch_limit_exceeded',
      );
    }
    waiting += 1;
    last = last
      .then(() => run(work, intervalMs))
      .finally(() => {
        waiting -= 1;
      });
  };
}

/** Results as JSON lines. */
export function linesOf(results: readonly Result[]): Buffer {
  return Buffer.from(results.map(({ line }) => `${JSON.stringify(line)}\n`).join(''));
}

async function run(work: Work, intervalMs: number): Promise<void> {
  // The client that made the batch first sees it as it was made.
  await nextTurn();
  const count = work.begin();
  const results: Result[] = [];
  let bytes = 0;
  for (let index = 0; index < count; index += 1) {
    await (intervalMs > 0 ? sleep(intervalMs) : nextTurn());
    if (!work.isWanted()) break;
    const result = work.answer(index, bytes < mostResultBytes);
    results.push(result);
    bytes += JSON.stringify(result.line).length;
    work.progressed(results);
  }
  work.ended(results);
}
