// The other workers of this proxy, as one worker reaches them: through its parent. A proxy without workers is alone, and all of this costs it nothing.
import { EventEmitter } from 'node:events';
import type { SignalSource } from '../../plane/signals.ts';
import type { Readiness } from '../readiness.ts';
import {
  beatMs,
  type FailedLogin,
  type FromParent,
  type FromWorker,
  patienceMs,
  type Question,
  type Reply,
  type WorkerStatus,
  type WorkerView,
} from './messages.ts';
import { readinessOfAll } from './readiness-of-all.ts';

/** What a worker does for the others. */
export interface SiblingWork {
  /** How it is; asked twice a second. */
  status(): WorkerStatus;
  answer(question: Question): Promise<Reply> | Reply;
  /** Another worker has seen it. */
  failedLogin(failed: FailedLogin): void;
}

export interface Siblings {
  readonly isAlone: boolean;
  /** From the process itself, or from the parent, which passes its own on. */
  readonly signals: SignalSource;
  /** From now on the others are answered, and told how this worker is. */
  work(work: SiblingWork): void;
  /** The readiness of all, with the present one of this worker. */
  readinessOf(own: Readiness): Readiness;
  /** The answers of the others, as many as come in time. Never rejects. */
  ask(question: Question): Promise<readonly string[]>;
  /** Tells the others. */
  tell(failed: FailedLogin): void;
}

/** Of a proxy without workers. */
export const alone: Siblings = {
  isAlone: true,
  signals: process,
  work: () => undefined,
  readinessOf: (own) => own,
  ask: async () => [],
  tell: () => undefined,
};

/** Its side of the channel; `process` has all of it. */
export interface Channel {
  on(event: 'message', listener: (message: FromParent) => void): unknown;
  once(event: 'disconnect', listener: () => void): unknown;
  send(message: FromWorker): void;
}

/** Questions on their way at a time; beyond, a question has no answers. */
const mostOpen = 1_024;
/** The parent needs a moment, too. Milliseconds. */
const graceMs = 100;

export interface Ends {
  /** The parent is gone. `end` does what two signals of it would do: what is open is cut, and what was counted is written. */
  readonly lost: (end: () => void) => void;
  /** Ends the process at a signal that nothing handles yet. */
  readonly leave: () => void;
}

export function joinSiblings(channel: Channel, { lost, leave }: Ends): Siblings {
  const signals = new EventEmitter();
  const open = new Map<number, (replies: readonly string[]) => void>();
  let others: readonly WorkerView[] = [];
  let work: SiblingWork | undefined;
  let next = 0;
  const answer = async (id: number, question: Question): Promise<void> => {
    const reply = await Promise.resolve(work?.answer(question) ?? null).catch(() => null);
    channel.send({ kind: 'reply', id, reply });
  };
  const say = (): void => {
    if (work !== undefined) channel.send({ kind: 'status', status: work.status() });
  };
  const signal = (name: NodeJS.Signals): void => {
    if (!signals.emit(name, name)) leave();
  };
  channel.once('disconnect', () =>
    lost(() => {
      signal('SIGTERM');
      signal('SIGTERM');
    }),
  );
  channel.on('message', (message) => {
    if (message.kind === 'others') ({ others } = message);
    else if (message.kind === 'asked') void answer(message.id, message.question);
    else if (message.kind === 'replies') open.get(message.id)?.(message.replies);
    else if (message.kind === 'failed_login') work?.failedLogin(message.failed);
    else signal(message.name);
  });
  return {
    isAlone: false,
    signals: { on: (name, listener) => signals.on(name, listener) },
    work(given) {
      work = given;
      say();
      setInterval(say, beatMs).unref();
    },
    readinessOf: (own) => readinessOfAll(own, others),
    ask(question) {
      if (open.size >= mostOpen) return Promise.resolve([]);
      next += 1;
      const id = next;
      return new Promise((resolve) => {
        const end = (replies: readonly string[]): void => {
          clearTimeout(timer);
          open.delete(id);
          resolve(replies);
        };
        const timer = setTimeout(() => end([]), patienceMs[question.about] + graceMs);
        open.set(id, end);
        channel.send({ kind: 'ask', id, question });
      });
    },
    tell: (failed) => channel.send({ kind: 'failed_login', failed }),
  };
}
