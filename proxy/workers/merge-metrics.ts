// One text of metrics out of those of all workers: counters and histograms are added up, of gauges their definitions say what they mean together.
import { type MetricDefinition, rateLimitMetrics } from '../../schemas/metrics/limit-metrics.ts';
import { proxyMetrics } from '../../schemas/metrics/proxy-metrics.ts';
import type { Slices } from '../pacing/slices.ts';
import { numberText } from '../tallies/exposition.ts';

export type Together = NonNullable<MetricDefinition['acrossWorkers']>;

/** The text of one worker. */
export interface MetricsPart {
  readonly text: string;
  /** Of a worker that is gone or does not answer, what it has counted stays; what it measured does not. */
  readonly isPresent: boolean;
}

interface Family {
  /** The lines above its samples. */
  readonly head: string[];
  together: Together;
  isCounted: boolean;
  isPresent: boolean;
  /** By name and labels. */
  readonly samples: Map<string, number>;
}

/** Lines between two pauses: about a millisecond of work. */
const linesInARow = 1_000;

/** Of gauges that prom-client adds; all others of it are amounts. */
const ofProcess: Readonly<Record<string, Together>> = {
  process_start_time_seconds: 'min',
  process_max_fds: 'min',
  nodejs_version_info: 'max',
};

const gauges = new Map<string, Together>([
  ...Object.entries(ofProcess),
  ...[...Object.values<MetricDefinition>(proxyMetrics), ...Object.values<MetricDefinition>(rateLimitMetrics)].flatMap(
    ({ name, acrossWorkers }) => (acrossWorkers === undefined ? [] : [[name, acrossWorkers] as const]),
  ),
]);

function togetherOf(name: string): Together {
  return gauges.get(name) ?? (name.startsWith('nodejs_eventloop_lag') ? 'max' : 'sum');
}

const combine: Readonly<Record<Together, (one: number, other: number) => number>> = {
  sum: (one, other) => one + other,
  max: Math.max,
  min: Math.min,
};

/** The text of all, in the order of the first. Parts must be texts that this gateway wrote. */
export function* mergeMetrics(parts: readonly MetricsPart[]): Slices<string> {
  const families = new Map<string, Family>();
  let lines = 0;
  for (const { text, isPresent } of parts) {
    let family: Family | undefined;
    for (let start = 0; start < text.length; ) {
      const feed = text.indexOf('\n', start);
      const end = feed === -1 ? text.length : feed;
      const line = text.slice(start, end);
      start = end + 1;
      if (line.startsWith('#')) family = familyOf(families, line, isPresent);
      else if (line !== '' && family !== undefined && (isPresent || family.isCounted)) add(family, line);
      lines += 1;
      if (lines % linesInARow === 0) yield;
    }
  }
  let merged = '';
  for (const { head, samples, isPresent } of families.values()) {
    if (!isPresent && samples.size === 0) continue;
    merged += `${head.join('\n')}\n`;
    for (const [key, value] of samples) {
      merged += `${key} ${numberText(value)}\n`;
      lines += 1;
      if (lines % linesInARow === 0) yield;
    }
  }
  return merged;
}

/** `line`: `# HELP <name> …` or `# TYPE <name> <type>`. */
function familyOf(families: Map<string, Family>, line: string, isPresent: boolean): Family {
  const [, kind = '', name = '', rest = ''] = /^# (\w+) (\S+) ?(.*)$/.exec(line) ?? [];
  const family = families.get(name) ?? {
    head: [],
    together: togetherOf(name),
    isCounted: false,
    isPresent: false,
    samples: new Map<string, number>(),
  };
  families.set(name, family);
  if (family.head.length < 2 && !family.head.includes(line)) family.head.push(line);
  if (kind === 'TYPE' && rest !== 'gauge') {
    family.isCounted = true;
    family.together = 'sum';
  }
  family.isPresent ||= isPresent;
  return family;
}

function add({ samples, together }: Family, line: string): void {
  const space = line.lastIndexOf(' ');
  const key = line.slice(0, space);
  const value = numberOf(line.slice(space + 1));
  const before = samples.get(key);
  samples.set(key, before === undefined ? value : combine[together](before, value));
}

function numberOf(text: string): number {
  if (text === '+Inf') return Number.POSITIVE_INFINITY;
  return text === '-Inf' ? Number.NEGATIVE_INFINITY : Number(text);
}
