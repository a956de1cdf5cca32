// Prints the rate-limit rules of a config as a table, because metrics name a rule by its id alone.
import { periodLabel } from '../schemas/rules/period.ts';
import { compileRules, type Rule } from '../schemas/rules/rule.ts';
import type { RateLimits } from '../schemas/types.ts';

/** One line per rule, in the order of the rules: id, scope, subject, caps. */
export function listRules(rateLimits: RateLimits): string[] {
  const rows = compileRules(rateLimits).map(({ id, name, scope, subject, perChild, mode, ...caps }) => [
    id,
    scope,
    subject,
    describeCaps(caps) +
      (perChild ? ', for each child' : '') +
      (mode === 'shadow' ? ', shadow' : '') +
      (name === undefined ? '' : `, named ${name}`),
  ]);
  const widths = [0, 1, 2].map((column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return rows.map((row) => row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  '));
}

function describeCaps({
  maxRequests,
  maxTokens,
  periodSeconds,
}: Pick<Rule, 'maxRequests' | 'maxTokens' | 'periodSeconds'>): string {
  if (periodSeconds === 0) return `${maxRequests} requests in flight`;
  const caps = [
    ...(maxRequests === undefined ? [] : [`${maxRequests} requests`]),
    ...(maxTokens === undefined ? [] : [`${maxTokens} tokens`]),
  ];
  return `${caps.join(', ')} per ${periodLabel(periodSeconds)}`;
}
