// A plan for a terminal.
import type { ImpactReport, PlanReport, Row } from './report.ts';
import { count, dollars, moment, number, overrideLines, percent, sayCost, sayMove, sayRefusals, where } from './say.ts';

export function planText({ against, changes, overrides, impact, not_known: notKnown, failed }: PlanReport): string {
  return [
    changes.length === 0 ? `compared with ${against}: nothing changed` : `compared with ${against}:`,
    ...changes.map(({ words }) => `  ${words}`),
    ...overrideLines(overrides),
    ...(impact === undefined ? [] : impactLines(impact)),
    ...(notKnown.length === 0 ? [] : ['not known:', ...notKnown.map((sentence) => `  ${sentence}`)]),
    ...failed,
  ].join('\n');
}

function impactLines(impact: ImpactReport): string[] {
  const { traffic, refusals, moved, cost, uncached } = impact;
  return [
    `${count(traffic.requests, 'request')} from ${moment(traffic.from)} to ${moment(traffic.to)} (${traffic.source}${traffic.share === 1 ? '' : `, a sample of ${percent(traffic.share)}`}); ${agreed(traffic.agreement)}`,
    sayRefusals(impact),
    ...refusals.added.map((cause) => `  +${number(cause.requests)} by ${cause.by}, ${details(cause)}`),
    ...refusals.removed.map((cause) => `  -${number(cause.requests)} by ${cause.by}, ${details(cause)}`),
    ...moved.map((move) => `${sayMove(move)}, ${details(move)}`),
    ...(uncached === 0 ? [] : [`${count(uncached, 'answer')} of the cache would be asked of a provider`]),
    sayCost(impact),
    ...cost.user_paths.map(({ user_path: path, before, after }) => `  ${path}: ${dollars(before)} → ${dollars(after)}`),
    ...(cost.unpriced === 0 ? [] : [`  ${count(cost.unpriced, 'request')} without a known price`]),
  ];
}

function agreed(agreement: number): string {
  return `the configuration before decides ${percent(agreement)} of them as recorded`;
}

function details(row: Row): string {
  return `${where(row)}, first at ${moment(row.first_at)}, such as ${row.samples.join(', ')}`;
}
