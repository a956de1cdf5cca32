// The YAML that declares a rule, to be put into git. Pure.
import { yamlScalar } from '../../parts/yaml-text.ts';
import type { Scope } from './rule.ts';

/** The content of a rule. */
export interface Declared {
  readonly scope: Scope;
  readonly subject: string;
  readonly perChild: boolean;
  /** 0: requests in flight. */
  readonly periodSeconds: number;
  readonly maxRequests: number | undefined;
  readonly maxTokens: number | undefined;
  readonly mode: 'enforce' | 'shadow';
  readonly onStoreLoss?: 'share' | 'closed' | 'open' | undefined;
  readonly name?: string | undefined;
}

const lists: Readonly<Record<Scope, readonly [list: string, key: string]>> = {
  user_path: ['user_paths', 'path'],
  provider: ['providers', 'name'],
  model: ['models', 'model'],
};
const periods: Readonly<Record<number, string>> = { 0: 'concurrent', 60: 'minute', 3600: 'hour', 86400: 'day' };

export function yamlOf(rule: Declared): string {
  const { scope, subject, perChild, periodSeconds, maxRequests, maxTokens, mode, onStoreLoss, name } = rule;
  const [list, key] = lists[scope];
  const named = periods[periodSeconds];
  const lines = [
    'rate_limits:',
    `  ${list}:`,
    `    - ${key}: ${yamlScalar(subject)}`,
    ...(perChild ? ['      per_child: true'] : []),
    '      limits:',
    named === undefined ? `        - period_seconds: ${periodSeconds}` : `        - period: ${named}`,
    ...(maxRequests === undefined ? [] : [`          max_requests: ${maxRequests}`]),
    ...(maxTokens === undefined ? [] : [`          max_tokens: ${maxTokens}`]),
    ...(mode === 'shadow' ? ['          mode: shadow'] : []),
    ...(onStoreLoss === undefined ? [] : [`          on_store_loss: ${onStoreLoss}`]),
    ...(name === undefined || name === '' ? [] : [`          name: ${yamlScalar(name)}`]),
  ];
  return `${lines.join('\n')}\n`;
}
