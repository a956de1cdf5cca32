// The metrics of the whole proxy, the same at each of its doors: the parent asks all workers, and knows what those have counted that are gone.
import { workerMetrics } from '../../schemas/metrics/worker-metrics.ts';
import { singleFlight } from '../../store/single-flight.ts';
import { inSlices } from '../pacing/slices.ts';
import { Exposition } from '../tallies/exposition.ts';
import { type MetricsPart, mergeMetrics } from './merge-metrics.ts';

/** Counts of workers that are gone, in characters; beyond, they begin anew, which Prometheus takes for a restart. */
const mostOfGone = 8 * 1024 * 1024;

/** The present state of the workers. */
export interface WorkerCounts {
  readonly configured: number;
  readonly serving: number;
  readonly restarts: number;
}

export interface WholeMetricsParts {
  /** The texts of those that answer in time, by worker. */
  readonly ask: () => Promise<ReadonlyMap<number, string>>;
  /** The workers that should answer. */
  readonly asked: () => readonly number[];
  readonly counts: () => WorkerCounts;
}

export class WholeMetrics {
  readonly #parts: WholeMetricsParts;
  /** As they were last, by worker. */
  readonly #last = new Map<number, string>();
  /** What workers have counted that have ended since. */
  #gone: MetricsPart = { text: '', isPresent: false };
  #changing: Promise<void> = Promise.resolve();
  /** Calls at the same time share a text. */
  readonly text = singleFlight(() => this.#text()).next;

  constructor(parts: WholeMetricsParts) {
    this.#parts = parts;
  }

  /** A worker has ended: its counts stay. */
  ended(worker: number): void {
    const text = this.#last.get(worker);
    this.#last.delete(worker);
    if (text === undefined) return;
    this.#changing = this.#changing.then(async () => {
      const merged = await inSlices(mergeMetrics([this.#gone, { text, isPresent: false }]));
      this.#gone = { text: merged.length > mostOfGone ? '' : merged, isPresent: false };
    });
  }

  async #text(): Promise<string> {
    const asked = this.#parts.asked();
    const answers = await this.#parts.ask();
    await this.#changing;
    for (const [worker, text] of answers) if (asked.includes(worker)) this.#last.set(worker, text);
    const texts = [...answers].map(([, text]) => ({ text, isPresent: true }));
    const missing = asked.filter((worker) => !answers.has(worker));
    const former = missing.map((worker) => ({ text: this.#last.get(worker) ?? '', isPresent: false }));
    const own = { text: ownText(this.#parts.counts(), missing.length), isPresent: true };
    return inSlices(mergeMetrics([...texts, ...former, this.#gone, own]));
  }
}

function ownText({ configured, serving, restarts }: WorkerCounts, missing: number): string {
  const exposition = new Exposition();
  const { workers, workersLeftOut, workerRestarts } = workerMetrics;
  exposition.metric(workers);
  exposition.sample(workers.name, { state: 'serving' }, serving);
  exposition.sample(workers.name, { state: 'missing' }, configured - serving);
  exposition.metric(workersLeftOut);
  exposition.sample(workersLeftOut.name, {}, missing);
  exposition.metric(workerRestarts);
  exposition.sample(workerRestarts.name, {}, restarts);
  return exposition.text();
}
