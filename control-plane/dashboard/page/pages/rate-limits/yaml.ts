// The YAML that declares a rule, to be put into git. Pure.
import type { Scope } from './rule.ts';

/** What a rule says. */
export interface Declared {
  readonly scope: Scope;
  readonly subject: string;
  readonly perChild: boolean;
  /** 0: requests in flight. */
  readonly periodSeconds: number;
  readonly maxRequests: number | undefined;
  readonly maxTokens: number | undefined;
  readonly mode: 'enforce' | 'shadow';
  readonly name?: string | undefined;
}

const lists: Readonly<Record<Scope, readonly [list: string, key: string]>> = {
  user_path: ['user_paths', 'path'],
  provider: ['providers', 'name'],
  model: ['models', 'model'],
};
const periods: Readonly<Record<number, string>> = { 0: 'concurrent', 60: 'minute', 3600: 'hour', 86400: 'day' };

export function yamlOf(rule: Declared): string {
  const { scope, subject, perChild, periodSeconds, maxRequests, maxTokens, mode, name } = rule;
  const [list, key] = lists[scope];
  const named = periods[periodSeconds];
  const lines = [
    'rate_limits:',
    `  ${list}:`,
    `    - ${key}: ${textOf(subject)}`,
    ...(perChild ? ['      per_child: true'] : []),
    '      limits:',
    named === undefined ? `        - period_seconds: ${periodSeconds}` : `        - period: ${named}`,
    ...(maxRequests === undefined ? [] : [`          max_requests: ${maxRequests}`]),
    ...(maxTokens === undefined ? [] : [`          max_tokens: ${maxTokens}`]),
    ...(mode === 'shadow' ? ['          mode: shadow'] : []),
    ...(name === undefined || name === '' ? [] : [`          name: ${textOf(name)}`]),
  ];
  return `${lines.join('\n')}\n`;
}

/** Plain where it cannot mean anything else; what JSON writes is YAML, too. */
function textOf(text: string): string {
  return /^\/?[a-z][a-z0-9/._-]*$/i.test(text) && !/^(true|false|yes|no|on|off|null|y|n)$/i.test(text)
    ? text
    : JSON.stringify(text);
}
