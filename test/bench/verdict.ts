// The goal in figures, and whether a run reached it.
import {
  type Cell,
  cellsOf,
  type Findings,
  nameOf,
  ratioBetween,
  rowsOf,
  type Sample,
  type Variant,
} from './findings.ts';
import { median, type Ratio } from './statistics.ts';
import { renderTable } from './table.ts';
import { isJson, type Workload } from './workload.ts';

/** What the gateway is to stay within. Ratios are to the bare pass-through, or to the gateway without what is judged. */
const TARGETS = {
  jsonCpuRatio: 1.35,
  instantCpuRatio: 1.4,
  pacedCpuRatio: 1.15,
  limitsCpuRatio: 1.05,
  usageCpuRatio: 1.05,
  accessLogCpuRatio: 1.03,
  p99Ratio: { c10: 3, c50: 2 },
  /** Of a longer prompt, × that of 1 KiB and what the bare pass-through pays for the rest. */
  sizeRatio: { 'json-8k': 1.15, 'json-64k': 1.6 },
  loadedMiB: 150,
  kibPerStream: 25,
  startMs: 400,
  listeningMs: 250,
};

/** One line of the verdict. `info` has no bearing on the goal. */
export interface Judgement {
  readonly what: string;
  readonly word: 'ok' | 'ok?' | 'MISSED' | 'MISSED?' | 'info';
  readonly measured: string;
  readonly interval: string;
  readonly target: string;
}

/** The streams that are judged at this many open ones. */
const MANY_STREAMS = 5000;

/** Everything that can be judged by what was found. */
export function judge(findings: Findings): Judgement[] {
  return [
    ...judgeRatios(findings.samples),
    ...judgeSizes(findings.samples),
    ...judgeMemory(findings),
    ...judgeStarts(findings),
  ];
}

/** The table a person reads. */
export function renderVerdict(judgements: readonly Judgement[]): string {
  if (judgements.length === 0) return '';
  const rows = judgements.map(({ what, word, measured, interval, target }) => [what, word, measured, interval, target]);
  const doubt = judgements.some(({ word }) => word.endsWith('?'));
  const note = doubt ? '\n  ? = the target lies within the interval: more rounds (--rounds) would tell' : '';
  return `Against the targets (gateway)\n${renderTable(rows)}${note}`;
}

function judgeRatios(samples: readonly Sample[]): Judgement[] {
  return cellsOf(samples).flatMap((cell) => {
    const between = (before: Variant, read?: (sample: Sample) => number): Ratio | undefined =>
      ratioBetween(samples, cell, { before, after: 'gateway' }, read);
    const isSmall = cell.workload === 'json' && cell.rate === undefined;
    const found = [ratioLine(`CPU × bare, ${nameOf(cell)}`, between('bare'), cpuTarget(cell))];
    if (isSmall && cell.connections === 50) {
      found.push(ratioLine('CPU with limits × without, json c=50', between('unlimited'), TARGETS.limitsCpuRatio));
      found.push(ratioLine('CPU with usage × without, json c=50', between('unmetered'), TARGETS.usageCpuRatio));
      const logged = ratioBetween(samples, cell, { before: 'gateway', after: 'logged' });
      found.push(ratioLine('CPU with access log × without, json c=50', logged, TARGETS.accessLogCpuRatio));
    }
    const mostP99 = isSmall ? { 10: TARGETS.p99Ratio.c10, 50: TARGETS.p99Ratio.c50 }[cell.connections] : undefined;
    if (mostP99 !== undefined) {
      found.push(
        ratioLine(
          `p99 × bare, ${nameOf(cell)}`,
          between('bare', ({ p99Ms }) => p99Ms),
          mostP99,
        ),
      );
    }
    return found.flat();
  });
}

function judgeSizes(samples: readonly Sample[]): Judgement[] {
  const costOf = (workload: Workload, variant: Variant): number =>
    rowsOf(samples).find((row) => row.workload === workload && row.variant === variant)?.cpuUs ?? Number.NaN;
  const least = costOf('json-1k', 'gateway') - costOf('json-1k', 'bare');
  return Object.entries(TARGETS.sizeRatio).flatMap(([name, target]) => {
    const workload = name as keyof typeof TARGETS.sizeRatio;
    const ratio = costOf(workload, 'gateway') / (least + costOf(workload, 'bare'));
    return Number.isNaN(ratio) ? [] : valueLine(`CPU of ${workload} × json-1k and what bare pays more`, ratio, target);
  });
}

function cpuTarget({ workload, connections, rate }: Cell): number | undefined {
  if (isJson(workload)) {
    return workload === 'json' && rate === undefined && connections <= 50 ? TARGETS.jsonCpuRatio : undefined;
  }
  if (workload === 'quarters') return undefined;
  return workload === 'paced' ? TARGETS.pacedCpuRatio : TARGETS.instantCpuRatio;
}

function ratioLine(what: string, ratio: Ratio | undefined, target: number | undefined): Judgement[] {
  if (ratio === undefined) return [];
  const { low, high } = ratio;
  const isSure = target === undefined || high <= target || low > target;
  const word =
    target === undefined ? 'info' : (`${ratio.ratio <= target ? 'ok' : 'MISSED'}${isSure ? '' : '?'}` as const);
  const interval = `(${low.toFixed(2)} – ${high.toFixed(2)})`;
  const limit = target === undefined ? 'no target' : `target ≤ ${target}`;
  return [{ what, word, measured: ratio.ratio.toFixed(2), interval, target: limit }];
}

function judgeMemory({ footprints, streams, samples }: Findings): Judgement[] {
  const { gateway } = footprints;
  const loaded =
    gateway === undefined || samples.length === 0
      ? []
      : [valueLine('memory loaded', gateway.loadedMiB, TARGETS.loadedMiB, 'MiB')];
  const open = streams
    .filter(({ variant, kibPerStream }) => variant === 'gateway' && !Number.isNaN(kibPerStream))
    .map(({ wanted, kibPerStream }) => {
      const target = wanted === MANY_STREAMS ? TARGETS.kibPerStream : undefined;
      return valueLine(`memory per open stream, ${wanted} open`, kibPerStream, target, 'KiB');
    });
  return [...loaded, ...open];
}

function judgeStarts({ starts }: Findings): Judgement[] {
  return starts
    .filter(({ variant }) => variant === 'gateway')
    .flatMap(({ listeningMs, firstAnswerMs }) => {
      const listening = valueLine('start until it listens', median(listeningMs), TARGETS.listeningMs, 'ms');
      return [
        valueLine('start to first 200', median(firstAnswerMs), TARGETS.startMs, 'ms'),
        { ...listening, word: 'info' as const },
      ];
    });
}

/** `unit` absent: it is a ratio. */
function valueLine(what: string, value: number, target: number | undefined, unit?: string): Judgement {
  const word = target === undefined ? 'info' : value <= target ? 'ok' : 'MISSED';
  const limit = target === undefined ? 'no target' : `target ≤ ${target} ${unit ?? ''}`.trimEnd();
  return { what, word, measured: value.toFixed(unit === undefined ? 2 : 0), interval: '', target: limit };
}
