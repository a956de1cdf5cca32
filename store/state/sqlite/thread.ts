// The caller's end of a store's thread: sends one request at a time, or a few, keeps deadlines, restarts the thread when it ended.
import { Worker } from 'node:worker_threads';
import { type StoreFailure, StoreUnavailable } from '../store-unavailable.ts';
import type { Answer, OperationName, Request, ThreadSettings } from './messages.ts';

export interface ThreadOptions {
  /** Its name in messages; default: the state store. */
  readonly store?: string;
  readonly directory: string;
  readonly timeoutMs: number;
  readonly pollMs: number;
  /** The memory limit of the thread in MiB: a bound against a flood, not its usual size. Default 512. */
  readonly memoryMb?: number;
  /** Its young generation in MiB, which it keeps once it has taken it. Default 4. */
  readonly youngMb?: number;
  /** The program of the thread; default: that of the state. */
  readonly program?: URL;
  /** More operations than this waiting at once are refused; default 64: a plane has a handful. */
  readonly mostWaiting?: number;
  /** The number of operations at work at once; default 1. With more, the thread says of each answer whose it is. */
  readonly mostAtWork?: number;
  /** Where the store is, for messages; default: in its directory. */
  readonly place?: string;
  /** The database of a store that is on a server. */
  readonly databaseUrl?: string;
  /** Of a file of records: see `ThreadSettings`. */
  readonly cacheKiB?: number;
}

/** The result of an operation: text, and for some of them bytes. */
export interface Output {
  readonly output: string;
  readonly bytes?: Uint8Array;
}

interface Job extends Request<string> {
  readonly id: number;
  readonly resolve: (output: Output) => void;
  readonly reject: (error: Error) => void;
  timer?: NodeJS.Timeout;
}

const stateProgram = new URL('worker.ts', import.meta.url);
/** The additional time for starting a thread on a busy machine, in milliseconds. */
const startMs = 5_000;
/** A thread that died is missed by watchers for this long. */
const restartMs = 500;

/** The thread and what waits for it. Only operations at work can have an unknown outcome: the others have not been sent. */
export class SqliteThread<Name extends string = OperationName> {
  readonly #options: ThreadOptions;
  readonly #store: string;
  readonly #waiting: Job[] = [];
  /** By their numbers, in the order in which they were sent. */
  readonly #atWork = new Map<number, Job>();
  #asked = 0;
  #worker: Worker | undefined;
  #isOnline = false;
  #wasOpen = false;
  #isClosed = false;
  #onChange: (() => void) | undefined;

  constructor(options: ThreadOptions) {
    this.#options = options;
    this.#store = options.store ?? 'the state store';
    this.#start();
  }

  /** The output of the operation. Rejects with `StoreUnavailable`, at the latest at its deadline. */
  async ask(name: Name, input: unknown): Promise<string> {
    const { output } = await this.exchange(name, input);
    return output;
  }

  /** As `ask`, with bytes that go along, and those that come back. */
  exchange(name: Name, input: unknown, bytes?: Uint8Array): Promise<Output> {
    const { mostWaiting = 64 } = this.#options;
    if (this.#isClosed) return Promise.reject(new StoreUnavailable('unreachable', `${this.#store} is closed`));
    if (this.#waiting.length >= mostWaiting) return Promise.reject(this.#late('too many operations wait for it'));
    return this.#enqueue(name, input, bytes);
  }

  watch(onChange: () => void): void {
    this.#onChange = onChange;
    if (this.#isClosed) return;
    // A thread that dies before it has answered is told again when it starts anew.
    this.#enqueue('watch', null).catch(() => undefined);
  }

  /** Resolves when the thread is gone, whether it answers or not. */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    const last = this.#enqueue('close', null);
    this.#isClosed = true;
    await last.catch(() => undefined);
    await this.#worker?.terminate();
  }

  #enqueue(name: string, input: unknown, bytes?: Uint8Array): Promise<Output> {
    const text = JSON.stringify(input);
    return new Promise((resolve, reject) => {
      this.#asked += 1;
      const job: Job = {
        id: this.#asked,
        name,
        input: text,
        resolve,
        reject,
        ...(bytes === undefined ? {} : { bytes }),
      };
      const patienceMs = this.#options.timeoutMs + (this.#isOnline ? 0 : startMs);
      // An answer that arrived while this process was busy or stopped is read before it counts as missing.
      job.timer = setTimeout(() => setImmediate(() => this.#expire(job)), patienceMs);
      this.#waiting.push(job);
      this.#next();
    });
  }

  #next(): void {
    const { mostAtWork = 1 } = this.#options;
    while (this.#waiting.length > 0 && this.#atWork.size < mostAtWork) {
      if (this.#worker === undefined) this.#start();
      if (!this.#isOnline) return;
      const job = this.#waiting.shift() as Job;
      this.#atWork.set(job.id, job);
      const { id, name, input, bytes } = job;
      const request: Request<string> = bytes === undefined ? { id, name, input } : { id, name, input, bytes };
      this.#worker?.postMessage(request, []);
    }
  }

  #expire(job: Job): void {
    const place = this.#waiting.indexOf(job);
    if (place >= 0) this.#waiting.splice(place, 1);
    job.reject(this.#late('its disk or its thread is busy'));
  }

  #late(why: string): StoreUnavailable {
    const { directory, timeoutMs, place = `in ${directory}` } = this.#options;
    return new StoreUnavailable('timeout', `${this.#store} ${place} did not answer in ${timeoutMs} ms; ${why}`);
  }

  #start(): void {
    const {
      directory,
      timeoutMs,
      pollMs,
      memoryMb = 512,
      youngMb = 4,
      program = stateProgram,
      databaseUrl,
      cacheKiB,
    } = this.#options;
    const workerData: ThreadSettings = {
      directory,
      ...(databaseUrl === undefined ? {} : { databaseUrl }),
      ...(cacheKiB === undefined ? {} : { cacheKiB }),
      pollMs,
      busyMs: Math.ceil(timeoutMs * 0.8),
      wasOpen: this.#wasOpen,
      isWatching: this.#onChange !== undefined,
    };
    const resourceLimits = { maxYoungGenerationSizeMb: youngMb, maxOldGenerationSizeMb: memoryMb };
    const worker = new Worker(program, { workerData, resourceLimits });
    this.#worker = worker;
    let why = 'it ended';
    worker.on('message', (answer: Answer) => this.#take(answer));
    worker.on('error', (error: Error) => {
      why = error.message;
    });
    worker.once('exit', () => this.#gone(why));
  }

  #take(answer: Answer): void {
    if (answer.kind === 'changed') {
      this.#onChange?.();
      return;
    }
    if (answer.kind === 'online') this.#isOnline = true;
    else this.#finish(answer);
    this.#next();
  }

  #finish(answer: Exclude<Answer, { kind: 'changed' | 'online' }>): void {
    const [first] = this.#atWork.values();
    const job = answer.id === undefined ? first : this.#atWork.get(answer.id);
    if (job === undefined) return;
    this.#atWork.delete(job.id);
    clearTimeout(job.timer);
    if (answer.kind === 'output') {
      this.#wasOpen ||= job.name !== 'watch';
      job.resolve(answer);
    } else if (answer.kind === 'failure') {
      job.reject(new StoreUnavailable(answer.reason, answer.message, new Error(answer.cause)));
    } else {
      job.reject(new Error(`${this.#store} failed in ${job.name}: ${answer.message}`));
    }
  }

  /** Fails the operations at work; also the waiting ones when the thread did not even start. */
  #gone(why: string): void {
    const failed = this.#isOnline ? [] : this.#waiting.splice(0);
    failed.push(...this.#atWork.values());
    this.#atWork.clear();
    this.#worker = undefined;
    const wasClosing = this.#isClosed;
    this.#isOnline = false;
    for (const job of failed) this.#fail(job, 'unreachable', `the thread of ${this.#store} died: ${why}`);
    if (wasClosing) return;
    this.#next();
    if (this.#onChange !== undefined) setTimeout(() => this.#revive(), restartMs).unref();
  }

  #revive(): void {
    if (!this.#isClosed && this.#worker === undefined) this.#start();
  }

  #fail(job: Job, reason: StoreFailure, message: string): void {
    clearTimeout(job.timer);
    job.reject(new StoreUnavailable(reason, message));
  }
}
