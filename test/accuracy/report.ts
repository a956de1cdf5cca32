// Prints what a measurement of caps has found: tables in Markdown, and one line that says whether a cap was exceeded.
import type { Answer, Verdict } from './oracle.ts';
import type { LoadPlan } from './scenarios.ts';
import type { Costs } from './shared-fleet.ts';

/** One load in one phase. */
export interface Row {
  /** How many gateways shared the cap. */
  readonly gateways: number;
  readonly phase: string;
  readonly plan: LoadPlan;
  /** What a period may hold, as promised: the cap, but less than twice of it with `share`, where a proxy decided without the store. */
  readonly promised: number;
  readonly verdict: Verdict;
}

/** What sharing cost a fleet in one phase. */
export interface CostRow {
  readonly gateways: number;
  readonly phase: string;
  /** Answers of all loads, without refused connections. */
  readonly requests: number;
  readonly costs: Costs;
  /** How much longer a process took because others had the processor; 1: it never waited. */
  readonly slowdown: number;
  /** Of the admitted requests of the load below its cap: milliseconds to the head of the answer, with shared caps and without. */
  readonly shared: readonly number[];
  readonly alone: readonly number[];
}

/** From being sent to being answered. Milliseconds, of the admitted ones, in order. */
export function latencies(answers: readonly Answer[]): readonly number[] {
  return answers
    .filter(({ outcome }) => outcome === 'admitted')
    .map(({ sentMs, answeredMs }) => answeredMs - sentMs)
    .toSorted((one, other) => one - other);
}

/** Whether a period surely held more than was promised. */
export function isBroken({ verdict, promised }: Row): boolean {
  return verdict.surely > promised;
}

function isOver({ verdict, plan }: Row): boolean {
  return verdict.surely > plan.cap;
}

export function accuracyTable(rows: readonly Row[]): string {
  const head = ['gateways', 'phase', 'load', 'cap', 'demand', 'requests', 'admitted', 'refused', '503', 'unclear'];
  const figures = ['worst period', 'over the cap', 'refused with room', 'most room'];
  const cells = rows.map((row) => {
    const { gateways, phase, plan, verdict } = row;
    const { admitted, refused, unavailable, unclear, surely, possibly, wronglyRefused, mostRoom } = verdict;
    return [
      gateways,
      phase,
      plan.name,
      `${plan.cap} / ${plan.periodSeconds} s`,
      `${plan.demand} ×`,
      admitted + refused + unavailable + unclear,
      admitted,
      refused,
      unavailable,
      unclear,
      `${surely} to ${possibly}`,
      isOver(row) ? `**${percent(surely / plan.cap - 1)}**` : '0',
      wronglyRefused,
      percent(mostRoom / plan.cap),
    ];
  });
  return table([...head, ...figures], cells, 3);
}

export function costTable(rows: readonly CostRow[]): string {
  const head = ['gateways', 'phase', 'requests', 'round trips per request', 'with beats', 'waited', 'mean wait'];
  const cells = rows.map(({ gateways, phase, requests, costs, slowdown, shared, alone }) => [
    gateways,
    phase,
    requests,
    ((costs.exchanges - costs.beats) / requests).toFixed(3),
    (costs.exchanges / requests).toFixed(3),
    percent(costs.waits / requests),
    costs.waits === 0 ? '' : ms((costs.waited / costs.waits) * 1_000),
    costs.withoutStore,
    `${ms(quantile(shared, 0.5))} / ${ms(quantile(alone, 0.5))}`,
    `${ms(quantile(shared, 0.99))} / ${ms(quantile(alone, 0.99))}`,
    slowdown.toFixed(1),
  ]);
  const more = ['decided without the store', 'p50, shared / alone', 'p99, shared / alone', 'slowdown'];
  return table([...head, ...more], cells, 2);
}

/** The last line. */
export function conclusion(rows: readonly Row[]): string {
  const over = rows.filter(isOver);
  if (over.length === 0) return `No period held more than its cap, in any of ${rows.length} loads.`;
  const names = over.map((row) => {
    const { gateways, phase, plan, verdict } = row;
    const kept = isBroken(row) ? '' : ', as on_store_loss: share allows';
    return `${gateways} × ${phase}, ${plan.name}: by ${percent(verdict.surely / plan.cap - 1)}${kept}`;
  });
  const word = over.some(isBroken) ? 'OVER THE CAP' : 'Over the cap, as promised,';
  return `${word} in ${over.length} of ${rows.length} loads: ${names.join('; ')}.`;
}

function quantile(sorted: readonly number[], part: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? Number.NaN;
}

function percent(part: number): string {
  return `${(100 * part).toFixed(1)} %`;
}

function ms(value: number): string {
  return `${value.toFixed(1)} ms`;
}

/** The first columns are words, the others numbers. */
function table(head: readonly string[], rows: readonly (readonly (string | number)[])[], words: number): string {
  const line = (cells: readonly (string | number)[]): string => `| ${cells.join(' | ')} |`;
  return [line(head), line(head.map((_, column) => (column < words ? '---' : '--:'))), ...rows.map(line)].join('\n');
}
