// Turns findings into the tables a person reads, and the reasons to trust or distrust them.
import {
  cellsOf,
  type Findings,
  nameOf,
  type Row,
  ratioBetween,
  rowsOf,
  type Sample,
  type Variant,
} from './findings.ts';
import { median } from './statistics.ts';
import { renderTable } from './table.ts';
import { judge, renderVerdict } from './verdict.ts';
import { expectedEvents, INSTANT_EVENTS, PACED_EVENTS, QUARTERS_EVENTS, type Workload } from './workload.ts';

const FOREIGN_LIMIT = 0.15;
const TOOLS_LIMIT = 0.95;
const TITLES: Record<Workload, string> = {
  json: 'JSON chat completion (112 B up, 439 B down)',
  'json-1k': 'JSON chat completion (1 KiB up, 439 B down)',
  'json-8k': 'JSON chat completion (8 KiB up, 439 B down)',
  'json-64k': 'JSON chat completion (64 KiB up, 439 B down)',
  sse: `SSE, ${INSTANT_EVENTS} events at once, the provider writes each event by itself`,
  burst: `SSE, ${INSTANT_EVENTS} events at once in one write of the provider`,
  quarters: `SSE, ${QUARTERS_EVENTS} events at once in four writes of the provider`,
  paced: `SSE, ${PACED_EVENTS} events, one every 5 ms (latency: to the first event)`,
  held: 'SSE, one event per second without an end',
  translated: 'JSON for a client of Anthropic, translated',
  'translated-sse': `SSE for a client of Anthropic, translated from ${INSTANT_EVENTS} events`,
  fresh: 'JSON chat completion that nobody has asked for before',
  'fresh-sse': `SSE that nobody has asked for before, ${INSTANT_EVENTS} events at once`,
  'fresh-paced': `SSE that nobody has asked for before, ${PACED_EVENTS} events, one every 5 ms`,
  'kept-sse': 'SSE from the cache',
  'kept-paced': 'SSE from the cache that came one event every 5 ms',
};

/** The whole report as text, ready to be printed. */
export function renderReport(findings: Findings): string {
  const { samples } = findings;
  const rows = rowsOf(samples);
  const workloads = [...new Set(samples.map(({ workload }) => workload))];
  const parts = workloads.map((workload) => renderWorkload(workload, rows, samples));
  parts.push(renderFootprints(findings), renderStreams(findings), renderStarts(findings));
  parts.push(renderTrust(findings, rows), renderVerdict(judge(findings)));
  return parts.filter((part) => part !== '').join('\n\n');
}

function renderWorkload(workload: Workload, all: readonly Row[], samples: readonly Sample[]): string {
  const rows = all.filter((row) => row.workload === workload);
  const events = expectedEvents(workload);
  const counted = rows.some(({ instructions }) => instructions !== undefined);
  const header = ['conns', 'variant', 'req/s', 'p50 ms', 'p99 ms', 'p99.9 ms', 'CPU µs/req', '(least)'];
  if (events > 0) header.push('µs/event');
  if (counted) header.push('instr/req');
  header.push('× bare', '95 % interval', 'tools', 'foreign');
  const body = rows.map((row) => {
    const isUnder = row.variant !== 'direct';
    const ratio = ['direct', 'bare'].includes(row.variant)
      ? undefined
      : ratioBetween(samples, row, { before: 'bare', after: row.variant });
    const cells = [
      row.rate === undefined ? String(row.connections) : `${row.rate}/s`,
      row.variant,
      row.requestsPerSecond.toFixed(0),
      ...[row.p50Ms, row.p99Ms, row.p999Ms].map((ms) => (Number.isNaN(ms) ? '' : ms.toFixed(2))),
      isUnder ? row.cpuUs.toFixed(1) : '',
      isUnder ? `(${row.cpuLeastUs.toFixed(1)})` : '',
    ];
    if (events > 0) cells.push(isUnder ? (row.cpuUs / events).toFixed(2) : '');
    if (counted) cells.push(row.instructions?.toFixed(0) ?? '');
    cells.push(ratio?.ratio.toFixed(2) ?? '');
    cells.push(ratio === undefined ? '' : `${ratio.low.toFixed(2)} – ${ratio.high.toFixed(2)}`);
    cells.push(row.toolCores.toFixed(2), row.foreignCores.toFixed(2) + (row.foreignCores > FOREIGN_LIMIT ? '!' : ' '));
    return cells;
  });
  return `${TITLES[workload]}\n${renderTable([header, ...body])}`;
}

function renderFootprints({ footprints }: Findings): string {
  const variants: readonly Variant[] = ['bare', 'bare-default', 'peer', 'gateway', 'gateway-default'];
  const body = variants.flatMap((variant) => {
    const memory = footprints[variant];
    if (memory === undefined) return [];
    const mib = [memory.idleMiB, memory.jsonMiB, memory.loadedMiB, memory.peakMiB].map(whole);
    return [[variant, '', ...mib, (memory.idleCores * 100).toFixed(1)]];
  });
  const header = ['process', '', 'idle MiB', 'json c=50', 'loaded', 'peak', 'idle CPU %'];
  const note = '  -default: with the flags of Node, and under json c=50 alone';
  return body.length === 0 ? '' : `Memory\n${renderTable([header, ...body])}\n${note}`;
}

function renderStreams({ streams }: Findings): string {
  if (streams.length === 0) return '';
  const number = (value: number, digits: number): string => (Number.isNaN(value) ? '-' : value.toFixed(digits));
  const body = streams.map(({ variant, wanted, beforeMiB, openMiB, kibPerStream, cpuUsPerEvent }) => {
    const cells = [number(beforeMiB, 0), number(openMiB, 0), number(kibPerStream, 0), number(cpuUsPerEvent, 1)];
    return [variant, '', String(wanted), ...cells];
  });
  const header = ['process', '', 'open', 'MiB before', 'MiB then', 'KiB/stream', 'CPU µs/event'];
  const problems = streams.flatMap(({ variant, wanted, problem }) =>
    problem === undefined ? [] : [`  ${wanted} through ${variant}: ${problem}`],
  );
  return ['Open streams, one event per second each', renderTable([header, ...body]), ...problems].join('\n');
}

function renderStarts({ starts }: Findings): string {
  const body = starts.map(({ variant, listeningMs, firstAnswerMs }) => [
    variant,
    '',
    whole(median(listeningMs)),
    whole(median(firstAnswerMs)),
    firstAnswerMs.map(whole).join(' '),
  ]);
  const header = ['process', '', 'listens after ms', 'first 200 after ms', '(all starts)'];
  return body.length === 0 ? '' : `Start, with a warm compile cache\n${renderTable([header, ...body])}`;
}

function renderTrust({ samples, instructionsMissing }: Findings, rows: readonly Row[]): string {
  if (samples.length === 0) return '';
  const lines = ['Can the figures be trusted?'];
  lines.push('  tools = cores used by load client and provider together; they share one core, so 1.00 is their limit.');
  for (const cell of cellsOf(samples).filter(({ workload, rate }) => workload !== 'paced' && rate === undefined)) {
    const of = (variant: Variant): Row | undefined =>
      rows.find((row) => nameOf(row) === nameOf(cell) && row.variant === variant);
    const [direct, gateway] = [of('direct'), of('gateway')];
    if (direct === undefined || gateway === undefined) continue;
    const reserve = direct.requestsPerSecond / gateway.requestsPerSecond;
    const isLimited = gateway.toolCores > TOOLS_LIMIT || reserve < 1.5;
    const verdict = isLimited
      ? 'the tools are the limit: req/s and latency are theirs, CPU per request holds'
      : reserve < 3
        ? 'tools not saturated, reserve below 3'
        : 'tools are not the limit';
    const figures = `direct does ${reserve.toFixed(1)} × the gateway's req/s, tools at ${gateway.toolCores.toFixed(2)} of 1.00`;
    lines.push(`  ${nameOf(cell)}: ${figures}: ${verdict}`);
  }
  const noisy = samples.filter((sample) => sample.foreignCores > FOREIGN_LIMIT).length;
  lines.push(
    noisy === 0
      ? `  foreign CPU stayed below ${FOREIGN_LIMIT} cores in every slice.`
      : `  WARNING: ${noisy} of ${samples.length} slices had more than ${FOREIGN_LIMIT} cores of foreign CPU (marked !): look at × bare, not at req/s.`,
  );
  if (instructionsMissing !== undefined) lines.push(`  ${instructionsMissing}; CPU µs stand for them.`);
  lines.push(...failureLines(samples));
  return lines.join('\n');
}

function failureLines(samples: readonly Sample[]): string[] {
  const failed = Map.groupBy(
    samples.filter(({ failures }) => failures > 0),
    (sample) => `${nameOf(sample)} ${sample.variant}`,
  );
  if (failed.size === 0) return ['  no request failed.'];
  return [...failed].map(([where, some]) => {
    const failures = some.reduce((sum, sample) => sum + sample.failures, 0);
    return `  WARNING: ${failures} requests failed: ${where}, in ${some.length} slices.`;
  });
}

function whole(value: number): string {
  return value.toFixed(0);
}
