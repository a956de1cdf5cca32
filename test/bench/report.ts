// Turns samples into the table a person reads, the verdict against the targets, and the reasons to trust or distrust it.
import { median } from './statistics.ts';
import { renderTable } from './table.ts';
import { INSTANT_EVENTS, PACED_EVENTS, type Workload } from './workload.ts';

/** Who answers: the provider itself, the bare pass-through, the gateway with its limits switched off, the gateway. */
export const VARIANTS = ['direct', 'bare', 'unlimited', 'gateway'] as const;
/** One of `VARIANTS`. */
export type Variant = (typeof VARIANTS)[number];

/** One round of one variant. Times in milliseconds, CPU in microseconds, rates per second. */
export interface Sample {
  workload: Workload;
  connections: number;
  variant: Variant;
  round: number;
  requests: number;
  requestsPerSecond: number;
  p50Ms: number;
  p99Ms: number;
  failures: number;
  /** CPU of the process under test per completed request. */
  cpuUs: number;
  generatorCores: number;
  upstreamCores: number;
  foreignCores: number;
}

/** Memory of a process in MiB: before the load, the most after a round, the most ever; and its CPU share while idle. */
export interface Footprint {
  idleMiB: number;
  loadedMiB: number;
  peakMiB: number;
  idleCores: number;
}

/** All that a run found. */
export interface Findings {
  samples: Sample[];
  footprints: Partial<Record<Variant, Footprint>>;
  /** Milliseconds from spawn to the first proxied 200, per start. */
  startsMs: Partial<Record<Variant, number[]>>;
}

/** What the gateway is to stay within. */
export const TARGETS = { jsonCpuRatio: 1.45, eventCpuRatio: 1.4, loadedMiB: 150, startMs: 450, limitedShare: 0.9 };

const FOREIGN_LIMIT = 0.15;
const TOOLS_LIMIT = 0.95;
const TITLES: Partial<Record<Workload, string>> = {
  json: 'JSON chat completion (112 B up, 439 B down)',
  sse: `SSE, ${INSTANT_EVENTS} events at once, the provider writes each event by itself`,
  burst: `SSE, ${INSTANT_EVENTS} events at once in one write of the provider`,
  paced: `SSE, ${PACED_EVENTS} events, one every 5 ms (latency: to the first event)`,
};
const EVENTS: Partial<Record<Workload, number>> = {
  json: 1,
  sse: INSTANT_EVENTS,
  burst: INSTANT_EVENTS,
  paced: PACED_EVENTS,
};

interface Row {
  workload: Workload;
  connections: number;
  variant: Variant;
  requestsPerSecond: number;
  p50Ms: number;
  p99Ms: number;
  cpuMinUs: number;
  cpuMedianUs: number;
  toolCores: number;
  foreignCores: number;
}

/** The whole report as text, ready to be printed. */
export function renderReport(findings: Findings): string {
  const rows = aggregate(findings.samples);
  const parts = [...new Set(rows.map((row) => row.workload))].map((workload) => renderWorkload(workload, rows));
  parts.push(renderFootprints(findings));
  parts.push(renderTrust(findings.samples, rows));
  parts.push(renderVerdict(findings, rows));
  return parts.filter((part) => part !== '').join('\n\n');
}

/** Ratio of the gateway's CPU to the bare pass-through's: by the least of the rounds, and by their median. */
export function cpuRatios(
  samples: Sample[],
): { workload: Workload; connections: number; least: number; median: number }[] {
  const rows = aggregate(samples);
  return rows.flatMap((row) => {
    const bare = find(rows, row, 'bare');
    if (row.variant !== 'gateway' || bare === undefined) return [];
    const { workload, connections } = row;
    const least = row.cpuMinUs / bare.cpuMinUs;
    return [{ workload, connections, least, median: row.cpuMedianUs / bare.cpuMedianUs }];
  });
}

/** What limits leave of the gateway's speed: CPU per JSON request without them, relative to with them, by the least of the rounds. */
export function limitedShares(samples: Sample[]): { connections: number; share: number }[] {
  const rows = aggregate(samples);
  return rows.flatMap((row) => {
    const unlimited = find(rows, row, 'unlimited');
    if (row.variant !== 'gateway' || row.workload !== 'json' || unlimited === undefined) return [];
    return { connections: row.connections, share: unlimited.cpuMinUs / row.cpuMinUs };
  });
}

function aggregate(samples: Sample[]): Row[] {
  const groups = Map.groupBy(samples, (sample) => `${sample.workload} ${sample.connections} ${sample.variant}`);
  return [...groups.values()].flatMap((group) => {
    const [first] = group;
    if (first === undefined) return [];
    const { workload, connections, variant } = first;
    const middle = (read: (sample: Sample) => number): number => median(group.map(read));
    return {
      workload,
      connections,
      variant,
      requestsPerSecond: middle((sample) => sample.requestsPerSecond),
      p50Ms: middle((sample) => sample.p50Ms),
      p99Ms: middle((sample) => sample.p99Ms),
      cpuMinUs: Math.min(...group.map((sample) => sample.cpuUs)),
      cpuMedianUs: middle((sample) => sample.cpuUs),
      toolCores: Math.max(...group.map((sample) => sample.generatorCores + sample.upstreamCores)),
      foreignCores: Math.max(...group.map((sample) => sample.foreignCores)),
    };
  });
}

function renderWorkload(workload: Workload, all: Row[]): string {
  const rows = all.filter((row) => row.workload === workload);
  const perEvent = workload !== 'json';
  const header = ['conns', 'variant', 'req/s', 'p50 ms', 'p99 ms', '+p50', '+p99', 'CPU µs/req', '(median)'];
  if (perEvent) header.push('µs/event');
  header.push('× bare', '(median)', 'tools', 'foreign');
  const body = rows.map((row) => {
    const direct = row.variant === 'direct' ? undefined : find(rows, row, 'direct');
    const bare = row.variant === 'gateway' ? find(rows, row, 'bare') : undefined;
    const under = row.variant !== 'direct';
    const cells = [
      String(row.connections),
      row.variant,
      row.requestsPerSecond.toFixed(0),
      row.p50Ms.toFixed(2),
      row.p99Ms.toFixed(2),
      direct === undefined ? '' : (row.p50Ms - direct.p50Ms).toFixed(2),
      direct === undefined ? '' : (row.p99Ms - direct.p99Ms).toFixed(2),
      under ? row.cpuMinUs.toFixed(1) : '',
      under ? `(${row.cpuMedianUs.toFixed(1)})` : '',
    ];
    if (perEvent) cells.push(under ? (row.cpuMinUs / (EVENTS[workload] ?? 1)).toFixed(2) : '');
    cells.push(bare === undefined ? '' : (row.cpuMinUs / bare.cpuMinUs).toFixed(2));
    cells.push(bare === undefined ? '' : `(${(row.cpuMedianUs / bare.cpuMedianUs).toFixed(2)})`);
    cells.push(row.toolCores.toFixed(2), row.foreignCores.toFixed(2) + (row.foreignCores > FOREIGN_LIMIT ? '!' : ' '));
    return cells;
  });
  return `${TITLES[workload]}\n${renderTable([header, ...body])}`;
}

function renderFootprints(findings: Findings): string {
  const header = ['process', '', 'idle MiB', 'loaded MiB', 'peak MiB', 'idle CPU %', 'first 200 after ms (all starts)'];
  const body = (['bare', 'gateway'] as const).flatMap((variant) => {
    const memory = findings.footprints[variant];
    const starts = findings.startsMs[variant];
    if (memory === undefined && starts === undefined) return [];
    const mib = memory === undefined ? ['', '', '', ''] : [memory.idleMiB, memory.loadedMiB, memory.peakMiB].map(whole);
    if (memory !== undefined) mib.push((memory.idleCores * 100).toFixed(1));
    const first = starts === undefined ? '' : `${whole(median(starts))} (${starts.map(whole).join(' ')})`;
    return [[variant, '', ...mib, first]];
  });
  return body.length === 0 ? '' : `Memory and start\n${renderTable([header, ...body])}`;
}

function renderTrust(samples: Sample[], rows: Row[]): string {
  if (samples.length === 0) return '';
  const lines = ['Can the figures be trusted?'];
  lines.push(
    '  tools = cores used by load generator and provider together; they share one core, so 1.00 is their limit.',
  );
  for (const row of rows.filter((candidate) => candidate.variant === 'gateway' && candidate.workload !== 'paced')) {
    const direct = find(rows, row, 'direct');
    if (direct === undefined) continue;
    const reserve = direct.requestsPerSecond / row.requestsPerSecond;
    const limited = row.toolCores > TOOLS_LIMIT || reserve < 1.5;
    const verdict = limited
      ? 'the tools are the limit: req/s and latency are theirs, CPU per request holds'
      : reserve < 3
        ? 'tools not saturated, reserve below 3'
        : 'tools are not the limit';
    const figures = `direct does ${reserve.toFixed(1)} × the gateway's req/s, tools at ${row.toolCores.toFixed(2)} of 1.00`;
    lines.push(`  ${row.workload} c=${row.connections}: ${figures}: ${verdict}`);
  }
  const noisy = samples.filter((sample) => sample.foreignCores > FOREIGN_LIMIT).length;
  lines.push(
    noisy === 0
      ? `  foreign CPU stayed below ${FOREIGN_LIMIT} cores in every round.`
      : `  WARNING: ${noisy} of ${samples.length} rounds had more than ${FOREIGN_LIMIT} cores of foreign CPU (marked !): look at × bare, not at req/s.`,
  );
  const failed = samples.filter((sample) => sample.failures > 0);
  if (failed.length === 0) lines.push('  no request failed.');
  for (const { workload, connections, variant, round, failures } of failed) {
    lines.push(`  WARNING: ${failures} requests failed: ${workload} c=${connections} ${variant}, round ${round + 1}.`);
  }
  return lines.join('\n');
}

function renderVerdict(findings: Findings, rows: Row[]): string {
  const lines: string[][] = [];
  const judge = (what: string, measured: number, target: number, { digits = 0, unit = '' }): void => {
    const verdict = measured <= target ? 'ok' : 'MISSED';
    lines.push([what, verdict, measured.toFixed(digits), `target ≤ ${target}${unit}`]);
  };
  for (const ratio of cpuRatios(findings.samples)) {
    if (ratio.workload === 'burst') {
      // The bare pass-through forwards 34 events as one piece; whoever counts usage must look at each: shown, not judged.
      lines.push(['CPU per SSE event (burst) × bare, c=50', 'info', ratio.least.toFixed(2), 'no target']);
      continue;
    }
    const json = ratio.workload === 'json';
    const what = `CPU per ${json ? 'JSON request' : `SSE event (${ratio.workload})`} × bare, c=${ratio.connections}`;
    judge(what, ratio.least, json ? TARGETS.jsonCpuRatio : TARGETS.eventCpuRatio, { digits: 2 });
  }
  for (const { connections, share } of limitedShares(findings.samples)) {
    const verdict = share >= TARGETS.limitedShare ? 'ok' : 'MISSED';
    const what = `speed with limits on / off, JSON, c=${connections}`;
    lines.push([what, verdict, share.toFixed(2), `target ≥ ${TARGETS.limitedShare}`]);
  }
  const memory = findings.footprints.gateway;
  if (memory !== undefined && rows.length > 0)
    judge('memory loaded', memory.loadedMiB, TARGETS.loadedMiB, { unit: ' MiB' });
  const starts = findings.startsMs.gateway;
  if (starts !== undefined) judge('start to first 200', median(starts), TARGETS.startMs, { unit: ' ms' });
  return lines.length === 0 ? '' : `Against the targets (gateway)\n${renderTable(lines)}`;
}

function find(rows: Row[], like: Row, variant: Variant): Row | undefined {
  return rows.find(
    (row) => row.workload === like.workload && row.connections === like.connections && row.variant === variant,
  );
}

function whole(value: number): string {
  return value.toFixed(0);
}
