// A plan as a comment on a pull request.
import { safe, table } from '../../../gitops/gate/markdown.ts';
import type { Cause, ImpactReport, PlanReport } from './report.ts';
import { count, dollars, moment, number, overrideLines, percent, sayCost, sayMove, sayRefusals, where } from './say.ts';

export function planMarkdown({ against, changes, overrides, impact, not_known: notKnown, failed }: PlanReport): string {
  return [
    ...(failed.length === 0 ? [] : [...failed.map((sentence) => `> **${safe(sentence)}**`), '']),
    `### What this change does since \`${against.replaceAll('`', '')}\``,
    '',
    ...(changes.length === 0 ? ['Nothing changed.'] : changes.map(({ words }) => `- ${safe(words)}`)),
    ...overrideLines(overrides).map((sentence) => `- ${safe(sentence)}`),
    ...(impact === undefined ? [] : ['', ...impactLines(impact)]),
    ...(notKnown.length === 0
      ? []
      : [
          '',
          `<details><summary>What is not known</summary>`,
          '',
          ...notKnown.map((sentence) => `- ${safe(sentence)}`),
          '',
          '</details>',
        ]),
  ].join('\n');
}

function impactLines(impact: ImpactReport): string[] {
  const { traffic, refusals, moved, cost, uncached } = impact;
  const sample = traffic.share === 1 ? '' : `, a sample of ${percent(traffic.share)}`;
  return [
    `### What it would have done to ${count(traffic.requests, 'request')}`,
    '',
    `From ${moment(traffic.from)} to ${moment(traffic.to)}${sample}. The configuration before decides ${percent(traffic.agreement)} of them as recorded.`,
    '',
    `- **${safe(sayRefusals(impact))}**`,
    ...moved.map((move) => `- ${safe(sayMove(move))}, ${safe(where(move))}`),
    ...(uncached === 0 ? [] : [`- ${count(uncached, 'answer')} of the cache would be asked of a provider`]),
    `- **${safe(sayCost(impact))}**${cost.unpriced === 0 ? '' : `, ${count(cost.unpriced, 'request')} without a known price`}`,
    ...table(
      ['Refused by', 'Requests', 'Where', 'First', 'Such as'],
      [
        ...refusals.added.map((cause) => causeRow('+', cause)),
        ...refusals.removed.map((cause) => causeRow('-', cause)),
      ],
    ),
    ...table(
      ['User path', 'Cost before', 'Cost after'],
      cost.user_paths.map(({ user_path: path, before, after }) => [path, dollars(before), dollars(after)]),
    ),
  ];
}

function causeRow(sign: '+' | '-', cause: Cause): string[] {
  return [cause.by, `${sign}${number(cause.requests)}`, where(cause), moment(cause.first_at), cause.samples.join(' ')];
}
