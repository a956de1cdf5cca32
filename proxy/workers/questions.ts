// Takes a question of one worker to the others, and their answers back; also the parent asks so. A worker that does not answer in time is left out.
import { patienceMs, type Question, type Reply } from './messages.ts';

/** Questions on their way at a time; beyond, a question has no answers. */
const mostOpen = 4_096;

export interface AskedWorker {
  readonly number: number;
  send(asked: { readonly kind: 'asked'; readonly id: number; readonly question: Question }): void;
}

interface Open {
  readonly waiting: Set<number>;
  readonly replies: Map<number, string>;
  readonly end: () => void;
}

export class Questions {
  readonly #open = new Map<number, Open>();
  #next = 0;

  /** The answers by worker, without those that have nothing to say: when all have answered, or the time of the question is over. */
  ask(question: Question, workers: readonly AskedWorker[]): Promise<ReadonlyMap<number, string>> {
    const replies = new Map<number, string>();
    if (workers.length === 0 || this.#open.size >= mostOpen) return Promise.resolve(replies);
    this.#next += 1;
    const id = this.#next;
    return new Promise((resolve) => {
      const timer = setTimeout(() => end(), patienceMs[question.about]);
      const end = (): void => {
        clearTimeout(timer);
        this.#open.delete(id);
        resolve(replies);
      };
      this.#open.set(id, { waiting: new Set(workers.map(({ number }) => number)), replies, end });
      for (const worker of workers) worker.send({ kind: 'asked', id, question });
    });
  }

  /** A worker answers. What is not waited for is forgotten. */
  take(worker: number, id: number, reply: Reply): void {
    const open = this.#open.get(id);
    if (open?.waiting.delete(worker) !== true) return;
    if (reply !== null) open.replies.set(worker, reply);
    if (open.waiting.size === 0) open.end();
  }

  /** A worker has ended: nobody waits for it. */
  gone(worker: number): void {
    for (const [id] of this.#open) this.take(worker, id, null);
  }
}
