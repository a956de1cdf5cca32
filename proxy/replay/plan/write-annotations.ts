// A plan as annotations of a GitHub runner, which shows ten of a step: one for the change, one for refusals, one for the rest.
import { plainLine, titled } from '../../../gitops/cli/check-formats.ts';
import type { PlanReport } from './report.ts';
import { sayCost, sayMove, sayRefusals } from './say.ts';
import { planText } from './write-text.ts';

export function planAnnotations(report: PlanReport): string {
  const { impact, failed, against } = report;
  const notes =
    impact === undefined
      ? []
      : [
          titled(impact.refusals.added.length > 0 ? 'warning' : 'notice', 'Refusals', sayRefusals(impact)),
          titled('notice', 'Cost and targets', [sayCost(impact), ...impact.moved.map(sayMove)].join('\n')),
        ];
  return [
    ...failed.map((sentence) => titled('error', `Plan since ${against}`, sentence)),
    ...notes,
    ...planText(report).split('\n').map(plainLine),
  ].join('\n');
}
