// What a run of the bench finds, and what is taken from the slices of one cell together.
import type { Footprint, Streams } from './footprint.ts';
import type { Starts } from './starts.ts';
import { median, type Pair, type Ratio, ratioOf } from './statistics.ts';
import type { Workload } from './workload.ts';

/** Who answers: the provider itself; the bare pass-through and the gateway with the flags of production, and with those
 *  of Node (`-default`); the gateway without limits (`unlimited`) and without the reading of usage (`unmetered`), and with
 *  a line of the access log for each request (`logged`); the others write none for a request that succeeds; another gateway (`peer`). */
export const VARIANTS = [
  'direct',
  'bare',
  'bare-default',
  'unlimited',
  'unmetered',
  'logged',
  'gateway-default',
  'peer',
  'gateway',
] as const;
/** One of `VARIANTS`. */
export type Variant = (typeof VARIANTS)[number];

/** What was loaded: workload, connections, and with an open loop its requests per second. */
export interface Cell {
  readonly workload: Workload;
  readonly connections: number;
  readonly rate?: number;
}

/** One slice of one variant. Times in milliseconds, CPU in microseconds, rates per second. */
export interface Sample extends Cell {
  readonly variant: Variant;
  readonly round: number;
  readonly requests: number;
  readonly requestsPerSecond: number;
  /** To the last byte; of paced streams to the first event. */
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly p999Ms: number;
  readonly failures: number;
  /** CPU of the process under test per completed request. */
  readonly cpuUs: number;
  /** Instructions of the process under test per completed request, where perf counts them. */
  readonly instructions?: number;
  readonly clientCores: number;
  readonly upstreamCores: number;
  readonly foreignCores: number;
}

/** All that a run found. */
export interface Findings {
  readonly samples: Sample[];
  readonly footprints: Partial<Record<Variant, Footprint>>;
  readonly streams: Streams[];
  readonly starts: Starts[];
  /** Why instructions are not counted; undefined when they are. */
  instructionsMissing?: string;
}

/** The slices of one variant in one cell, in one line. */
export interface Row extends Cell {
  readonly variant: Variant;
  readonly requestsPerSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly p999Ms: number;
  /** Median and least of the slices. */
  readonly cpuUs: number;
  readonly cpuLeastUs: number;
  readonly instructions: number | undefined;
  readonly toolCores: number;
  readonly foreignCores: number;
}

/** One row per cell and variant, in the order they were measured. */
export function rowsOf(samples: readonly Sample[]): Row[] {
  const groups = Map.groupBy(samples, (sample) => `${nameOf(sample)} ${sample.variant}`);
  return [...groups.values()].flatMap((group) => {
    const [first] = group;
    if (first === undefined) return [];
    const middle = (read: (sample: Sample) => number): number => median(group.map(read));
    const instructions = first.instructions === undefined ? undefined : middle((one) => one.instructions ?? Number.NaN);
    return {
      ...cellOf(first),
      variant: first.variant,
      requestsPerSecond: middle((sample) => sample.requestsPerSecond),
      p50Ms: middle((sample) => sample.p50Ms),
      p99Ms: middle((sample) => sample.p99Ms),
      p999Ms: middle((sample) => sample.p999Ms),
      cpuUs: middle((sample) => sample.cpuUs),
      cpuLeastUs: Math.min(...group.map((sample) => sample.cpuUs)),
      instructions,
      toolCores: middle((sample) => sample.clientCores + sample.upstreamCores),
      foreignCores: middle((sample) => sample.foreignCores),
    };
  });
}

/** Ratio of two variants in a cell, over the rounds both took part in; undefined when one of them did not. */
export function ratioBetween(
  samples: readonly Sample[],
  cell: Cell,
  variants: { before: Variant; after: Variant },
  read: (sample: Sample) => number = ({ cpuUs }) => cpuUs,
): Ratio | undefined {
  const inCell = samples.filter((sample) => nameOf(sample) === nameOf(cell));
  const of = (variant: Variant): Map<number, number> =>
    new Map(inCell.filter((sample) => sample.variant === variant).map((sample) => [sample.round, read(sample)]));
  const before = of(variants.before);
  const pairs = [...of(variants.after)].flatMap(([round, after]): Pair[] => {
    const other = before.get(round);
    return other === undefined ? [] : [{ before: other, after }];
  });
  return pairs.length === 0 ? undefined : ratioOf(pairs);
}

/** `json c=50`, or `json c=50 at 2000/s`. */
export function nameOf({ workload, connections, rate }: Cell): string {
  return `${workload} c=${connections}${rate === undefined ? '' : ` at ${rate}/s`}`;
}

/** The cell alone, of something that lies in it. */
export function cellOf({ workload, connections, rate }: Cell): Cell {
  return { workload, connections, ...(rate === undefined ? {} : { rate }) };
}

/** The cells of some samples, each once. */
export function cellsOf(samples: readonly Sample[]): Cell[] {
  return [...new Map(samples.map((sample) => [nameOf(sample), cellOf(sample)])).values()];
}
