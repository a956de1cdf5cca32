// The parent of several workers: starts them, one more time when one ends by itself, passes on signals, lines and questions, and ends with them. No
// request and no answer passes it: it takes connections and hands them over, in turn, to workers that are not busy.
import cluster, { type Worker } from 'node:cluster';
import type { Readable } from 'node:stream';
import { getHeapStatistics } from 'node:v8';
import type { Logger } from 'pino';
import type { LineWriter } from '../../plane/line-writer.ts';
import { machineMemory } from '../http/overload.ts';
import { CrewMember, othersOf } from './crew.ts';
import { followHandOvers } from './hand-overs.ts';
import { beatMs, type FromParent, type FromWorker } from './messages.ts';
import { Questions } from './questions.ts';
import { passLinesOn } from './whole-lines.ts';
import { WholeMetrics } from './whole-metrics.ts';
import { heapFlags } from './worker-heap.ts';
import { workerArgument } from './worker-number.ts';

/** Beyond the grace of its requests, a worker may take so long to write what it has counted. Milliseconds. */
const closeMs = 10_000;
/** The grace of workers that have not said theirs. Milliseconds. */
const usualGraceMs = 30_000;

export interface ParentSettings {
  readonly workers: number;
  /** The file of this program. */
  readonly program: string;
  /** NODE_OPTIONS. */
  readonly nodeOptions: string;
}

/** A worker, and its process while there is one. */
interface Post {
  readonly member: CrewMember;
  worker: Worker | undefined;
  timer: NodeJS.Timeout | undefined;
}

/** A worker that serves. */
interface AskedPost {
  readonly number: number;
  readonly send: (message: FromParent) => void;
}

/** Runs until the workers have ended; then this process ends, with 0 when a signal ended it, else with the status of a worker that could not start. */
export class Parent {
  readonly #settings: ParentSettings;
  readonly #log: Pick<Logger, 'info' | 'error' | 'warn'>;
  readonly #output: LineWriter;
  readonly #posts: readonly Post[];
  readonly #questions = new Questions();
  readonly #metrics: WholeMetrics;
  readonly #lines = new Set<Promise<void>>();
  #restarts = 0;
  /** All have served: from now on one that ends starts again. */
  #isStarted = false;
  /** The status of this process once all workers have ended; undefined: it goes on. */
  #leaving: number | undefined;
  #told = '';

  constructor(settings: ParentSettings, log: Pick<Logger, 'info' | 'error' | 'warn'>, output: LineWriter) {
    this.#settings = settings;
    this.#log = log;
    this.#output = output;
    const numbers = Array.from({ length: settings.workers }, (_, index) => index + 1);
    this.#posts = numbers.map((number) => ({ member: new CrewMember(number), worker: undefined, timer: undefined }));
    this.#metrics = new WholeMetrics({
      ask: () => this.#questions.ask({ about: 'metrics' }, this.#awake()),
      asked: () => this.#serving().map(({ number }) => number),
      counts: () => ({
        configured: settings.workers,
        serving: this.#posts.filter(({ member }) => member.readiness !== undefined).length,
        restarts: this.#restarts,
      }),
    });
  }

  /** The first worker starts alone: when it cannot, there is one explanation, as without workers. */
  start(): void {
    cluster.schedulingPolicy = cluster.SCHED_RR;
    const [first] = this.#posts;
    if (first !== undefined) this.#fork(first);
    setInterval(() => this.#beat(), beatMs);
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => this.#stop(signal, 0));
    process.on('SIGHUP', () => this.#signal('SIGHUP'));
  }

  #fork(post: Post): void {
    const { program, workers, nodeOptions } = this.#settings;
    const { heap_size_limit: heapBytes } = getHeapStatistics();
    const flags = [...process.execArgv, ...nodeOptions.split(' ')];
    cluster.setupPrimary({
      exec: program,
      args: [workerArgument(post.member.number)],
      execArgv: [...process.execArgv, ...heapFlags({ workers, memoryBytes: machineMemory(), heapBytes, flags })],
      stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
    });
    const worker = cluster.fork();
    post.worker = worker;
    post.timer = undefined;
    followHandOvers(worker.process);
    if (worker.process.stdout !== null) this.#passOn(worker.process.stdout);
    worker.on('message', (message: FromWorker) => this.#take(post, message));
    worker.on('error', (error) =>
      this.#log.error({ err: error, worker: post.member.number }, 'a worker cannot be reached'),
    );
    worker.once('exit', (code, signal) => this.#ended(post, code, signal));
  }

  #passOn(stdout: Readable): void {
    const passed = passLinesOn(stdout, this.#output).then(() => void this.#lines.delete(passed));
    this.#lines.add(passed);
  }

  #take(post: Post, message: FromWorker): void {
    const { member } = post;
    if (message.kind === 'status') {
      const isFirst = !member.isServing;
      member.heard(message.status);
      if (isFirst) this.#begun();
      this.#tellOthers();
    } else if (message.kind === 'reply') this.#questions.take(member.number, message.id, message.reply);
    else if (message.kind === 'failed_login') {
      for (const other of this.#serving(member)) other.send(message);
    } else if (message.kind === 'ask') void this.#ask(post, message);
  }

  async #ask(post: Post, { id, question }: Extract<FromWorker, { kind: 'ask' }>): Promise<void> {
    const replies =
      question.about === 'metrics'
        ? [await this.#metrics.text()]
        : [...(await this.#questions.ask(question, this.#awake(post.member))).values()];
    this.#send(post, { kind: 'replies', id, replies });
  }

  /** A worker serves for the first time. */
  #begun(): void {
    if (this.#isStarted || this.#leaving !== undefined) return;
    for (const post of this.#posts) if (post.worker === undefined) this.#fork(post);
    this.#isStarted = this.#posts.every(({ member }) => member.isServing);
    if (this.#isStarted) this.#log.info({ workers: this.#posts.length }, 'all workers serve');
  }

  #ended(post: Post, code: number | null, signal: string | null): void {
    const { member } = post;
    const pauseMs = member.ended();
    post.worker = undefined;
    this.#questions.gone(member.number);
    this.#metrics.ended(member.number);
    if (this.#leaving !== undefined) {
      this.#leaving = Math.max(this.#leaving, code ?? 1);
      this.#leave();
      return;
    }
    const isRefused = code !== null || this.#serving().length === 0;
    if (!this.#isStarted && isRefused) {
      // It has said why.
      this.#stop('SIGTERM', code || 1);
      return;
    }
    const how = signal ?? `status ${code}`;
    this.#restarts += 1;
    this.#log.error(
      { worker: member.number, how, pause_ms: pauseMs },
      `worker ${member.number} has ended (${how}), it starts again`,
    );
    post.timer = setTimeout(() => this.#fork(post), pauseMs);
    this.#tellOthers();
  }

  #beat(): void {
    for (const { member, worker } of this.#posts) {
      if (!member.beat()) continue;
      this.#log.error(
        { worker: member.number },
        `worker ${member.number} has said nothing for half a minute, it is ended`,
      );
      worker?.process.kill('SIGKILL');
    }
    this.#tellOthers();
  }

  /** What has changed. */
  #tellOthers(): void {
    const crew = this.#posts.map(({ member }) => member);
    const text = JSON.stringify(othersOf(crew, 0));
    if (text === this.#told) return;
    this.#told = text;
    for (const post of this.#posts) this.#send(post, { kind: 'others', others: othersOf(crew, post.member.number) });
  }

  /** Those that say something, without the one that asks. */
  #awake(but?: CrewMember): readonly AskedPost[] {
    const silent = this.#posts
      .filter(({ member }) => member.readiness === undefined)
      .map(({ member }) => member.number);
    return this.#serving(but).filter(({ number }) => !silent.includes(number));
  }

  #serving(but?: CrewMember): readonly AskedPost[] {
    return this.#posts
      .filter(({ member }) => member !== but && member.isServing)
      .map((post) => ({ number: post.member.number, send: (message) => this.#send(post, message) }));
  }

  #send({ worker }: Post, message: FromParent): void {
    if (worker?.isConnected() !== true) return;
    // A worker that ends at this moment does not get it.
    worker.process.send(message, () => undefined);
  }

  #signal(name: NodeJS.Signals): void {
    for (const post of this.#posts) this.#send(post, { kind: 'signal', name });
  }

  /** The first call lets open requests finish, the second one cuts them. */
  #stop(name: NodeJS.Signals, status: number): void {
    const isFirst = this.#leaving === undefined;
    this.#leaving ??= status;
    this.#signal(name);
    for (const post of this.#posts) clearTimeout(post.timer);
    const graces = this.#posts.map(({ member }) => member.status?.graceMs ?? (member.isServing ? usualGraceMs : 0));
    // One that does not end by itself: its requests had their time.
    setTimeout(() => this.#kill(), (isFirst ? Math.max(...graces) : 0) + closeMs).unref();
    this.#leave();
  }

  #kill(): void {
    for (const { member, worker } of this.#posts) {
      if (worker === undefined) continue;
      this.#log.error({ worker: member.number }, `worker ${member.number} does not end, it is killed`);
      worker.process.kill('SIGKILL');
    }
  }

  /** Ends this process once all workers have ended, and their lines were passed on. */
  #leave(): void {
    if (this.#posts.some(({ worker }) => worker !== undefined)) return;
    const status = this.#leaving;
    void Promise.all(this.#lines).then(() => process.exit(status));
  }
}
